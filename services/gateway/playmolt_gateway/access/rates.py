"""Rate limits of keys and addresses, shared by all gateways."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, Literal

import msgspec
from playmolt_core.ops.connections import Headers, address_of, bucket_of
from playmolt_core.settings import parse_networks, parse_rate
from playmolt_schemas.codes import Code, FieldFault, RateLimit
from playmolt_schemas.limits import RECOVERY_LOCK_SECONDS, RECOVERY_TRIES, SESSION_DAYS
from starlette.types import Scope

from playmolt_gateway.access.auth import Caller
from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.ports import UNAVAILABLE_ERRORS, Limits
from playmolt_gateway.settings import (
    DEFAULT_ACTION_RATE,
    DEFAULT_ANONYMOUS_RATE,
    DEFAULT_RATE,
    DEFAULT_REPORT_LIMIT,
    GatewaySettings,
    parse_report_limit,
)

Bucket = Literal["requests", "actions", "reads"]
DEFAULTS: Final[Mapping[Bucket, str]] = {
    "requests": DEFAULT_RATE, "actions": DEFAULT_ACTION_RATE, "reads": DEFAULT_ANONYMOUS_RATE,
}  # fmt: skip
GUESSES: Final = (20, 3600.0)
"""Invalid invite codes of one address, and in how many seconds."""
SIGN_IN_STEPS: Final = (200, 600.0)
"""Steps of sign-ins of one address, and in how many seconds; each sign-in has two. Wide enough for a class."""
_NOT_ADMITTED: Final = HttpProblem(
    Code.NOT_FOUND,
    "The invite code does not exist, is used up, has expired or was revoked. Ask for another one.",
    (FieldFault("invite_code", "is not valid"),),
)
_SHORTEST: Final = 0.001
_PARTS: Final = 64
"""A bucket is taken in this many parts."""
_KEYS: Final = 10_000
_DAY_SECONDS: Final = 86_400
_READ_SECONDS: Final = 1.0
"""The longest that a read without a key waits for its limit; after that it is served uncounted."""
_UNCOUNTED_SECONDS: Final = 5.0
"""How long reads without a key are served uncounted after the limits were unavailable."""
_SESSION_RETRY_SECONDS: Final = 60


class _Prefetched(msgspec.Struct):
    """Tokens taken in advance; after `until` the bucket has refilled them."""

    left: int
    until: float


class RateLimiter:
    """Buckets per key (actions, other requests) and per address (reads without a key). The operator has no limit."""

    def __init__(self, settings: GatewaySettings, limits: Limits) -> None:
        self._limits = limits
        self._registration = parse_rate(settings.registration_limit)
        self._visitors = parse_rate(settings.visitor_limit)
        self._recovery = parse_rate(settings.recovery_limit)
        report_limit = DEFAULT_REPORT_LIMIT if settings.report_limit is None else settings.report_limit
        self._reports_of_address, self._reports_of_key = parse_report_limit(report_limit)
        self._limit_own_reports = settings.report_limit is not None
        self._trusted = parse_networks(settings.trusted_proxies)
        self._limit_loopback = settings.limit_loopback
        self._sessions = settings.sessions_per_key
        self._day_sessions = settings.key_day_sessions
        said: dict[Bucket, str | None] = {
            "requests": settings.rate_limit,
            "actions": settings.action_rate_limit,
            "reads": settings.anonymous_limit,
        }
        self._rates = {bucket: parse_rate(DEFAULTS[bucket] if rate is None else rate) for bucket, rate in said.items()}
        self._everybody = {bucket: rate is not None or settings.limit_loopback for bucket, rate in said.items()}
        """Whether a limit also applies to callers on this machine."""
        self._ahead: OrderedDict[str, _Prefetched] = OrderedDict()
        self._empty: OrderedDict[str, float] = OrderedDict()
        """Buckets of addresses that are known to be empty, and until when: a flood costs no query per request."""
        self._uncounted_until = 0.0

    def bucket(self, scope: Scope) -> str:
        """The address by which a caller without a key is counted."""
        client = scope.get("client")
        return bucket_of(address_of(client[0] if client else None, scope["headers"], self._trusted))

    def limited(self, bucket: Bucket, peer: str | None, headers: Headers) -> bool:
        """Whether a limit applies to callers from this address."""
        if self._rates[bucket] is None:
            return False
        return self._everybody[bucket] or not self._is_here(peer, headers)

    def _is_here(self, peer: str | None, headers: Headers) -> bool:
        address = address_of(peer, headers, self._trusted)
        return address is not None and address.is_loopback

    async def refusal(self, caller: Caller, bucket: Bucket) -> HttpProblem | None:
        """Take a token, or return the refusal. Buckets belong to the agent or owner, so a new key shares them."""
        rate = self._rates[bucket]
        if rate is None or not caller.holder:
            return None
        key = f"{bucket}:{caller.holder}"
        if self._took_ahead(key):
            return None
        return await self._take_ahead(key, rate, f"A key may send {rate[0]} {bucket}")

    async def read_refusal(self, scope: Scope) -> HttpProblem | None:
        """Take a token of the address for a read without a key. Reads go on while the limits are unavailable."""
        rate = self._rates["reads"]
        client = scope.get("client")
        if rate is None or not self.limited("reads", client[0] if client else None, scope["headers"]):
            return None
        key, clock = f"reads:{self.bucket(scope)}", time.monotonic()
        if self._took_ahead(key) or clock < self._uncounted_until:
            return None
        subject = f"An address may send {rate[0]} requests without a key"
        if (wait := self._empty.get(key, 0.0) - clock) > 0:
            return _over_limit(key, rate, subject, wait)
        try:
            async with asyncio.timeout(_READ_SECONDS):
                refusal = await self._take_ahead(key, rate, subject)
        except UNAVAILABLE_ERRORS:
            self._uncounted_until = clock + _UNCOUNTED_SECONDS
            return None
        if refusal:
            self._empty[key] = time.monotonic() + refusal.retry_after
            self._empty.move_to_end(key)
            if len(self._empty) > _KEYS:
                self._empty.popitem(last=False)
        return refusal

    def _took_ahead(self, key: str) -> bool:
        ahead = self._ahead.get(key)
        if ahead is None or not ahead.left or time.monotonic() >= ahead.until:
            return False
        ahead.left -= 1
        return True

    async def _take_ahead(self, key: str, rate: tuple[int, float], subject: str) -> HttpProblem | None:
        """Take several tokens of a large bucket at once, so that most calls need no query."""
        limit, seconds = rate
        several = limit // _PARTS
        if several > 1 and await self._limits.take(key, limit, seconds, several) < _SHORTEST:
            self._ahead[key] = _Prefetched(several - 1, time.monotonic() + seconds)
            self._ahead.move_to_end(key)
            if len(self._ahead) > _KEYS:
                self._ahead.popitem(last=False)
            return None
        return await self._taken(key, rate, subject)

    async def registration_refusal(self, caller: Caller, scope: Scope) -> HttpProblem | None:
        """Take a registration token of the address; the operator and the house have no limit."""
        if self._registration is None or caller.operator or caller.house or self.exempt(scope):
            return None
        subject = f"An address may register {self._registration[0]} agents"
        return await self._taken(f"registration:{self.bucket(scope)}", self._registration, subject)

    async def owner_refusal(self, caller: Caller, scope: Scope) -> HttpProblem | None:
        """Take a token of the address for a new owner, limited as registration is."""
        if self._registration is None or caller.operator or self.exempt(scope):
            return None
        subject = f"An address may make {self._registration[0]} owners"
        return await self._taken(f"owners:{self.bucket(scope)}", self._registration, subject)

    async def recovery_refusal(self, owner: str, scope: Scope) -> HttpProblem | None:
        """Count a try to recover an owner, named by a hash: of its address, also on this machine, and of the owner."""
        if self._recovery is not None:
            subject = f"An address may try {self._recovery[0]} recoveries"
            if refusal := await self._taken(f"recovery:{self.bucket(scope)}", self._recovery, subject):
                return refusal
        key = f"recovery:{owner[:32]}"
        wait = await self._limits.guess(key, RECOVERY_TRIES, RECOVERY_LOCK_SECONDS)
        subject = f"An owner may try {RECOVERY_TRIES} wrong recovery codes"
        return None if wait < _SHORTEST else _over_limit(key, (RECOVERY_TRIES, RECOVERY_LOCK_SECONDS), subject, wait)

    async def recovered(self, owner: str) -> None:
        """Forget the tries of an owner who knew a code."""
        await self._limits.forgive(f"recovery:{owner[:32]}")

    async def visitor_refusal(self, scope: Scope) -> HttpProblem | None:
        """Take a token of the address for a new visitor."""
        if self._visitors is None or self.exempt(scope):
            return None
        subject = f"An address may get {self._visitors[0]} visitors' tokens"
        return await self._taken(f"visitors:{self.bucket(scope)}", self._visitors, subject)

    async def report_refusal(self, caller: Caller, scope: Scope) -> HttpProblem | None:
        """Take a token for a report: of the key, or of the address without one. A visitor counts as its address."""
        if caller.operator or caller.house or (not self._limit_own_reports and self.exempt(scope)):
            return None
        keyed = bool(caller.holder) and not caller.visitor
        rate = self._reports_of_key if keyed else self._reports_of_address
        if rate is None:
            return None
        subject = f"{'A key' if keyed else 'An address without a key'} may send {rate[0]} reports"
        return await self._taken(f"reports:{caller.holder if keyed else self.bucket(scope)}", rate, subject)

    async def sign_in_refusal(self, scope: Scope) -> HttpProblem | None:
        """Take a token of the address for a step of a sign-in: to the provider, or back."""
        if self.exempt(scope):
            return None
        subject = f"An address may take {SIGN_IN_STEPS[0]} steps of sign-ins"
        return await self._taken(f"sign-ins:{self.bucket(scope)}", SIGN_IN_STEPS, subject)

    def exempt(self, scope: Scope) -> bool:
        """Whether limits by address do not apply to a request: it comes from this machine."""
        client = scope.get("client")
        return not self._limit_loopback and self._is_here(client[0] if client else None, scope["headers"])

    async def guess_refusal(self, scope: Scope) -> HttpProblem | None:
        """The refusal if the address has sent too many invalid invite codes, also from this machine."""
        key = f"invites:{self.bucket(scope)}"
        wait = await self._limits.wait(key, *GUESSES)
        subject = f"An address may send {GUESSES[0]} invalid invite codes"
        return None if wait < _SHORTEST else _over_limit(key, GUESSES, subject, wait)

    async def not_admitted(self, scope: Scope) -> HttpProblem:
        """Count an invalid invite code and refuse it."""
        await self._limits.take(f"invites:{self.bucket(scope)}", *GUESSES, 1)
        return _NOT_ADMITTED

    async def session_refusal(self, caller: Caller, game: str, session: str) -> HttpProblem | None:
        """Reserve a place for a new session, or return the refusal when the quota is exhausted."""
        most = self._sessions
        full = await self._limits.open_session(caller.id, game, session, most, self._day_sessions)
        if full is None:
            return None
        if full == "day":
            return HttpProblem(
                Code.BUDGET_SPENT,
                f"You have opened {self._day_sessions} sessions today (UTC), the daily maximum. Retry after midnight; "
                "your open sessions are not affected.",
                retry_after=_to_midnight(),
            )
        return HttpProblem(
            Code.RATE_LIMITED,
            f"You have {most} open sessions of this game, the maximum. End one; a session without activity for "
            f"{SESSION_DAYS} days no longer counts.",
            ratelimit=RateLimit(key=f"sessions:{game}:{caller.id}", limit=most, seconds=SESSION_DAYS * _DAY_SECONDS),
            retry_after=_SESSION_RETRY_SECONDS,
        )

    async def give_session_up(self, session: str) -> None:
        """Release the place of a session that was not opened."""
        await self._limits.give_session_up(session)

    async def _taken(self, key: str, rate: tuple[int, float], subject: str) -> HttpProblem | None:
        limit, seconds = rate
        wait = await self._limits.take(key, limit, seconds, 1)
        return None if wait < _SHORTEST else _over_limit(key, rate, subject, wait)


def _over_limit(key: str, rate: tuple[int, float], subject: str, wait: float) -> HttpProblem:
    limit, seconds = rate
    return HttpProblem(
        Code.RATE_LIMITED,
        f"{subject} per {seconds:g} seconds. Retry in {max(0.1, wait):.1f} seconds.",
        ratelimit=RateLimit(key=key, limit=limit, seconds=seconds),
        retry_after=wait,
    )


def _to_midnight() -> int:
    """Seconds until the next midnight UTC."""
    return _DAY_SECONDS - int(time.time()) % _DAY_SECONDS
