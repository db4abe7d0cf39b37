"""One durable model call: reserve, mark, ask, keep, settle. The platform counts tokens and money here, nowhere else.

A request is two transactions with its sending in between. The first reserves its worst case on every account, or on
none, and marks it as in flight. The second keeps its reply, corrects the accounts to what it used and removes the mark.
A process that dies in between leaves the mark: the next one finds it (`DurableCalls.lost`), or finds the reply.

Who marks where: turns and judges in the ledger; matches and the house in a file of calls; legal and jury sessions keep
the attempt in their log, and a lost request stays charged at its worst case.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec.structs import replace
from playmolt_schemas.instrument.usage import held_by, with_call
from playmolt_schemas.stored.agora.plan import Spent
from typing_extensions import override

from playmolt_core.db.ledger import Account, Amount, Entry, ExhaustedAccount, InFlight, Ledger
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
    pass

_OK: Final = 200
_REFUSED: Final = "rate_limited"
_UNANSWERED: Final = TRANSPORT_FAULTS | {"rejected"}
_NOTHING: Final = Decimal(0)


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """The worst case of one request on an account; `money` is None if a price is unknown.

    `unanswered` is what a request costs that had no answer, or was lost with its process: its worst case, or nothing.
    `refusal` describes why the account refuses a request (None: its money is limited and a price unknown), which then
    fails with `budget_spent`; without it AccountExhausted is raised.
    """

    account: Account
    tokens: int
    money: Decimal | None
    unanswered: Literal["worst_case", "nothing"] = "worst_case"
    refusal: Callable[[ExhaustedAccount | None], str] | None = None

    @property
    def worst(self) -> Amount:
        return Amount(self.money or _NOTHING, self.tokens, 1)

    @property
    def unpriced(self) -> bool:
        return self.money is None and self.account.money is not None

    def correction(self, attempt: Attempt) -> Amount:
        """What a request used, less its worst case."""
        used = _used(attempt, self.worst) if self.unanswered == "worst_case" else _reported(attempt, self.worst)
        return used - self.worst


Charges = Callable[[ModelRequest], Sequence[Charge]]
"""The accounts that pay for a request, with its worst case on each."""


def _used(attempt: Attempt, worst: Amount) -> Amount:
    """The usage of a request; the worst case where it is unknown, unless an error cost nothing."""
    unknown = Amount() if attempt.uncharged else worst
    total = attempt.usage.total if attempt.usage else None
    return Amount(
        unknown.money if attempt.cost is None else Decimal(attempt.cost), unknown.tokens if total is None else total, 1
    )


def _reported(attempt: Attempt, worst: Amount) -> Amount:
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

    def __init__(self, charge: Charge, spent: ExhaustedAccount | None) -> None:
        super().__init__(charge.account.name)
        self.charge = charge
        self.spent = spent


async def reserve(ledger: Ledger, charges: Sequence[Charge], mark: InFlight | None = None) -> None:
    """Reserve the worst case of a request on every account. Raises AccountExhausted."""
    unpriced = next((charge for charge in charges if charge.unpriced), None)
    if unpriced is not None:
        raise AccountExhausted(unpriced, None)
    if not charges and mark is None:
        return
    short = await ledger.reserve([Entry(charge.account, charge.worst) for charge in charges], mark)
    if short is not None:
        raise AccountExhausted(next(charge for charge in charges if charge.account.name == short.account), short)


class DurableCall:
    """The requests that one question to a model takes: its repeats and other forms included."""

    def __init__(self, ledger: Ledger, charges: Sequence[Charge], mark: InFlight | None = None) -> None:
        """`mark` is the place of the question; what is released if a request is lost is added to it."""
        released = next((charge for charge in charges if charge.unanswered == "nothing"), None)
        worst = released.worst if released else Amount()
        self._ledger = ledger
        self._charges = charges
        self._mark = mark and replace(mark, tokens=worst.tokens, money=worst.money)
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
            await reserve(self._ledger, self._charges, self._mark)
            if sending is None:
                return
            try:
                await sending()
            except BaseException:
                await self._correct([Amount() - charge.worst for charge in self._charges], requests=1)
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
            corrections = [charge.correction(attempt) for charge in self._charges]
            await self._correct(corrections, requests=int(attempt.outcome == _REFUSED))

    async def keep(self, key: str, body: str) -> None:
        """Keep the answer under the key of its request, settle it and remove the mark."""
        attempt, self._unsettled = self._unsettled, None
        if attempt is None or self._mark is None:
            raise RuntimeError("only a marked question with an answer has a reply to keep")
        entries = [Entry(charge.account, charge.correction(attempt)) for charge in self._charges]
        await self._ledger.keep(entries, self._mark.stream, key, body)

    async def _correct(self, amounts: Sequence[Amount], *, requests: int) -> None:
        entries = [Entry(charge.account, amount) for charge, amount in zip(self._charges, amounts, strict=True)]
        if entries or self._mark is not None:
            await self._ledger.settle(entries, self._mark and replace(self._mark, requests=requests))


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
