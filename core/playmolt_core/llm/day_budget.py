"""Daily budgets (UTC) of model usage, in total and per key, counted across all replicas. Requests in progress count
with their worst case."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, Protocol

from typing_extensions import override

from playmolt_core.db.budgets import Account, ExhaustedAccount
from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.openai.request_body import most_prompt_tokens
from playmolt_core.llm.port import Attempt, Failed, Listener, Model, ModelRequest, Record, Reply, Sending
from playmolt_core.settings import Settings

_UNPRICED: Final = "has no price, so it cannot be called under a money budget; set its input_price and output_price"


class Budgets(Protocol):
    """The interface of `db.budgets.PgBudgets`."""

    async def reserve(self, accounts: Sequence[Account], tokens: int, money: Decimal) -> ExhaustedAccount | None: ...

    async def settle(self, accounts: Sequence[Account], *, calls: int = 0, tokens: int = 0, money: Decimal) -> None: ...


def account_of(day: str, payer: str = "") -> str:
    """The account of a day (YYYY-MM-DD), for one key or for all."""
    return f"day:{day}:{payer}" if payer else f"day:{day}"


class DayBudget:
    """Applies the operator's daily budget to models."""

    def __init__(
        self, budgets: Budgets, settings: Settings, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._budgets = budgets
        self._now = now
        self._all = (settings.day_tokens or None, Decimal(settings.day_money) or None)
        self._key = (settings.key_day_tokens or None, Decimal(settings.key_day_money) or None)

    def over(self, model: Model, entry: ModelEntry) -> Model:
        """The model, limited to the budget of the day."""
        return _Budgeted(model, entry, self) if any((*self._all, *self._key)) else model

    def in_batches(self, entry: ModelEntry) -> "BatchDay":
        return BatchDay(self, entry.in_batches)

    def now(self) -> datetime:
        return self._now()

    def reservation(self, entry: ModelEntry, request: ModelRequest, at: datetime) -> "Reservation":
        """The maximum usage of a request at the prices of `entry`, on the accounts of the day of `at`."""
        reply = min(request.max_tokens, entry.reply_tokens or request.max_tokens)
        prompt = most_prompt_tokens(request)
        day, payer = at.date().isoformat(), request.payer
        both = [(account_of(day), self._all), (account_of(day, payer), self._key if payer else (None, None))]
        accounts = [Account(name=name, tokens=most[0], money=most[1]) for name, most in both if any(most)]
        return Reservation(self._budgets, accounts, prompt + reply, entry.most(prompt, reply))


class DaySpent(Exception):
    """The request does not fit into the budget of the day; the text names the exhausted limit."""


class Reservation:
    """The worst case of a request on some accounts: taken before it is sent, corrected by its usage afterwards."""

    def __init__(self, budgets: Budgets, accounts: Sequence[Account], tokens: int, money: Decimal | None) -> None:
        self._budgets = budgets
        self._accounts = accounts
        self._tokens = tokens
        self._money = money

    @property
    def unpriced(self) -> bool:
        """Whether a limit of money cannot be kept, because the price of the request is unknown."""
        return self._money is None and any(account.money is not None for account in self._accounts)

    async def taken(self) -> ExhaustedAccount | None:
        """Reserve the worst case; returns the account that cannot pay, and then nothing is reserved."""
        return await self._budgets.reserve(self._accounts, self._tokens, self._money or Decimal(0))

    async def reserve(self) -> None:
        """Raises DaySpent."""
        if not self._accounts:
            return
        if self.unpriced:
            raise DaySpent(_UNPRICED)
        short = await self.taken()
        if short:
            whose = "this key's" if short.account == self._accounts[-1].name and len(self._accounts) > 1 else "the"
            raise DaySpent(
                f"was not called: {whose} budget of today is too small for the request; {short.tokens} tokens and"
                f" {short.money:f} are spent or reserved. The budget resets at midnight UTC"
            )

    async def settle(self, attempt: Attempt) -> None:
        """Replace the reservation by the actual usage; if it is unknown, the worst case remains."""
        free = attempt.uncharged
        total = attempt.usage.total if attempt.usage else None
        tokens = (0 if free else self._tokens) if total is None else total
        money = (Decimal(0) if free else self._money) if attempt.cost is None else Decimal(attempt.cost)
        await self._correct(0, tokens, money or Decimal(0))

    async def release(self) -> None:
        """Cancel the reservation, because nothing was sent."""
        await self._correct(-1, 0, Decimal(0))

    async def _correct(self, calls: int, tokens: int, money: Decimal) -> None:
        if self._accounts:
            reserved = self._money or Decimal(0)
            await self._budgets.settle(
                self._accounts, calls=calls, tokens=tokens - self._tokens, money=money - reserved
            )


class _Budgeted(Model):
    def __init__(self, model: Model, entry: ModelEntry, day: DayBudget) -> None:
        self._model = model
        self._entry = entry
        self._day = day

    @override
    async def ask(
        self, request: ModelRequest, record: Record, sending: Sending | None = None, listener: Listener | None = None
    ) -> Reply | Failed:
        reservation, ended = self._day.reservation(self._entry, request, self._day.now()), 0

        async def send() -> None:
            await reservation.reserve()
            if sending is None:
                return
            try:
                await sending()
            except BaseException:
                await reservation.release()
                raise

        async def settle(attempt: Attempt) -> None:
            nonlocal ended
            ended = attempt.number
            await reservation.settle(attempt)
            await record(attempt)

        try:
            return await self._model.ask(request, settle, send, listener)
        except DaySpent as spent:
            return Failed(code="budget_spent", detail=f"{self._entry.alias} {spent}", attempts=ended)


class BatchDay:
    """Counts a model's batch requests, each on the day on which it started to wait."""

    def __init__(self, day: DayBudget, entry: ModelEntry) -> None:
        self._day = day
        self._entry = entry

    async def reserve(self, request: ModelRequest) -> datetime:
        """Reserve the worst case of a request and return the time. Raises DaySpent."""
        at = self._day.now()
        try:
            await self._day.reservation(self._entry, request, at).reserve()
        except DaySpent as spent:
            raise DaySpent(f"{self._entry.alias} {spent}") from None
        return at

    async def settle(self, request: ModelRequest, at: datetime, attempt: Attempt | None) -> None:
        """Replace the reservation of `at` by the usage in the batch; None: no usage."""
        reservation = self._day.reservation(self._entry, request, at)
        await (reservation.settle(attempt) if attempt else reservation.release())
