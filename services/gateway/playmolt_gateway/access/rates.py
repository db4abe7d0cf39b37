"""Rate limits of keys, shared by all gateways."""

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, Literal

import msgspec
from playmolt_core.ops.connections import Headers, address_of, bucket_of
from playmolt_core.settings import DEFAULT_ACTION_RATE, DEFAULT_RATE, Settings, parse_networks, parse_rate
from playmolt_schemas.codes import Code, RateLimit
from playmolt_schemas.limits import SESSION_DAYS
from starlette.types import Scope

from playmolt_gateway.access.auth import Caller
from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.ports import Limits

Bucket = Literal["requests", "actions"]
DEFAULTS: Final[Mapping[Bucket, str]] = {"requests": DEFAULT_RATE, "actions": DEFAULT_ACTION_RATE}
_SHORTEST: Final = 0.001
_PARTS: Final = 64
"""A bucket is taken in this many parts."""
_KEYS: Final = 10_000
_DAY_SECONDS: Final = 86_400
_SESSION_RETRY_SECONDS: Final = 60


class _Prefetched(msgspec.Struct):
    """Tokens taken in advance; after `until` the bucket has refilled them."""

    left: int
    until: float


class RateLimiter:
    """Two buckets per key: actions and other requests. The operator and anonymous callers have no limit."""

    def __init__(self, settings: Settings, limits: Limits) -> None:
        self._limits = limits
        self._registration = parse_rate(settings.registration_limit)
        self._trusted = parse_networks(settings.trusted_proxies)
        self._limit_loopback = settings.limit_loopback
        self._sessions = settings.sessions_per_key
        self._day_sessions = settings.key_day_sessions
        said: dict[Bucket, str | None] = {"requests": settings.rate_limit, "actions": settings.action_rate_limit}
        self._rates = {bucket: parse_rate(DEFAULTS[bucket] if rate is None else rate) for bucket, rate in said.items()}
        self._everybody = {bucket: rate is not None or settings.limit_loopback for bucket, rate in said.items()}
        """Whether a limit also applies to callers on this machine."""
        self._ahead: OrderedDict[str, _Prefetched] = OrderedDict()

    def limited(self, bucket: Bucket, peer: str | None, headers: Headers) -> bool:
        """Whether a limit applies to callers from this address."""
        if self._rates[bucket] is None:
            return False
        return self._everybody[bucket] or not self._is_here(peer, headers)

    def _is_here(self, peer: str | None, headers: Headers) -> bool:
        address = address_of(peer, headers, self._trusted)
        return address is not None and address.is_loopback

    async def refusal(self, caller: Caller, bucket: Bucket) -> HttpProblem | None:
        """Take a token, or return the refusal. Buckets belong to the agent, so a new key shares them."""
        rate = self._rates[bucket]
        if rate is None or not caller.id:
            return None
        key, clock = f"{bucket}:{caller.id}", time.monotonic()
        ahead = self._ahead.get(key)
        if ahead is not None and ahead.left and clock < ahead.until:
            ahead.left -= 1
            return None
        return await self._take_ahead(key, rate, f"A key may send {rate[0]} {bucket}")

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
        if self._registration is None or caller.operator or caller.house:
            return None
        client = scope.get("client")
        address = address_of(client[0] if client else None, scope["headers"], self._trusted)
        if address is not None and address.is_loopback and not self._limit_loopback:
            return None
        subject = f"An address may register {self._registration[0]} agents"
        return await self._taken(f"registration:{bucket_of(address)}", self._registration, subject)

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
        if wait < _SHORTEST:
            return None
        return HttpProblem(
            Code.RATE_LIMITED,
            f"{subject} per {seconds:g} seconds. Retry in {wait:.1f} seconds.",
            ratelimit=RateLimit(key=key, limit=limit, seconds=seconds),
            retry_after=wait,
        )


def _to_midnight() -> int:
    """Seconds until the next midnight UTC."""
    return _DAY_SECONDS - int(time.time()) % _DAY_SECONDS
