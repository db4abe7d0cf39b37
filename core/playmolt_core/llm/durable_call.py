"""One durable model call: reserve, mark, ask, keep, settle. The platform counts tokens and money here, nowhere else.

A request is two transactions with its sending in between. The first reserves its worst case on every account, or on
none, and marks it as in flight. The second keeps its reply, corrects the accounts to what it used and removes the mark.
A process that dies in between leaves the mark: the next one finds it (`DurableCalls.lost`), or finds the reply.

Who marks where: turns and judges in the ledger; matches and the house in a file of calls; legal and jury sessions keep
the attempt in their log, and a lost request stays charged at its worst case.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace
from playmolt_schemas.instrument.usage import held_by, lost_call, with_call
from playmolt_schemas.stored.agora.plan import Spent
from playmolt_schemas.text import decimal_text
from typing_extensions import override

from playmolt_core.db.blobs import PgBlobs
from playmolt_core.db.ledger import Account, Amount, InFlight, Ledger, LedgerEntry
from playmolt_core.llm.attempts import recorded
from playmolt_core.llm.batch_calls import BatchCalls, NewCall
from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.openai.request_body import most_prompt_tokens
from playmolt_core.llm.port import (
    TRANSPORT_FAULTS,
    Attempt,
    Failed,
    Listener,
    Model,
    ModelRequest,
    Record,
    Reply,
    Sending,
)

if TYPE_CHECKING:
    from playmolt_core.llm.models import Models
    from playmolt_core.llm.openai.model import OpenAIModel

StoredCall = dict[str, Any]
"""An attempt in the form in which it is logged and kept."""
_OK: Final = 200
_REFUSED: Final = "rate_limited"
_UNANSWERED: Final = TRANSPORT_FAULTS | {"rejected"}
_NOTHING: Final = Decimal(0)
_LOOK_SECONDS: Final = 2.0


class WorstCase(NamedTuple):
    """The most that a request takes; `money` is None if a price is unknown."""

    tokens: int
    money: Decimal | None

    @property
    def amount(self) -> Amount:
        return Amount(self.money or _NOTHING, self.tokens, 1)


def worst_case(request: ModelRequest, entry: ModelEntry | None) -> WorstCase:
    """The whole prompt and a full reply. Without an entry the model is scripted, and costs no money."""
    prompt, reply = most_prompt_tokens(request), request.max_tokens
    if entry is None:
        return WorstCase(prompt + reply, _NOTHING)
    reply = min(reply, entry.reply_tokens or reply)
    return WorstCase(prompt + reply, entry.most(prompt, reply))


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """The worst case of one request on an account.

    `unanswered` is what a request costs that had no answer, or was lost with its process: its worst case, or nothing.
    `refusal` describes why the account refuses a request (None: its money is limited and a price unknown), which then
    fails with `budget_spent`; without it AccountExhausted is raised.
    """

    account: Account
    worst: WorstCase
    unanswered: Literal["worst_case", "nothing"] = "worst_case"
    refusal: Callable[[Amount | None], str] | None = None

    def correction(self, attempt: Attempt) -> LedgerEntry:
        """What a request used, less its worst case."""
        worst = self.worst.amount
        used = _used(attempt, worst) if self.unanswered == "worst_case" else reported(attempt, worst)
        return LedgerEntry(self.account, used - worst)


Charges = Callable[[ModelRequest], Sequence[Charge]]
"""The accounts that pay for a request, with its worst case on each."""


def _used(attempt: Attempt, worst: Amount) -> Amount:
    """The usage of a request; the worst case where it is unknown, unless an error cost nothing."""
    unknown = Amount() if attempt.uncharged else worst
    total = attempt.usage.total if attempt.usage else None
    return Amount(
        unknown.money if attempt.cost is None else Decimal(attempt.cost), unknown.tokens if total is None else total, 1
    )


def reported(attempt: Attempt, worst: Amount) -> Amount:
    """The usage of a request; the worst case only for a reply without figures, and a 429 is not a call."""
    call = {
        "outcome": attempt.outcome, "status": attempt.status, "detail": attempt.detail, "code": attempt.code,
        "finish_reason": attempt.finish_reason, "usage": msgspec.to_builtins(attempt.usage), "cost": attempt.cost,
    }  # fmt: skip
    spent = with_call(Spent(), call)
    used = Amount(Decimal(spent.known), spent.tokens, spent.calls)
    return used + replace(worst, calls=0) if held_by(call) else used


class AccountExhausted(Exception):
    """The worst case of a request does not fit into an account; nothing was reserved or sent."""

    def __init__(self, charge: Charge, spent: Amount | None) -> None:
        super().__init__(charge.account.name)
        self.charge = charge
        self.spent = spent


async def reserve(
    charges: Sequence[Charge], taken: Callable[[Sequence[LedgerEntry]], Awaitable[LedgerEntry | None]]
) -> None:
    """Reserve the worst case of a request on every account by `taken`. Raises AccountExhausted."""
    for charge in charges:
        if charge.worst.money is None and charge.account.money is not None:
            raise AccountExhausted(charge, None)
    short = await taken([LedgerEntry(charge.account, charge.worst.amount) for charge in charges])
    if short is not None:
        raise AccountExhausted(next(charge for charge in charges if charge.account == short.account), short.amount)


class DurableCall:
    """The requests that one question to a model takes: its repeats and other forms included."""

    def __init__(self, ledger: Ledger, charges: Sequence[Charge], mark: InFlight | None = None) -> None:
        """`mark` is the place of the question; what is released if a request is lost is added to it."""
        released = (charge.worst.amount for charge in charges if charge.unanswered == "nothing")
        self._ledger = ledger
        self._charges = charges
        self._mark = mark and replace(mark, held=next(released, mark.held))
        self._unsettled: Attempt | None = None

    async def ask(
        self,
        model: Model,
        request: ModelRequest,
        record: Record,
        sending: Sending | None = None,
        listener: Listener | None = None,
    ) -> Reply | Failed:
        """Ask the model, and settle each failed request; the answer is settled by `keep` or `settle`.

        Raises AccountExhausted.
        """
        ended = 0

        async def send() -> None:
            await self.settle()
            if self._charges or self._mark is not None:
                await reserve(self._charges, lambda entries: self._ledger.reserve(entries, self._mark))
            if sending is None:
                return
            try:
                await sending()
            except BaseException:
                released = [LedgerEntry(charge.account, Amount() - charge.worst.amount) for charge in self._charges]
                await self._correct(released, requests=1)
                raise

        async def ended_with(attempt: Attempt) -> None:
            nonlocal ended
            ended, self._unsettled = attempt.number, attempt
            await record(attempt)
            if not is_answer(attempt):
                await self.settle()

        try:
            return await model.ask(request, ended_with, send, listener)
        except AccountExhausted as exhausted:
            return refused(exhausted, request, ended)
        except Exception:
            await self.settle()
            raise

    async def settle(self) -> None:
        """Correct the accounts by the last request, unless that is done."""
        attempt, self._unsettled = self._unsettled, None
        if attempt is not None:
            entries = [charge.correction(attempt) for charge in self._charges]
            await self._correct(entries, requests=int(attempt.outcome == _REFUSED))

    async def keep(self, key: str, body: str) -> None:
        """Keep the answer under the key of its request, settle it and remove the mark."""
        attempt, self._unsettled = self._unsettled, None
        if attempt is None or self._mark is None:
            raise RuntimeError("only a marked question with an answer has a reply to keep")
        entries = [charge.correction(attempt) for charge in self._charges]
        await self._ledger.keep(entries, self._mark.stream, key, body)

    async def _correct(self, entries: Sequence[LedgerEntry], *, requests: int) -> None:
        mark = self._mark and replace(self._mark, held=replace(self._mark.held, calls=requests))
        if entries or mark is not None:
            await self._ledger.settle(entries, mark)


def is_answer(attempt: Attempt) -> bool:
    """Whether a server answered, whatever it said, so that asking again would be paid again."""
    return attempt.status == _OK and attempt.outcome not in _UNANSWERED


def refused(exhausted: AccountExhausted, request: ModelRequest, attempts: int) -> Failed:
    """The outcome of a request that an account refused. Raises it again if the account has no words for that."""
    if exhausted.charge.refusal is None:
        raise exhausted
    detail = f"{request.alias} {exhausted.charge.refusal(exhausted.spent)}"
    return Failed(code="budget_spent", detail=detail, attempts=attempts)


class PaidModel(Model):
    """A model whose requests are paid from accounts, and fail with `budget_spent` where they do not fit."""

    def __init__(self, model: Model, ledger: Ledger, charges: Charges) -> None:
        self._model = model
        self._ledger = ledger
        self._charges = charges

    @override
    async def ask(
        self, request: ModelRequest, record: Record, sending: Sending | None = None, listener: Listener | None = None
    ) -> Reply | Failed:
        call = DurableCall(self._ledger, self._charges(request))
        answer = await call.ask(self._model, request, record, sending, listener)
        await call.settle()
        return answer


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A request whose reply is kept under `key`, so that the same question finds it and is never paid twice.

    Without a key (scripted models) nothing is kept or marked. Attempts are stored with `prompt`, the SHA-256 of the
    text of the first two messages. `accounts` pay the worst case of each request, and nothing for one that is lost.
    `labels` are added to attempts as stored.
    """

    request: ModelRequest
    key: str | None
    prompt: str
    mark: InFlight
    accounts: Sequence[Account]
    labels: Mapping[str, str] = {}


class BatchPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a question of an asker waits for a batch, for as long as `goes_on`, which is asked every two seconds."""

    stream: str
    asker: str = ""
    goes_on: Callable[[], Awaitable[bool]]


class Answer(msgspec.Struct, frozen=True):
    """What a model answered, or why it did not, with the requests of the question as stored."""

    said: Reply | Failed
    attempts: tuple[StoredCall, ...]
    cached: bool = False

    @property
    def text(self) -> str:
        return self.said.text if isinstance(self.said, Reply) else self.said.reply


class NoAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Why a question has no answer: an account is exhausted, no such model, or its batch takes too long.

    `attempts` are its requests so far, as stored.
    """

    reason: Literal["no_model", "stopped"] | AccountExhausted
    attempts: tuple[StoredCall, ...] = ()


class DurableCalls:
    """Asks questions whose replies are kept. Methods raise LogUnavailable."""

    def __init__(
        self,
        models: "Models",
        ledger: Ledger,
        texts: PgBlobs,
        batches: BatchCalls,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._models = models
        self._ledger = ledger
        self._texts = texts
        self._batches = batches
        self._sleep = sleep

    async def lost(self, place: InFlight, accounts: Sequence[Account]) -> StoredCall | None:
        """The requests that were lost with the process that asked at this place, as stored; their reservation is
        released.

        `place.logged` of its requests are in the log. None if none was in flight.
        """
        mark = await self._ledger.found(place.stream)
        if mark is None or (mark.turn, mark.agent) != (place.turn, place.agent):
            return None
        lost = mark.held.calls - (place.logged - mark.logged)
        if lost <= 0:
            return None
        held = replace(mark.held, calls=0)
        released = [LedgerEntry(account, Amount() - held) for account in accounts]
        await self._ledger.settle(released, replace(mark, held=held))
        return lost_call(lost, mark.ask)

    async def ask(
        self, question: Question, *, batch: BatchPlace | None = None, scripted: Model | None = None
    ) -> Answer | NoAnswer:
        """Find the reply, or take it from a batch, or ask the model; `scripted` answers in place of the catalogue's."""
        key = question.key
        if key is not None:
            if (found := await self._texts.reply(key)) is not None:
                return _kept(found)
            model = self._models.in_batches(question.request.alias) if batch else None
            if batch is not None and model is not None:
                answered = await self._in_batch(question, key, batch, model)
                if answered is not None:
                    return answered
        direct = scripted or self._models.unpaid(question.request.alias)
        if direct is None:
            return NoAnswer(reason="no_model")
        return await self._directly(question, direct)

    async def _directly(self, question: Question, model: Model) -> Answer | NoAnswer:
        request, key = question.request, question.key
        worst, charges = self._charged(question, batched=False)
        call = DurableCall(self._ledger, charges, question.mark if key else None)
        attempts: list[StoredCall] = []
        kept = False

        async def record(attempt: Attempt) -> None:
            nonlocal kept
            kept = is_answer(attempt)
            attempts.append(await self._stored(question, attempt, worst.money))

        try:
            said = await call.ask(model, request, record)
        except AccountExhausted as exhausted:
            return NoAnswer(reason=exhausted, attempts=tuple(attempts))
        # Not in a `finally`: a cancelled request is lost, and found by the process that continues.
        if key is not None and kept:
            # Before it is parsed or logged, and whatever it says.
            await call.keep(key, _body(said, attempts))
        else:
            await call.settle()
        return Answer(said, tuple(attempts))

    def _charged(self, question: Question, *, batched: bool) -> tuple[WorstCase, list[Charge]]:
        """The worst case of a question, and its charges: on its own accounts and on those of today."""
        worst = self._models.worst_case(question.request, batched=batched)
        own = (Charge(account=account, worst=worst, unanswered="nothing") for account in question.accounts)
        return worst, [*own, *self._models.charges(question.request, batched=batched)]

    async def _stored(self, question: Question, attempt: Attempt, money: Decimal | None) -> StoredCall:
        """An attempt as logged: the prompt by its hash, and the `money` of its worst case if that may be its cost."""
        fields, separate_text = recorded(attempt)
        if separate_text is not None:
            await self._texts.put([separate_text])
        # Of the request, not of the body: there a demand may be one message with the prompt.
        messages = {"prompt": question.prompt, "added": msgspec.to_builtins(question.request.messages[2:])}
        held = {"held": decimal_text(money)} if money is not None and held_by(fields) else {}
        return {**fields, **held, "request": fields["request"] | {"messages": messages}, **question.labels}

    async def _in_batch(
        self, question: Question, key: str, batch: BatchPlace, model: "OpenAIModel"
    ) -> Answer | NoAnswer | None:
        """What a batch answered; None if it did not, and the question is asked outside batches.

        It has no marker: a batch outlives the process that waits for it.
        """
        request = question.request
        worst, charges = self._charged(question, batched=True)
        if await self._batches.found(key) is None:
            new = NewCall(key, batch.stream, batch.asker, request.alias, model.line(request), worst.amount)
            try:
                await reserve(charges, partial(self._batches.put, new))
            except AccountExhausted as exhausted:
                if exhausted.charge.refusal is None:
                    return NoAnswer(reason=exhausted)
                return Answer(refused(exhausted, request, 0), ())
        while (call := await self._batches.found(key)) is not None and not call.answered:
            if not await batch.goes_on():
                return NoAnswer(reason="stopped")
            await self._sleep(_LOOK_SECONDS)
        if call is None:  # answered for another process, or dropped as its experiment ended
            kept = await self._texts.reply(key)
            return NoAnswer(reason="stopped") if kept is None else _kept(kept)
        attempt, said = (None, None) if call.answer is None else model.read(request, call.answer)
        if attempt is None or said is None or attempt.outcome in _UNANSWERED:
            if call.accounts:  # never released twice
                await self._batches.settled(key, call.corrections(Amount()))
            return None if await batch.goes_on() else NoAnswer(reason="stopped")
        attempts = [await self._stored(question, attempt, worst.money) | {"batch": call.batch}]
        corrections = call.corrections(reported(attempt, call.reserved))
        await self._ledger.keep(corrections, question.mark.stream, key, _body(said, attempts))
        return Answer(said, tuple(attempts))


def _body(said: Reply | Failed, attempts: Sequence[StoredCall]) -> str:
    return msgspec.json.encode([said, attempts]).decode()


def _kept(body: str) -> Answer:
    said, attempts = msgspec.json.decode(body, type=tuple[StoredCall, list[StoredCall]])
    answer = msgspec.convert(said, Failed) if "code" in said else msgspec.convert(said, Reply)
    return Answer(answer, tuple(attempt | {"cache_hit": True} for attempt in attempts), cached=True)
