"""An effect in a worker's hands."""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from playmolt_schemas.codes import Code

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.game.decider import Accepted, Command, Effect, Refused
from playmolt_core.game.fold import Snapshot

Submit = Callable[[str, Command, str], Awaitable[Accepted | Refused]]
"""Commits a command of (stream, command, command id) and says what came of it. The same id commits once.

Refused with `Code.UNAVAILABLE` says that the engine is busy or its log is away: whether it was stored is unknown.
"""


class CommittedStreams(Protocol):
    def present(self, stream: str) -> Snapshot | None:
        """A stream as this engine last committed it, if it is in memory."""
        ...

    async def snapshot(self, stream: str) -> Snapshot | None:
        """A stream as committed now; None when it is unknown. Raises Archived and LogUnavailable."""
        ...


def effect_command_id(effect_id: str, step: str = "") -> str:
    """The command id in which an effect, or a step on the way to it, ends.

    It is the same on every replica, so that a second answer is a duplicate.
    """
    # "wish" is what effects were called when the first ids were stored.
    return hashlib.sha256(f"wish/{effect_id}{'/' if step else ''}{step}".encode()).hexdigest()[:32]


class CommandRefused(Exception):
    def __init__(self, refused: Refused) -> None:
        super().__init__(f"{refused.code.wire}: {refused.detail}")
        self.refused = refused


class LeasedEffect:
    """An effect that this worker alone carries out now. `attempt` is 1 plus the workers that were lost with it.

    `snapshot` is the stream as read under the lease.
    """

    def __init__(
        self,
        stream: str,
        effect: Effect,
        snapshot: Snapshot,
        attempt: int,
        submit: Submit,
        streams: CommittedStreams,
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
    def payload(self) -> Any:
        """What the worker needs, of the game's own type for this kind of effect."""
        return self.effect.payload

    @property
    def stopping(self) -> bool:
        """Whether this process ends: take up nothing more under this lease."""
        return self._stopping()

    async def present(self) -> Snapshot:
        """The stream as committed now. Raises LogUnavailable."""
        snapshot = self._streams.present(self.stream) or await self._streams.snapshot(self.stream)
        if snapshot is None:
            raise RuntimeError("a stream with an effect does not vanish")
        return snapshot

    async def submit(
        self, command: Command, step: str = "", *, effect: Effect | None = None, to: tuple[Submit, str] | None = None
    ) -> None:
        """Commit a command; without `step` it is the one that the effect ends in. The same step commits once.

        `effect` is one that follows under the same lease, `to` names another stream and how to submit to it. Raises
        CommandRefused when the rules refuse it, LogUnavailable when the log is away: whether it was stored is unknown.
        """
        submit, stream = to or (self._submit, self.stream)
        outcome = await submit(stream, command, effect_command_id((effect or self.effect).id, step))
        if not isinstance(outcome, Refused):
            return
        if outcome.code is Code.UNAVAILABLE:
            raise LogUnavailable(outcome.detail)
        raise CommandRefused(outcome)


Worker = Callable[[LeasedEffect], Awaitable[None]]
"""Carries out an effect and submits the command that it ends in. It bounds its own waits. What it raises is logged, and
the effect taken up again later."""
