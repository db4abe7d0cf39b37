"""What models were asked and answered, into the log of the stream that asked."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.game.decider import Command
from playmolt_core.llm.attempts import recorded
from playmolt_core.llm.port import TURN_HEADER, Attempt

AsCommand = Callable[[str, str, dict[str, Any]], Command]
"""Makes the command that stores an attempt, of the turn's name, its kind (`ask`, `repair` …) and the attempt."""

KeepTexts = Callable[[str, Iterable[str]], Awaitable[object]]
"""Keeps texts of a stream that are too long for a record, each under its SHA-256."""


def recorder(leased: LeasedEffect, keep: KeepTexts, as_command: AsCommand) -> Callable[[Attempt], Awaitable[None]]:
    """What stores each attempt before the next request; the lease's number tells those of a lost worker apart."""
    count = 0

    async def record(attempt: Attempt) -> None:
        nonlocal count
        count += 1
        _, name, kind = attempt.headers[TURN_HEADER].split(" ")
        fields, kept_apart = recorded(attempt)
        if kept_apart is not None:
            await keep(leased.stream, [kept_apart])
        await leased.submit(as_command(name, kind, fields), f"attempt/{leased.attempt}/{count}")

    return record
