"""Records model calls in the log of the stream that made them."""

from collections.abc import Awaitable, Callable, Iterable

from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.game.decider import Command
from playmolt_core.llm.attempts import recorded
from playmolt_core.llm.port import TURN_HEADER, Attempt

AsCommand = Callable[[str, str, dict[str, object]], Command]
"""Creates the command that stores an attempt, given the turn's name, its kind (`ask`, `repair` …) and the attempt."""

KeepTexts = Callable[[str, Iterable[str]], Awaitable[object]]
"""Stores texts of a stream that are too long for a record, by SHA-256."""


def recorder(leased: LeasedEffect, keep: KeepTexts, as_command: AsCommand) -> Callable[[Attempt], Awaitable[None]]:
    """Returns a function that stores each attempt before the next request. Ids include the number of the lease attempt,
    which distinguishes them from those of a lost worker."""
    count = 0

    async def record(attempt: Attempt) -> None:
        nonlocal count
        count += 1
        _, name, kind = attempt.headers[TURN_HEADER].split(" ")
        fields, separate_text = recorded(attempt)
        if separate_text is not None:
            await keep(leased.stream, [separate_text])
        await leased.submit(as_command(name, kind, fields), f"attempt/{leased.attempt}/{count}")

    return record
