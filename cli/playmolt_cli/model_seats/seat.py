"""A model in a seat: requests an action, validates it, retries at most twice, else forfeits."""

import math
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, Literal

import msgspec
from playmolt_core.db.ledger import Account
from playmolt_core.llm.attempts import recorded
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.durable_call import Charge, DurableCall, worst_case
from playmolt_core.llm.file_ledger import MemoryLedger
from playmolt_core.llm.models import Models
from playmolt_core.llm.parsing import Unparsed, parse_object
from playmolt_core.llm.port import Attempt, AttemptOutcome, Failed, Reply, Usage
from playmolt_schemas.api import ActionOffer
from playmolt_schemas.text import decimal_text

from playmolt_cli.model_seats.calls import Calls, FinishedCall, RawAnswer, StartedCall
from playmolt_cli.model_seats.requests import KINDS, ModelProfile, RejectedReply, TurnRequest, schema_of

_UNREPAIRED: Final[Mapping[str, str]] = {"refusal": "refused_by_model", "cut": "invalid_reply"}
_REPAIRED: Final[frozenset[str]] = frozenset(("ok", "empty", "too_large"))
"""Outcomes with a reply that can be retried; any other means the model is unavailable."""


class NoModelAction(msgspec.Struct, frozen=True):
    """Why a model's turn has no action, in the terms of a forfeit."""

    what: str
    kind: Literal["bot", "provider"]


class SeatContext(msgspec.Struct, frozen=True, kw_only=True):
    """What all model seats share; `account` in `ledger` pays, and `clock` returns the `at` of a call."""

    catalogue: Catalogue
    models: Models
    calls: Calls
    ledger: MemoryLedger
    account: Account
    clock: Callable[[], str]


OnCallFinished = Callable[[TurnRequest, FinishedCall], None]
"""Called with each finished call and its request."""


class ModelSeat:
    """One model in one seat of one game."""

    def __init__(self, bench: SeatContext, voice: ModelProfile, player: str, on_finished: OnCallFinished) -> None:
        self._told = on_finished
        self._bench = bench
        self._voice = voice
        self._player = player
        self._turn = ""
        self._bad: list[RejectedReply] = []
        self._reply = ""

    async def action(
        self,
        turn: str,
        state: Mapping[str, object],
        offers: list[ActionOffer],
        refused: str | None,
        within: float = math.inf,
    ) -> dict[str, Any] | NoModelAction:
        """The action of a turn; `refused` is the refusal of the previous action.

        The turn ends `within` seconds: a request after that would not count, and is not sent."""
        ends = time.monotonic() + within
        if turn != self._turn:
            self._turn, self._bad = turn, []
        elif refused is not None:
            self._bad.append(RejectedReply(self._reply, refused))
        while len(self._bad) < len(KINDS):
            if time.monotonic() >= ends:
                return NoModelAction("timeout", "bot")
            asked = self._voice.asking(self._bench.catalogue, turn, state, offers, self._bad)
            call = await self._call(asked, ends)
            if call.outcome in _UNREPAIRED:
                return NoModelAction(_UNREPAIRED[call.outcome], "bot")
            if call.outcome not in _REPAIRED:
                return NoModelAction("model_unavailable", "provider")
            self._reply = call.reply
            judged = parse_object(call.reply, schema_of(offers))
            if not isinstance(judged, Unparsed):
                return judged.value
            self._bad.append(RejectedReply(call.reply, judged.detail))
        return NoModelAction("invalid_reply", "bot")

    async def _call(self, asked: TurnRequest, ends: float) -> FinishedCall:
        """The finished call, from the store if it is there."""
        bench = self._bench
        ended = bench.calls.ended.get(asked.key)
        if ended is None:
            ended = await self._asked(asked, ends)
        self._told(asked, ended)
        return ended

    async def _asked(self, asked: TurnRequest, ends: float) -> FinishedCall:
        bench = self._bench
        model = bench.models.get(self._voice.alias)
        assert model is not None  # noqa: S101 -- aliases are checked before a game starts
        worst = worst_case(asked.request, bench.catalogue.models.get(self._voice.alias))
        charge = Charge(account=bench.account, worst=worst)
        for _ in range(bench.calls.lost(asked.key)):
            bench.ledger.lose(bench.account, worst.amount)
        started = StartedCall(
            call=asked.key, turn=asked.turn, kind=asked.kind, player=self._player,
            alias=self._voice.alias, at=bench.clock(),
        )  # fmt: skip
        attempts: list[Attempt] = []
        begun = False

        async def sending() -> None:
            nonlocal begun
            if not begun:
                bench.calls.begin(started)
            begun = True

        async def record(attempt: Attempt) -> None:
            attempts.append(attempt)

        call = DurableCall(bench.ledger, [charge])
        left = ends - time.monotonic()
        request = asked.request if math.isinf(left) else msgspec.structs.replace(asked.request, within=left)
        answer = await call.ask(model, request, record, sending)
        stored = [recorded(attempt) for attempt in attempts]
        raw = tuple(msgspec.convert(each.fields, RawAnswer) for each in stored)
        ended = _ended(asked.key, attempts, raw, answer)
        bench.calls.end(ended, [each.separate_text for each in stored if each.separate_text is not None])
        await call.settle()
        return ended


def _ended(key: str, attempts: list[Attempt], raw: tuple[RawAnswer, ...], answer: Reply | Failed) -> FinishedCall:
    outcome: AttemptOutcome = attempts[-1].outcome if attempts else "connection"
    counted = [attempt.usage for attempt in attempts if attempt.usage is not None]
    costs = [_cost(attempt) for attempt in attempts]
    return FinishedCall(
        call=key,
        outcome=outcome,
        reply=answer.text if isinstance(answer, Reply) else answer.reply,
        usage=_together(counted) if counted else None,
        cost=None if None in costs else decimal_text(sum((Decimal(cost) for cost in costs if cost), Decimal(0))),
        ms=sum(attempt.latency_ms for attempt in attempts),
        attempts=raw,
    )


def _cost(attempt: Attempt) -> str | None:
    """The known cost of a request; an HTTP error without usage costs nothing."""
    return "0" if attempt.usage is None and attempt.uncharged else attempt.cost


def _together(usages: list[Usage]) -> dict[str, int | None]:
    prompts, completions = [one.prompt_tokens for one in usages], [one.completion_tokens for one in usages]
    return {"prompt_tokens": _sum(prompts), "completion_tokens": _sum(completions)}


def _sum(figures: list[int | None]) -> int | None:
    return None if None in figures else sum(figure or 0 for figure in figures)
