"""A call under way inside an engine."""

import asyncio
import time
from collections.abc import Callable
from math import inf
from typing import Any

import msgspec
from msgspec import UNSET
from playmolt_schemas import codes
from playmolt_schemas.codes import Code, problem_bytes
from playmolt_schemas.envelopes import Answer, Call
from playmolt_schemas.game_messages import Fault
from typing_extensions import override

from playmolt_core.game.decider import Accepted, Command, Refused
from playmolt_core.ops.json_values import parse_json

Respond = Callable[[Answer], None]

BUSY = Refused(
    Code.UNAVAILABLE,
    "The engine is busy or its database is away; nothing is lost. Repeat the request with the same Idempotency-Key.",
)
ARCHIVED_GAME = Refused(
    Code.NOT_FOUND, "This game is over and was archived: its states and events are no longer served here."
)
NO_GAME = Refused(Code.NOT_FOUND, codes.NO_GAME)


class BadBody(ValueError):
    """A call's body is not what its op carries. What a decoder says of it is for the log; `refused` is told."""

    refused = Refused(
        Code.INVALID_REQUEST, "The body has no form that this call takes; /openapi.json describes what it takes."
    )


class UnderWay(msgspec.Struct):
    """Counts calls that are taken and not answered yet."""

    count: int = 0


class PendingCall(msgspec.Struct, eq=False):
    """A call and the way to answer it, once: by `answer`, `refuse` or `refuse_busy`."""

    call: Call
    respond: Respond
    command: Command | None = None
    """What a worker of this process submits; then the call has no body."""
    tries: int = 0
    afresh: bool = False
    """Decide it again although its outcome is remembered: it came to nothing."""
    archived: frozenset[str] = frozenset()
    """Streams it asked for that are over and no longer in the log."""
    counted: UnderWay | None = None
    gathered: tuple[Fault, ...] = ()
    """What was counted in a game that this call closes, as told at the try `told_at`."""
    told_at: int = -1
    recalled: tuple[int, int] | None = None
    """The try, and the version that a lobby was read at, for which the log was asked for its outcome and knew none."""
    read: Any = UNSET
    """What its body carries, or why it carries nothing."""
    received_at: float = msgspec.field(default_factory=time.monotonic)

    def seconds_left(self, otherwise: float = inf) -> float:
        """How many seconds from now the caller still waits for the answer; `otherwise` if the call does not say.

        Measured from the arrival of the call on this process's own clock, because machines' clocks may differ.
        """
        patience_ms = self.call.patience_ms
        return self.received_at + patience_ms / 1000 - time.monotonic() if patience_ms else otherwise

    def carried(self) -> Any:
        """Its body as a JSON value, decoded once however often the call is decided. Raises BadBody."""
        if self.read is UNSET:
            try:
                self.read = parse_json(self.call.body)
            except ValueError as error:
                self.read = BadBody(str(error))
        if isinstance(self.read, BadBody):
            raise self.read
        return self.read

    def count(self, under_way: UnderWay) -> None:
        """Count this call until it is answered."""
        under_way.count += 1
        self.counted = under_way

    def answer(self, status: int, body: bytes, content_type: str = "", total: int = 0) -> None:
        self._leave()
        self.respond(Answer(self.call.id, status, body, content_type, total))

    def refuse(self, refused: Refused) -> None:
        self.answer(
            refused.code.status, problem_bytes(refused.code, refused.detail, refused.errors, game_id=refused.game_id)
        )

    def refuse_busy(self) -> None:
        """The call could not be finished now."""
        self.refuse(BUSY)

    def _leave(self) -> None:
        if self.counted is not None:
            self.counted.count -= 1
            self.counted = None


class Submission(PendingCall):
    """A worker's command on its way: its outcome is a value, `outcome`."""

    outcome: asyncio.Future[Accepted | Refused] | None = None

    @override
    def answer(self, status: int, body: bytes, content_type: str = "", total: int = 0) -> None:
        self._settle(Accepted())

    @override
    def refuse(self, refused: Refused) -> None:
        self._settle(refused)

    def _settle(self, outcome: Accepted | Refused) -> None:
        self._leave()
        if self.outcome is not None and not self.outcome.done():
            self.outcome.set_result(outcome)
