"""Bearer keys: who calls, remembered for seconds, forgotten at once when a key is replaced."""

import asyncio
import hashlib
import hmac
import secrets
import time
from asyncio import Future, Task
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec
from playmolt_core.db.accounts import Agent
from playmolt_schemas.codes import Code
from playmolt_schemas.routes.route import Auth

from playmolt_gateway.http.problems import Refusal
from playmolt_gateway.ports import Accounts, GatewayBus

CACHED_KEYS: Final = 50_000
CACHED_SECONDS: Final = 15.0
REVISED_SECONDS: Final = 5.0
REMEMBERED_SECONDS: Final = 600.0
"""A database that is restored, or fails over, may know nothing of an agent and have no note of that."""
VOID_SECONDS: Final = 1_800.0
"""How far back void keys are asked for; the accounts keep them an hour."""
_COMMIT_SECONDS: Final = 60.0
"""How long a change may take from its note to its commit."""
LOOKUP_SECONDS: Final = 5.0
WAITING_KEYS: Final = 10_000
_PREFIX: Final = "pm_"
_BEARER: Final = b"Bearer "
_KEY_CHARS: Final = len(_PREFIX) + 43

UNKNOWN_KEY: Final = Refusal(
    Code.UNAUTHORIZED,
    "The key is unknown or no longer valid. Send `Authorization: Bearer KEY` with the key "
    "that POST /api/agents gave you.",
)
_MISSING: Final = Refusal(
    Code.UNAUTHORIZED,
    'This call needs a key: send `Authorization: Bearer KEY`. POST /api/agents {"name": …} gives you one.',
)
_OPERATOR_MISSING: Final = Refusal(
    Code.UNAUTHORIZED, "This call is the operator's: send `Authorization: Bearer KEY` with the operator's key."
)
_TWICE: Final = Refusal(Code.UNAUTHORIZED, "Authorization is empty or was sent more than once. Send one `Bearer KEY`.")
_NOT_AN_AGENT: Final = Refusal(Code.UNAUTHORIZED, "This call needs an agent's key, not the operator's.")
_OPERATOR_ONLY: Final = Refusal(Code.OPERATOR_ONLY, "This call is the operator's: send the operator's key as Bearer.")


class Caller(msgspec.Struct, frozen=True):
    """Who calls: an agent (`agent.id` not ""), the operator, the house, or anybody."""

    agent: Agent = Agent("", "")
    operator: bool = False
    house: bool = False
    """The process that fills games: it registers agents of kind house and is nobody elsewhere."""
    key_hash: str = ""

    @property
    def id(self) -> str:
        """The agent's id, "" for others."""
        return self.agent.id

    @property
    def scope(self) -> str:
        """Whose idempotency keys are meant."""
        return self.agent.id or "operator"


NOBODY: Final = Caller()


def new_key() -> str:
    return _PREFIX + secrets.token_urlsafe(32)


def hash_of(key: str | bytes) -> str:
    """What is stored and looked up instead of the key."""
    return hashlib.sha256(key.encode() if isinstance(key, str) else key).hexdigest()


