"""A call in progress inside an engine."""

import asyncio
import hmac
import time
from collections.abc import Callable
from math import inf
from typing import Any, Self, TypeVar

import msgspec
from msgspec import UNSET
from playmolt_schemas import codes
from playmolt_schemas.codes import Code, problem_bytes
from playmolt_schemas.envelopes import Answer, Call
from typing_extensions import override

from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Accepted, Command, Decider, Refused, S
from playmolt_core.game.fold import Snapshot
from playmolt_core.ops.json_values import parse_json

T = TypeVar("T")
Respond = Callable[[Answer], None]

BUSY = Refused(
    Code.UNAVAILABLE,
    "The engine is busy or its database is unavailable; nothing is lost. Retry with the same Idempotency-Key.",
)
ARCHIVED_GAME = Refused(Code.ARCHIVED, codes.ARCHIVED)
NO_GAME = Refused(Code.NOT_FOUND, codes.NO_GAME)


class BadBody(ValueError):
    """The body of a call does not fit its op. The message is for the log; the caller gets `refused`."""

    refused = Refused(Code.INVALID_REQUEST, "The request body is invalid. See /openapi.json for the expected format.")


class CallCounter(msgspec.Struct):
    """Counts accepted calls that are not answered yet."""

    count: int = 0


class PendingCall(msgspec.Struct, eq=False):
    """A call and the way to answer it, exactly once: by `answer`, `refuse` or `refuse_busy`."""

    call: Call
    respond: Respond
    command: Command | None = None
    """The command of a worker in this process; the call then has no body."""
    counted: CallCounter | None = None
    read: Any = UNSET
    """The decoded body, or the error."""
    received_at: float = msgspec.field(default_factory=time.monotonic)

    def seconds_left(self, otherwise: float = inf) -> float:
        """How many seconds from now the caller still waits for the answer; `otherwise` if the call does not say.

        Measured from the arrival of the call on this process's own clock, because machines' clocks may differ.
        """
        patience_ms = self.call.patience_ms
        return self.received_at + patience_ms / 1000 - time.monotonic() if patience_ms else otherwise

    def carried(self) -> Any:
        """The body as a JSON value, decoded only once. Raises BadBody."""
        if self.read is UNSET:
            try:
                self.read = parse_json(self.call.body)
            except ValueError as error:
                self.read = BadBody(str(error))
        if isinstance(self.read, BadBody):
            raise self.read
        return self.read

    def decoded(self, body: type[T]) -> T:
        """The body as a type. Raises BadBody."""
        try:
            return msgspec.json.decode(self.call.body, type=body)
        except ValueError as error:
            raise BadBody(str(error)) from error

    def count(self, under_way: CallCounter) -> None:
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
        """Refuse because the call cannot be finished now."""
        self.refuse(BUSY)

    def _leave(self) -> None:
        if self.counted is not None:
            self.counted.count -= 1
            self.counted = None


def _no_response(_: Answer) -> None:
    """Submissions resolve their future instead."""


class Submission(PendingCall, kw_only=True):
    """A worker's command; its result is the future `outcome`."""

    outcome: asyncio.Future[Accepted | Refused]

    @classmethod
    def of(cls, stream: str, command: Command, command_id: str, agent: str = "") -> Self:
        call = Call(0, "act", stream, agent=agent, command_id=command_id)
        outcome: asyncio.Future[Accepted | Refused] = asyncio.get_running_loop().create_future()
        return cls(call, _no_response, command, outcome=outcome)

    @override
    def answer(self, status: int, body: bytes, content_type: str = "", total: int = 0) -> None:
        self._settle(Accepted())

    @override
    def refuse(self, refused: Refused) -> None:
        self._settle(refused)

    def _settle(self, outcome: Accepted | Refused) -> None:
        self._leave()
        if not self.outcome.done():
            self.outcome.set_result(outcome)


_encode = msgspec.json.encode


def api_request(pending: PendingCall, seed: str = "0") -> ApiRequest:
    """Read the body of `command` and `query`: {route, params, query, body, offset}. Raises BadBody."""
    call, carried = pending.call, pending.carried()
    try:
        named: dict[str, Any] = {name: carried[name] for name in ("route", "params", "query")}
        body = carried.get("body")
        return msgspec.convert(
            {
                **named, "stream": call.target, "body": None, "agent_id": call.agent, "name": call.name,
                "operator": call.operator, "command_id": call.command_id, "seed": seed,
            },
            ApiRequest,
        ).with_body(body)  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise BadBody(str(error)) from error


def route_of(pending: PendingCall) -> str:
    """The route of `command` and `query`; "" for other calls and invalid bodies."""
    if pending.call.op not in ("command", "query"):
        return ""
    try:
        return api_request(pending).route
    except BadBody:
        return ""


def offset_of(pending: PendingCall) -> int:
    """The offset of the requested part of a long answer. Raises BadBody."""
    offset = pending.carried().get("offset", 0)
    return offset if isinstance(offset, int) and offset >= 0 else 0


def body_of(reply: ApiReply) -> bytes:
    return reply.body if isinstance(reply.body, bytes) else _encode(reply.body)


def closed_to(decider: Decider[S], snapshot: Snapshot[S], call: Call) -> bool:
    """Whether a private game must look to the caller as if it did not exist."""
    if not snapshot.summary.hidden or call.operator or call.agent in decider.participants(snapshot.state):
        return False
    return not hmac.compare_digest(call.invite, snapshot.summary.invite)
