"""The calls of an agent for one seat, from the first question of its game to its end."""

import asyncio
import json
import time
import uuid
from typing import Any, Final, Protocol

import msgspec
from msgspec.structs import replace
from playmolt_core.bus.port import Watch
from playmolt_core.effects.callbacks.client import Answer
from playmolt_core.effects.callbacks.faults import Fault
from playmolt_core.effects.callbacks.seats import CalledSeat
from playmolt_core.ops.telemetry import log
from playmolt_schemas.api import ForfeitRequest
from playmolt_schemas.codes import Problem
from playmolt_schemas.envelopes import Answer as EngineAnswer
from playmolt_schemas.envelopes import Op
from playmolt_schemas.limits import CALLBACK_REFUSALS, CALLBACK_SECONDS

from playmolt_gateway.callbacks.question import Asked, Over, Question, Unknown, asked, call_key
from playmolt_gateway.http.bodies import parse
from playmolt_gateway.http.metrics import FIGURES
from playmolt_gateway.http.problems import Refusal
from playmolt_gateway.ports import AWAY, Accounts, Callbacks, GatewayBus
from playmolt_gateway.request.checked_request import reason
from playmolt_gateway.request.waits import wait_for_newer

_log = log("callbacks")
_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 64.0
_LOOK_SECONDS: Final = 10.0
"""A watch may miss messages: what is asked is read anew after so long."""
_BEFORE_DEADLINE: Final = 0.2
"""A call is cut so long before the deadline, that its fault is counted in the phase in which it was made."""
_RETRIED: Final = frozenset((429, 503))
_encode = msgspec.json.encode


class Caller(Protocol):
    """Calls agents' servers; `CallbackClient` in the product."""

    async def call(
        self, url: str, secret: str, body: bytes, key: str, seconds: float | None = None
    ) -> Answer | Fault: ...


class _Action(msgspec.Struct, frozen=True):
    """What an answer asks its engine for."""

    op: Op
    body: bytes