class Keys:
    """Key hash → agent: a bounded cache over the accounts, one query at a time for all keys.

    What is remembered was true 15 seconds ago at most, and nothing is while NATS is away: notices of replaced keys may
    be missed. By itself a look-up costs more than an action: keys asked for while a query is under way share the next,
    and keys in use are looked up every ten minutes only. Which became void is one query for all of them.
    """

    def __init__(
        self,
        accounts: Accounts,
        bus: GatewayBus,
        *,
        size: int = CACHED_KEYS,
        seconds: float = CACHED_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._accounts = accounts
        self._bus = bus
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._known: OrderedDict[str, tuple[Agent, float]] = OrderedDict()
        self._lookups: dict[str, Future[Agent | None]] = {}
        self._waiting: list[tuple[str, Future[Agent | None]]] = []
        self._asking: Task[None] | None = None
        self._revised = clock()
        self._revise_at = 0.0
        self._revising: Task[None] | None = None

    def known(self, key_hash: str) -> Agent | None:
        """The key's agent when it is remembered; None: ask `agent`."""
        if not self._bus.connected():
            self.clear()
        elif (known := self._known.get(key_hash)) is not None:
            agent, since = known
            now = self._clock()
            if now >= self._revise_at and (self._revising is None or self._revising.done()):
                self._revise_at = now + REVISED_SECONDS
                self._revising = asyncio.create_task(self._revise(now))
            if now < min(max(since, self._revised) + self._seconds, since + REMEMBERED_SECONDS):
                self._known.move_to_end(key_hash)
                return agent
        return None

    async def _revise(self, now: float) -> None:
        """Forget the keys that became void since the last time; where that fails, all lapse in time."""
        seconds = now - self._revised + _COMMIT_SECONDS
        if seconds > VOID_SECONDS:
            self.clear()
        with suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(LOOKUP_SECONDS):
                for key_hash in await self._accounts.void_keys(min(seconds, VOID_SECONDS)):
                    self.drop(key_hash)
            self._revised = now

    async def agent(self, key_hash: str) -> Agent | None:
        """The key's agent; raises ConnectionError or TimeoutError when the accounts do not answer."""
        known = self.known(key_hash)
        if known is not None:
            return known
        lookup = self._lookups.get(key_hash) or self._look_up(key_hash)
        async with asyncio.timeout(LOOKUP_SECONDS):
            # Shielded: a client that goes away must not cancel the look-up for the others that wait for it.
            return await asyncio.shield(lookup)

    def _look_up(self, key_hash: str) -> Future[Agent | None]:
        if len(self._waiting) == WAITING_KEYS:
            raise ConnectionError(f"{WAITING_KEYS} keys wait to be looked up already")
        lookup = self._lookups[key_hash] = asyncio.get_running_loop().create_future()
        self._waiting.append((key_hash, lookup))
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        return lookup

    async def _ask(self) -> None:
        """Answer the look-ups that wait, one query after the other, until none is left."""
        while self._waiting:
            asked, self._waiting = self._waiting, []
            since = self._clock()
            try:
                async with asyncio.timeout(LOOKUP_SECONDS):
                    owners = await self._accounts.owners([key_hash for key_hash, _ in asked])
            except Exception as error:
                for key_hash, lookup in asked:
                    self._end(key_hash, lookup)
                    lookup.set_exception(error)
                    lookup.exception()  # the caller may have gone
            else:
                for key_hash, lookup in asked:
                    agent = owners.get(key_hash)
                    if self._end(key_hash, lookup):
                        self._known.pop(key_hash, None)
                        if agent and self._bus.connected():
                            self._remember(key_hash, agent, since)
                    lookup.set_result(agent)

    def _end(self, key_hash: str, lookup: Future[Agent | None]) -> bool:
        """Whether a look-up may be remembered: one of a key replaced meanwhile may be older than the commit."""
        if self._lookups.get(key_hash) is not lookup:
            return False
        del self._lookups[key_hash]
        return True

    def _remember(self, key_hash: str, agent: Agent, since: float) -> None:
        self._known[key_hash] = agent, since
        if len(self._known) > self._size:
            self._known.popitem(last=False)

    def drop(self, key_hash: str) -> None:
        self._known.pop(key_hash, None)
        self._lookups.pop(key_hash, None)

    def clear(self) -> None:
        """Forget all keys: notices may have been missed."""
        self._known.clear()
        self._lookups.clear()

    def __len__(self) -> int:
        return len(self._known)


class Authenticator:
    def __init__(self, keys: Keys, operator_key: str, house_key: str = "") -> None:
        self._keys = keys
        self._operator_key = operator_key.encode()
        self._house_key = house_key.encode()

    async def admit(self, authorization: bytes | None, auth: Auth) -> Caller | Refusal:  # noqa: PLR0911 -- a return for each kind of caller
        """The caller behind an Authorization header; a key that is sent must be valid on every route."""
        if auth is Auth.NONE:
            return NOBODY
        if authorization is None:
            return NOBODY if auth is Auth.OPTIONAL else _OPERATOR_MISSING if auth is Auth.OPERATOR else _MISSING
        if not authorization:
            return _TWICE
        scheme, _, key = authorization.partition(b" ")
        if scheme.lower() != b"bearer":
            return UNKNOWN_KEY
        caller = await self._identify(key.strip())
        if caller is None:
            return UNKNOWN_KEY
        if auth is Auth.ANY and not (caller.id or caller.operator):
            return _MISSING
        if auth is Auth.AGENT and not caller.id:
            return _NOT_AN_AGENT
        if auth is Auth.OPERATOR and not caller.operator:
            return _OPERATOR_ONLY
        return caller

    def known_agent(self, authorization: bytes | None) -> Caller | None:
        """The agent behind an Authorization header when its key is remembered; None: ask `admit`."""
        if authorization is None or not authorization.startswith(_BEARER):
            return None
        key_hash = hash_of(authorization[len(_BEARER) :])
        agent = self._keys.known(key_hash)
        return Caller(agent=agent, key_hash=key_hash) if agent else None

    async def _identify(self, key: bytes) -> Caller | None:
        if len(key) == _KEY_CHARS and key.startswith(_PREFIX.encode()):
            key_hash = hash_of(key)
            agent = await self._keys.agent(key_hash)
            if agent:
                return Caller(agent=agent, key_hash=key_hash)
        if self._is_operators(key):
            return Caller(operator=True)
        house = bool(self._house_key) and hmac.compare_digest(key, self._house_key)
        return Caller(house=True) if house else None

    def _is_operators(self, key: bytes) -> bool:
        return bool(self._operator_key) and hmac.compare_digest(key, self._operator_key)

    def is_operator(self, authorization: bytes | None) -> bool:
        """Whether an Authorization header carries the operator's key."""
        scheme, _, key = (authorization or b"").partition(b" ")
        return scheme.lower() == b"bearer" and self._is_operators(key.strip())

    async def still(self, caller: Caller) -> bool:
        return not caller.key_hash or await self._keys.agent(caller.key_hash) is not None
