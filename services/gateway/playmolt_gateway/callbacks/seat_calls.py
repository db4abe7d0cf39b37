"""The calls to an agent's server for one seat, from the first turn to the end of the game."""

import asyncio
import json
import time
import uuid
from typing import Any, Final, Protocol

import msgspec
from msgspec.structs import replace
from playmolt_core.bus.port import Watch
from playmolt_core.effects.callbacks.client import CallbackAnswer
from playmolt_core.effects.callbacks.faults import CallbackFailure, FaultBody
from playmolt_core.effects.callbacks.seats import CalledSeat
from playmolt_core.ops.telemetry import log
from playmolt_schemas.api import ForfeitRequest
from playmolt_schemas.codes import Problem
from playmolt_schemas.envelopes import Answer as EngineAnswer
from playmolt_schemas.envelopes import Op
from playmolt_schemas.limits import CALLBACK_REFUSALS, CALLBACK_SECONDS

from playmolt_gateway.callbacks.question import GameOver, NotSeated, SeatStatus, TurnQuestion, call_key, seat_status
from playmolt_gateway.http.bodies import parse
from playmolt_gateway.http.metrics import CALLBACK_METRICS, CallbackMetrics
from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.ports import UNAVAILABLE_ERRORS, Accounts, Callbacks, GatewayBus
from playmolt_gateway.request.checked_request import reason
from playmolt_gateway.request.waits import wait_for_newer

_log = log("callbacks")
_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 64.0
_POLL_SECONDS: Final = 10.0
"""How often the status is read again: a watch may miss messages."""
_BEFORE_DEADLINE: Final = 0.2
"""Calls time out this long before the deadline, so that the fault counts in the same phase."""
_RETRIED: Final = frozenset((429, 503))
_encode = msgspec.json.encode


class ServerClient(Protocol):
    """Calls agents' servers; `CallbackClient` in production."""

    async def call(
        self, url: str, secret: str, body: bytes, key: str, seconds: float | None = None
    ) -> CallbackAnswer | CallbackFailure: ...


class _Action(msgspec.Struct, frozen=True):
    """The command in an agent's answer."""

    op: Op
    body: bytes


