"""An effect under a lease, as passed to its worker."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol

from playmolt_schemas.codes import Code
from typing_extensions import TypeVar

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.game.decider import Accepted, Command, Effect, Refused, S
from playmolt_core.game.fold import S_co, Snapshot

P = TypeVar("P", default=Any)
Submit = Callable[[str, Command, str], Awaitable[Accepted | Refused]]
"""Commits a command, given (stream, command, command id), and returns the result. The same id commits only once.

Refused with `Code.UNAVAILABLE`: the engine is busy or its log unavailable, and it is unknown whether it was stored.
"""


class CommittedStreams(Protocol[S_co]):
    def present(self, stream: str) -> Snapshot[S_co] | None:
        """A stream as last committed by this engine, if it is in memory."""
        ...

    async def snapshot(self, stream: str) -> Snapshot[S_co] | None:
        """A stream as committed now; None if it does not exist. Raises Archived and LogUnavailable."""
        ...


def effect_command_id(effect_id: str, step: str = "") -> str:
    """The id of the command that completes an effect, or one of its steps.

    It is the same on every replica, so that a second answer is a duplicate.
    """
    return hashlib.sha256(f"effect/{effect_id}{'/' if step else ''}{step}".encode()).hexdigest()[:32]


class CommandRefused(Exception):
    def __init__(self, refused: Refused) -> None:
        super().__init__(f"{refused.code.wire}: {refused.detail}")
        self.refused = refused


class LeasedEffect(Generic[P, S]):
    """An effect that only this worker carries out now. `attempt` is 1 plus the number of workers that were lost.

    `snapshot` is the stream as read under the lease.
    """

    def __init__(
        self,
        stream: str,
        effect: Effect[P],
        snapshot: Snapshot[S],
        attempt: int,
        submit: Submit,
        streams: CommittedStreams[S],
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.stream = stream
        self.effect = effect
        self.snapshot = snapshot
        self.attempt = attempt
        self._submit = submit
        self._streams = streams
        self._stopping = stopping

    @property
    def payload(self) -> P:
        """The input of the worker."""
        return self.effect.payload

    @property
    def stopping(self) -> bool:
        """Whether this process is stopping: start no further effect under this lease."""
        return self._stopping()

    async def present(self) -> Snapshot[S]:
        """The stream as committed now. Raises LogUnavailable."""
        snapshot = self._streams.present(self.stream) or await self._streams.snapshot(self.stream)
        if snapshot is None:
            raise RuntimeError("the stream of an effect is missing")
        return snapshot

    async def committed(self) -> Snapshot[S] | None:
        """The stream as any replica has committed it. Raises LogUnavailable."""
        return await self._streams.snapshot(self.stream)

    async def submit(
        self, command: Command, step: str = "", *, effect: Effect | None = None, to: tuple[Submit, str] | None = None
    ) -> None:
        """Commit a command; without `step`, the one that completes the effect. The same step commits only once.

        `effect` is a following effect under the same lease; `to` is another stream and how to submit to it. Raises
        CommandRefused if the rules refuse it, and LogUnavailable if it is unknown whether it was stored.
        """
        submit, stream = to or (self._submit, self.stream)
        outcome = await submit(stream, command, effect_command_id((effect or self.effect).id, step))
        if not isinstance(outcome, Refused):
            return
        if outcome.code is Code.UNAVAILABLE:
            raise LogUnavailable(outcome.detail)
        raise CommandRefused(outcome)


Worker = Callable[[LeasedEffect], Awaitable[None]]
"""Carries out an effect and submits the command that completes it, with its own timeouts. Exceptions are logged, and
the effect is retried later."""
