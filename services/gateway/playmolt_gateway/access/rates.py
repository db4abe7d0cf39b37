"""How often a key may call, counted over all gateways."""

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, Literal

import msgspec
from playmolt_core.ops.addresses import Headers, address_of, bucket_of
from playmolt_core.settings import DEFAULT_ACTION_RATE, DEFAULT_RATE, Settings, parse_networks, parse_rate
from playmolt_schemas.codes import Code, RateLimit
from playmolt_schemas.limits import SESSION_DAYS
from starlette.types import Scope

from playmolt_gateway.access.auth import Caller
from playmolt_gateway.http.problems import Refusal
from playmolt_gateway.ports import Limits

Bucket = Literal["requests", "actions"]
DEFAULTS: Final[Mapping[Bucket, str]] = {"requests": DEFAULT_RATE, "actions": DEFAULT_ACTION_RATE}
_SHORTEST: Final = 0.001
_PARTS: Final = 64
"""Of a bucket so many parts are asked for one by one."""
_KEYS: Final = 10_000
_DAY_SECONDS: Final = 86_400
_SESSION_RETRY_SECONDS: Final = 60


class _Ahead(msgspec.Struct):
    """Tokens that were taken and not used yet; after `until` the bucket has them again by itself."""

    left: int
    until: float


class Rates:
    """The two buckets of a key: actions, and all other requests. The operator and callers without a key have none."""

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
        """Whether a limit holds for callers on this machine, too."""
        self._ahead: OrderedDict[str, _Ahead] = OrderedDict()

    def limited(self, bucket: Bucket, peer: str | None, headers: Headers) -> bool:
        """Whether there is a limit for who calls from there."""
        if self._rates[bucket] is None:
            return False
        return self._everybody[bucket] or not self._is_here(peer, headers)

    def _is_here(self, peer: str | None, headers: Headers) -> bool:
        address = address_of(peer, headers, self._trusted)
        return address is not None and address.is_loopback

    async def refusal(self, caller: Caller, bucket: Bucket) -> Refusal | None:
        """Take one from the caller's bucket; the refusal when it is empty. A key that was exchanged has the same."""
        rate = self._rates[bucket]
        if rate is None or not caller.id:
            return None
        key, clock = f"{bucket}:{caller.id}", time.monotonic()
        ahead = self._ahead.get(key)
        if ahead is not None and ahead.left and clock < ahead.until:
            ahead.left -= 1
            return None
        return await self._take_ahead(key, rate, f"A key may send {rate[0]} {bucket}")

    async def _take_ahead(self, key: str, rate: tuple[int, float], told: str) -> Refusal | None:
        """Take a few of a large bucket at once: else every call would ask the database first."""
        limit, seconds = rate
        several = limit // _PARTS
        if several > 1 and await self._limits.take(key, limit, seconds, several) < _SHORTEST:
            self._ahead[key] = _Ahead(several - 1, time.monotonic() + seconds)
            self._ahead.move_to_end(key)
            if len(self._ahead) > _KEYS:
                self._ahead.popitem(last=False)
            return None
        return await self._taken(key, rate, told)

    async def registration_refusal(self, caller: Caller, scope: Scope) -> Refusal | None:
        """Take one from the bucket of the address that registers; the operator and the house have none."""
        if self._registration is None or caller.operator or caller.house:
            return None
        client = scope.get("client")
        address = address_of(client[0] if client else None, scope["headers"], self._trusted)
        if address is not None and address.is_loopback and not self._limit_loopback:
            return None
        told = f"An address may register {self._registration[0]} agents"
        return await self._taken(f"registration:{bucket_of(address)}", self._registration, told)

    async def session_refusal(self, caller: Caller, game: str, session: str) -> Refusal | None:
        """Keep a place for a session that the caller opens; the refusal when it has too many that are not over."""
        most = self._sessions
        full = await self._limits.open_session(caller.id, game, session, most, self._day_sessions)
        if full is None:
            return None
        if full == "day":
            return Refusal(
                Code.BUDGET_SPENT,
                f"You may open {self._day_sessions} sessions a day, and opened that many today (UTC). Come back after"
                " midnight; those that you have go on.",
                retry_after=_to_midnight(),
            )
        return Refusal(
            Code.RATE_LIMITED,
            f"You have {most} sessions of this game that are not over. End one; one that rests for "
            f"{SESSION_DAYS} days counts no longer.",
            ratelimit=RateLimit(key=f"sessions:{game}:{caller.id}", limit=most, seconds=SESSION_DAYS * _DAY_SECONDS),
            retry_after=_SESSION_RETRY_SECONDS,
        )

    async def give_session_up(self, session: str) -> None:
        """Keep no place any more for a session that was not opened."""
        await self._limits.give_session_up(session)

    async def _taken(self, key: str, rate: tuple[int, float], told: str) -> Refusal | None:
        limit, seconds = rate
        wait = await self._limits.take(key, limit, seconds, 1)
        if wait < _SHORTEST:
            return None
        return Refusal(
            Code.RATE_LIMITED,
            f"{told} in {seconds:g} seconds. Wait {wait:.1f} seconds, then go on.",
            ratelimit=RateLimit(key=key, limit=limit, seconds=seconds),
            retry_after=wait,
        )


def _to_midnight() -> int:
    """Seconds until a day of UTC ends."""
    return _DAY_SECONDS - int(time.time()) % _DAY_SECONDS
