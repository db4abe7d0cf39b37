"""Records model calls in the log of the stream that made them, and finds there what was answered before a kill."""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping

import msgspec
from typing_extensions import override

from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.game.decider import Command
from playmolt_core.llm.attempts import recorded
from playmolt_core.llm.port import (
    TURN_HEADER,
    Attempt,
    AttemptOutcome,
    Failed,
    Listener,
    Model,
    ModelRequest,
    Record,
    Reply,
    Sending,
    ToolCall,
)

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


class _LoggedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    number: int
    outcome: AttemptOutcome
    reply: str
    tool_calls: tuple[ToolCall, ...]


def logged_replies(attempts: Iterable[Mapping[str, object]]) -> list[Reply]:
    """The replies to the first questions of a turn, from its attempts in order as stored.

    A question takes one request or several, of which the last counts. The first question without a reply, and all after
    it, are asked again.
    """
    questions: list[_LoggedAttempt] = []
    for attempt in (msgspec.convert(each, _LoggedAttempt) for each in attempts):
        if attempt.number == 1:
            questions.append(attempt)
        else:
            questions[-1:] = [attempt]
    replies = []
    for last in questions:
        if last.outcome != "ok":
            break
        replies.append(Reply(text=last.reply, tool_calls=last.tool_calls, attempts=last.number))
    return replies


class ReplyingModel(Model):
    """A model whose first questions have these replies; they are in the log and paid already."""

    def __init__(self, model: Model, replies: Iterable[Reply]) -> None:
        self._model = model
        self._replies = deque(replies)

    @override
    async def ask(
        self, request: ModelRequest, record: Record, sending: Sending | None = None, listener: Listener | None = None
    ) -> Reply | Failed:
        if self._replies:
            return self._replies.popleft()
        return await self._model.ask(request, record, sending, listener)