class SeatCalls:
    """Calls one agent for one game while this process holds the seat."""

    def __init__(
        self,
        bus: GatewayBus,
        accounts: Accounts,
        callbacks: Callbacks,
        caller: ServerClient,
        agent_id: str,
        game_id: str,
        *,
        metrics: CallbackMetrics = CALLBACK_METRICS,
    ) -> None:
        self._bus = bus
        self._accounts = accounts
        self._callbacks = callbacks
        self._caller = caller
        self._metrics = metrics
        self._agent = agent_id
        self._game_id = game_id
        self._game = game_id.partition("-")[0]
        self._failures = 0
        self._failed_at = ""
        """The turn that the failures belong to."""

    async def run(self) -> None:
        """Return when the end of the game is reported, or the seat is lost."""
        watch = await self._bus.watch(self._game, self._game_id)
        try:
            while True:
                try:
                    if not await self._step(watch):
                        return
                except UNAVAILABLE_ERRORS as error:
                    _log.warning("callback_put_off", game=self._game_id, detail=reason(error))
                    await asyncio.sleep(_PAUSE)
        finally:
            await watch.close()

    async def _step(self, watch: Watch) -> bool:
        """Handle the current status or wait for the next; False when done."""
        now = await self._status()
        if isinstance(now, TurnQuestion):
            return await self._ask(now, watch)
        if isinstance(now, GameOver):
            return await self._report_end(now)
        if isinstance(now, NotSeated):
            await self._accounts.forget_seat(self._agent, self._game_id)
            return False
        if now is None:
            await asyncio.sleep(_PAUSE)
        else:
            await wait_for_newer(watch, now.version, _POLL_SECONDS)
        return True

    async def _status(self) -> SeatStatus | None:
        return await seat_status(self._bus, self._agent, self._game_id)

    async def _ask(self, question: TurnQuestion, watch: Watch) -> bool:
        """Call once for an answer; False when the seat is lost."""
        seat = await self._callbacks.called(self._agent, self._game_id)
        if seat is None:
            return False
        if seat.turn_id != question.turn_id:
            seat = replace(seat, turn_id=question.turn_id, refusals=0)
        left = CALLBACK_SECONDS if question.seconds_left is None else question.seconds_left - _BEFORE_DEADLINE
        seconds = min(float(CALLBACK_SECONDS), left)
        if seat.refusals >= CALLBACK_REFUSALS or seconds <= 0:
            await self._while_asked(question, watch, _POLL_SECONDS)
        elif not await self._callbacks.begin(self._agent, self._game_id, seconds + CALLBACK_SECONDS):
            await self._while_asked(question, watch, _PAUSE)
        else:
            await self._call(question, seat, watch, seconds)
        return True

    async def _call(self, question: TurnQuestion, seat: CalledSeat, watch: Watch, seconds: float) -> None:
        key = call_key(self._agent, question.turn_id, seat.refusals)
        body = _body(question.turn, seat.last_error)
        action = _action(question, await self._called(seat, body, key, seconds))
        if await self._callbacks.called(self._agent, self._game_id) is None:
            return  # banned meanwhile, or the lease ended: the next step sees it
        if isinstance(action, CallbackFailure):
            self._metrics.count(action.what)
            await self._count(action)
            await self._answered(replace(seat, last_error=_problem_of(action)))
            await self._pause(question, watch)
            return
        answer = await self._submit(action, key)
        if answer is None or answer.status in _RETRIED:
            await self._answered(seat)
            await self._pause(question, watch)
        elif answer.status == 200:
            self._metrics.count("answered")
            await self._answered(replace(seat, last_error=None))
        else:
            self._metrics.count("refused")
            refusal = answer.body.decode(errors="replace")
            await self._answered(replace(seat, refusals=seat.refusals + 1, last_error=refusal))

    async def _called(
        self, seat: CalledSeat, body: bytes, key: str, seconds: float | None = None
    ) -> CallbackAnswer | CallbackFailure:
        began = time.monotonic()
        try:
            return await self._caller.call(seat.url, seat.secret, body, key, seconds)
        finally:
            self._metrics.seconds.observe(time.monotonic() - began)

    async def _submit(self, action: _Action, key: str) -> EngineAnswer | None:
        """The engine's answer; None when it is unavailable. A retry under the same key has no second effect."""
        try:
            return await self._bus.submit(
                self._game, action.op, self._game_id, action.body, agent=self._agent, command_id=key
            )
        except UNAVAILABLE_ERRORS as error:
            _log.warning("callback_put_off", game=self._game_id, detail=reason(error))
            return None

    async def _count(self, fault: CallbackFailure) -> None:
        """Record a fault in the game's log."""
        await self._bus.submit(
            self._game, "fault", self._game_id, _encode(FaultBody(fault.what)), agent=self._agent,
            command_id=uuid.uuid4().hex,
        )  # fmt: skip

    async def _answered(self, seat: CalledSeat) -> None:
        await self._callbacks.answered(self._agent, self._game_id, seat)

    async def _pause(self, question: TurnQuestion, watch: Watch) -> None:
        """Wait before the next call for the same turn, with exponential backoff."""
        if self._failed_at != question.turn_id:
            self._failed_at, self._failures = question.turn_id, 0
        seconds = min(_PAUSE * 2**self._failures, _LONGEST_PAUSE)
        self._failures += 1
        await self._while_asked(question, watch, seconds)

    async def _while_asked(self, question: TurnQuestion, watch: Watch, seconds: float) -> None:
        """Wait for `seconds`, or until the turn changes."""
        clock = asyncio.get_running_loop().time
        end, version = clock() + seconds, question.version
        while clock() < end:
            await wait_for_newer(watch, version, min(end - clock(), _POLL_SECONDS))
            now = await self._status()
            if not isinstance(now, TurnQuestion) or now.turn_id != question.turn_id:
                return
            version = now.version

    async def _report_end(self, over: GameOver) -> bool:
        """Call once to report the end of the game; False when done or the seat is lost."""
        seat = await self._callbacks.called(self._agent, self._game_id)
        if seat is None:
            return False
        if not await self._callbacks.begin(self._agent, self._game_id, 2 * CALLBACK_SECONDS):
            await asyncio.sleep(_PAUSE)
            return True
        key = call_key(self._agent, self._game_id)
        answer = await self._called(seat, _body(over.turn, seat.last_error), key)
        self._metrics.count(answer.what if isinstance(answer, CallbackFailure) else "answered")
        await self._accounts.forget_seat(self._agent, self._game_id)
        return False


def _body(turn: Any, last_error: str | None) -> bytes:
    error = None if last_error is None else msgspec.Raw(last_error.encode())
    return _encode({**turn, "last_error": error})


def _problem_of(fault: CallbackFailure) -> str:
    """The problem document of a failed call."""
    document = Problem(title="No action", status=400, code=fault.what, detail=f"Your server {fault.detail}.")
    return _encode({"type": "about:blank", **msgspec.to_builtins(document)}).decode()


def _action(question: TurnQuestion, answer: CallbackAnswer | CallbackFailure) -> _Action | CallbackFailure:
    """The command in an answer, bound to the turn that was asked."""
    if isinstance(answer, CallbackFailure):
        return answer
    value = parse(answer.body)
    if isinstance(value, HttpProblem):
        return CallbackFailure("callback_body", f"sent an invalid body: {value.detail}")
    if set(value) - {"turn_id"} != {"forfeit"}:
        # As ASCII: lone surrogates are valid JSON, and the rules refuse them by field.
        return _Action("act", json.dumps({"turn_id": question.turn_id, **value}).encode())
    try:
        asked_for = msgspec.convert({"turn_id": question.turn_id, **value["forfeit"]}, ForfeitRequest)
    except (msgspec.ValidationError, TypeError) as error:
        return CallbackFailure("callback_body", f"sent an invalid forfeit: {error}")
    return _Action("forfeit", _encode(asked_for))