class SeatCalls:
    """Calls one agent for one game, for as long as this process holds the seat."""

    def __init__(
        self, bus: GatewayBus, accounts: Accounts, callbacks: Callbacks, caller: Caller, agent_id: str, game_id: str
    ) -> None:
        self._bus = bus
        self._accounts = accounts
        self._callbacks = callbacks
        self._caller = caller
        self._agent = agent_id
        self._game_id = game_id
        self._game = game_id.partition("-")[0]
        self._failures = 0
        self._failed_at = ""
        """The question whose calls failed so often in a row."""

    async def run(self) -> None:
        """Return when the game is over and told, or when the seat is this process's no longer."""
        watch = await self._bus.watch(self._game, self._game_id)
        try:
            while True:
                try:
                    if not await self._step(watch):
                        return
                except AWAY as error:
                    _log.warning("callback_put_off", game=self._game_id, detail=reason(error))
                    await asyncio.sleep(_PAUSE)
        finally:
            await watch.close()

    async def _step(self, watch: Watch) -> bool:
        """Do what there is to do, or wait for it; False when there will be nothing more."""
        now = await self._asked()
        if isinstance(now, Question):
            return await self._ask(now, watch)
        if isinstance(now, Over):
            return await self._tell(now)
        if isinstance(now, Unknown):
            await self._accounts.told(self._agent, self._game_id)
            return False
        if now is None:
            await asyncio.sleep(_PAUSE)
        else:
            await wait_for_newer(watch, now.version, _LOOK_SECONDS)
        return True

    async def _asked(self) -> Asked | None:
        return await asked(self._bus, self._agent, self._game_id)

    async def _ask(self, question: Question, watch: Watch) -> bool:
        """Call for an answer to a question, once; False when the seat is lost."""
        seat = await self._callbacks.called(self._agent, self._game_id)
        if seat is None:
            return False
        if seat.turn_id != question.turn_id:
            seat = replace(seat, turn_id=question.turn_id, refusals=0)
        left = CALLBACK_SECONDS if question.seconds_left is None else question.seconds_left - _BEFORE_DEADLINE
        seconds = min(float(CALLBACK_SECONDS), left)
        if seat.refusals >= CALLBACK_REFUSALS or seconds <= 0:
            await self._while_asked(question, watch, _LOOK_SECONDS)
        elif not await self._callbacks.begin(self._agent, self._game_id, seconds + CALLBACK_SECONDS):
            await self._while_asked(question, watch, _PAUSE)
        else:
            await self._call(question, seat, watch, seconds)
        return True

    async def _call(self, question: Question, seat: CalledSeat, watch: Watch, seconds: float) -> None:
        key = call_key(self._agent, question.turn_id, seat.refusals)
        body = _body(question.turn, seat.last_error)
        action = _action(question, await self._called(seat, body, key, seconds))
        if isinstance(action, Fault):
            FIGURES.count(action.what)
            await self._count(action)
            await self._answered(replace(seat, last_error=_told(action)))
            await self._pause(question, watch)
            return
        answer = await self._submit(action, key)
        if answer is None or answer.status in _RETRIED:
            await self._answered(seat)
            await self._pause(question, watch)
        elif answer.status == 200:
            FIGURES.count("answered")
            await self._answered(replace(seat, last_error=None))
        else:
            FIGURES.count("refused")
            told = answer.body.decode(errors="replace")
            await self._answered(replace(seat, refusals=seat.refusals + 1, last_error=told))

    async def _called(self, seat: CalledSeat, body: bytes, key: str, seconds: float | None = None) -> Answer | Fault:
        began = time.monotonic()
        try:
            return await self._caller.call(seat.url, seat.secret, body, key, seconds)
        finally:
            FIGURES.seconds.observe(time.monotonic() - began)

    async def _submit(self, action: _Action, key: str) -> EngineAnswer | None:
        """What the engine says to an action; None when nobody knows. Under the same key it counts once."""
        try:
            return await self._bus.submit(
                self._game, action.op, self._game_id, action.body, agent=self._agent, command_id=key
            )
        except AWAY as error:
            _log.warning("callback_put_off", game=self._game_id, detail=reason(error))
            return None

    async def _count(self, fault: Fault) -> None:
        """Have a fault counted in the ledger of the game."""
        await self._bus.submit(
            self._game, "fault", self._game_id, _encode({"what": fault.what}), agent=self._agent,
            command_id=uuid.uuid4().hex,
        )  # fmt: skip

    async def _answered(self, seat: CalledSeat) -> None:
        await self._callbacks.answered(self._agent, self._game_id, seat)

    async def _pause(self, question: Question, watch: Watch) -> None:
        """Wait before the next call of the same question, each time twice as long."""
        if self._failed_at != question.turn_id:
            self._failed_at, self._failures = question.turn_id, 0
        seconds = min(_PAUSE * 2**self._failures, _LONGEST_PAUSE)
        self._failures += 1
        await self._while_asked(question, watch, seconds)

    async def _while_asked(self, question: Question, watch: Watch, seconds: float) -> None:
        """Wait so long, or until something else is asked."""
        clock = asyncio.get_running_loop().time
        end, version = clock() + seconds, question.version
        while clock() < end:
            await wait_for_newer(watch, version, min(end - clock(), _LOOK_SECONDS))
            now = await self._asked()
            if not isinstance(now, Question) or now.turn_id != question.turn_id:
                return
            version = now.version

    async def _tell(self, over: Over) -> bool:
        """Call once to tell that the game is over; False when that is done or the seat is lost."""
        seat = await self._callbacks.called(self._agent, self._game_id)
        if seat is None:
            return False
        if not await self._callbacks.begin(self._agent, self._game_id, 2 * CALLBACK_SECONDS):
            await asyncio.sleep(_PAUSE)
            return True
        key = call_key(self._agent, self._game_id)
        told = await self._called(seat, _body(over.turn, seat.last_error), key)
        FIGURES.count(told.what if isinstance(told, Fault) else "answered")
        await self._accounts.told(self._agent, self._game_id)
        return False


def _body(turn: Any, last_error: str | None) -> bytes:
    told = None if last_error is None else msgspec.Raw(last_error.encode())
    return _encode({**turn, "last_error": told})


def _told(fault: Fault) -> str:
    """The problem document of a call that gave no action."""
    document = Problem(title="No action", status=400, code=fault.what, detail=f"Your server {fault.detail}.")
    return _encode({"type": "about:blank", **msgspec.to_builtins(document)}).decode()


def _action(question: Question, answer: Answer | Fault) -> _Action | Fault:
    """What an answer asks for, to the question that it was asked and no other."""
    if isinstance(answer, Fault):
        return answer
    value = parse(answer.body)
    if isinstance(value, Refusal):
        return Fault("callback_body", f"answered what no game takes: {value.detail}")
    if set(value) - {"turn_id"} != {"forfeit"}:
        # As ASCII: a lone surrogate is JSON, and it is the rules that name the field it stands in.
        return _Action("act", json.dumps({"turn_id": question.turn_id, **value}).encode())
    try:
        asked_for = msgspec.convert({"turn_id": question.turn_id, **value["forfeit"]}, ForfeitRequest)
    except (msgspec.ValidationError, TypeError) as error:
        return Fault("callback_body", f"answered a forfeit that is none: {error}")
    return _Action("forfeit", _encode(asked_for))
