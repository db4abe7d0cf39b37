"""Bearer keys: callers, cached for seconds and dropped at once when a key is replaced."""

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from asyncio import Future, Task
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec
from playmolt_core.db.accounts import Agent, Owner
from playmolt_core.db.moderation import Ban
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.routes.route import Auth

from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.ports import Accounts, GatewayBus, Moderation

CACHED_KEYS: Final = 50_000
CACHED_SECONDS: Final = 15.0
REVISED_SECONDS: Final = 5.0
REMEMBERED_SECONDS: Final = 600.0
"""Maximum age: after a restore or failover the database may lack an agent and any record of its removal."""
VOID_SECONDS: Final = 1_800.0
"""How far back void keys are queried; the accounts keep them for an hour."""
_COMMIT_SECONDS: Final = 60.0
"""The longest time from the record of a change to its commit."""
LOOKUP_SECONDS: Final = 5.0
WAITING_KEYS: Final = 10_000
VISITOR_PREFIX: Final = "visitor-"
"""The beginning of a visitor's id."""
_PREFIX: Final = "pm_"
_OWNER_PREFIX: Final = "pmo_"
_BEARER: Final = b"Bearer "
_SUBJECTS: Final = ("agent-", "owner-")
_KEY: Final = re.compile(rb"pmo?_[A-Za-z0-9_-]{43}")


class Holder(msgspec.Struct, frozen=True):
    """Who a key belongs to, and the ban that applies to it; a visitor is an agent of a kind."""

    account: Agent | Owner
    ban: Ban | None = None

    @property
    def banned(self) -> bool:
        """Whether a ban is in force now."""
        return self.ban is not None and (self.ban.until is None or self.ban.until > datetime.now(UTC))


def subjects_of(account: Agent | Owner) -> tuple[str, ...]:
    """The account itself, and the owner of an agent."""
    owner_id = account.owner_id if isinstance(account, Agent) else None
    return (account.id, owner_id) if owner_id else (account.id,)


UNKNOWN_KEY: Final = HttpProblem(
    Code.UNAUTHORIZED,
    "The key is unknown or no longer valid. Send `Authorization: Bearer KEY` with your key from POST /api/agents.",
)
_MISSING: Final = HttpProblem(
    Code.UNAUTHORIZED,
    'This route requires a key: send `Authorization: Bearer KEY`. Get one with POST /api/agents {"name": …}.',
)
_OPERATOR_MISSING: Final = HttpProblem(
    Code.UNAUTHORIZED, "This route is for the operator: send `Authorization: Bearer KEY` with the operator key."
)
_TWICE: Final = HttpProblem(
    Code.UNAUTHORIZED, "Authorization is empty or was sent more than once. Send one `Bearer KEY`."
)
_NOT_AN_AGENT: Final = HttpProblem(Code.UNAUTHORIZED, "This route requires an agent's key, not the operator key.")
_VISITOR: Final = HttpProblem(
    Code.UNAUTHORIZED,
    "A visitor's token opens legal and jury sessions only. Register an agent with POST /api/agents.",
)
_OWNER_MISSING: Final = HttpProblem(
    Code.UNAUTHORIZED,
    'This route requires an owner\'s key: send `Authorization: Bearer KEY`. Get one with POST /api/owners {"name": …}.',
)
UNKNOWN_OWNER: Final = HttpProblem(
    Code.UNAUTHORIZED, "The key is unknown or no longer valid. Recover it with POST /api/owners/recover."
)
_OWNERS_KEY: Final = HttpProblem(
    Code.NOT_A_PARTICIPANT,
    "An owner's key takes no seat. Send the key of one of your agents; see GET /api/owners/me.",
)
_NO_SESSIONS: Final = HttpProblem(
    Code.UNAUTHORIZED, "This route requires an agent's key or a visitor's token, not an owner's key."
)
_ORGANIZER_ONLY: Final = HttpProblem(
    Code.OPERATOR_ONLY, "This route is for the operator and for owners. Join tournaments: GET /api/tournaments."
)
_OPERATOR_ONLY: Final = HttpProblem(
    Code.OPERATOR_ONLY, "This route is for the operator: send the operator key as Bearer."
)


class Caller(msgspec.Struct, frozen=True):
    """An agent (`agent.id` is not ""), an owner, the operator, the house, or an anonymous caller."""

    agent: Agent = Agent("", "")
    owner: Owner | None = None
    operator: bool = False
    house: bool = False
    """The process that fills games. It may register house agents and list games to fill."""
    key_hash: str = ""
    ban: Ban | None = None
    """The ban in force, on the routes that answer to the banned."""

    @property
    def banned(self) -> bool:
        return self.ban is not None

    @property
    def id(self) -> str:
        """The agent's id, or ""."""
        return self.agent.id

    @property
    def visitor(self) -> bool:
        """Whether it is a person with a token, who owns sessions and has no agent."""
        return self.agent.id.startswith(VISITOR_PREFIX)

    @property
    def scope(self) -> str:
        """The scope of idempotency keys."""
        return self.holder or "operator"

    @property
    def holder(self) -> str:
        """The id of the agent or owner that the key belongs to, or ""."""
        return self.owner.id if self.owner else self.agent.id


ANONYMOUS: Final = Caller()


def banned(ban: Ban | None, owner: Owner | None) -> HttpProblem:
    """The refusal of a banned agent or owner."""
    until = rfc3339(ban.until) if ban and ban.until else None
    who, mine = ("owner", "/api/owners/me") if owner else ("agent", "/api/agents/me")
    ends = f"until {until}" if until else "for good"
    return HttpProblem(Code.BANNED, f"This {who} is banned {ends}. See why in `notices` of GET {mine}.", until=until)


def new_key() -> str:
    return _PREFIX + secrets.token_urlsafe(32)


def new_owner_key() -> str:
    return _OWNER_PREFIX + secrets.token_urlsafe(32)


def hash_of(key: str | bytes) -> str:
    """The hash that is stored and queried instead of the key."""
    return hashlib.sha256(key.encode() if isinstance(key, str) else key).hexdigest()


class KeyCache:
    """A bounded cache of key hash → agent or owner over the accounts, with one query at a time.

    Entries are at most 15 seconds stale. The cache is empty while NATS is disconnected, because notices of replaced
    keys may be lost. A lookup costs more than an action, so keys requested during a query share the next one, keys in
    use are looked up every ten minutes only, and one query finds all keys that became void.
    """

    def __init__(
        self,
        accounts: Accounts,
        bus: GatewayBus,
        moderation: Moderation,
        *,
        size: int = CACHED_KEYS,
        seconds: float = CACHED_SECONDS,
        lookup_seconds: float = LOOKUP_SECONDS,
        waiting_keys: int = WAITING_KEYS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._accounts = accounts
        self._bus = bus
        self._moderation = moderation
        self._size = size
        self._seconds = seconds
        self._lookup_seconds = lookup_seconds
        self._waiting_keys = waiting_keys
        self._clock = clock
        self._known: OrderedDict[str, tuple[Holder, float]] = OrderedDict()
        self._lookups: dict[str, Future[Holder | None]] = {}
        self._waiting: list[tuple[str, Future[Holder | None]]] = []
        self._asking: Task[None] | None = None
        self._revised = clock()
        self._revise_at = 0.0
        self._revising: Task[None] | None = None

    def known(self, key_hash: str) -> Holder | None:
        """The holder of the key if it is cached; otherwise call `holder`."""
        if not self._bus.connected():
            self.clear()
        elif (known := self._known.get(key_hash)) is not None:
            holder, since = known
            now = self._clock()
            if now >= self._revise_at and (self._revising is None or self._revising.done()):
                self._revise_at = now + REVISED_SECONDS
                self._revising = asyncio.create_task(self._revise(now))
            if now < min(max(since, self._revised) + self._seconds, since + REMEMBERED_SECONDS):
                self._known.move_to_end(key_hash)
                return holder
        return None

    async def _revise(self, now: float) -> None:
        """Drop the keys that became void since the last check; if this fails, all entries expire."""
        seconds = now - self._revised + _COMMIT_SECONDS
        if seconds > VOID_SECONDS:
            self.clear()
        with suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(self._lookup_seconds):
                for key_hash in await self._accounts.void_keys(min(seconds, VOID_SECONDS)):
                    self.drop(key_hash)
            self._revised = now

    async def holder(self, key_hash: str) -> Holder | None:
        """Who the key belongs to; raises ConnectionError or TimeoutError when the accounts are unavailable."""
        known = self.known(key_hash)
        if known is not None:
            return known
        lookup = self._lookups.get(key_hash) or self._look_up(key_hash)
        async with asyncio.timeout(self._lookup_seconds):
            # Shielded: a client that disconnects must not cancel the lookup for the others waiting for it.
            return await asyncio.shield(lookup)

    def _look_up(self, key_hash: str) -> Future[Holder | None]:
        if len(self._waiting) == self._waiting_keys:
            raise ConnectionError(f"too many key lookups are waiting ({self._waiting_keys})")
        lookup = self._lookups[key_hash] = asyncio.get_running_loop().create_future()
        self._waiting.append((key_hash, lookup))
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        return lookup

    async def _ask(self) -> None:
        """Answer the waiting lookups, one query at a time, until none is left."""
        while self._waiting:
            asked, self._waiting = self._waiting, []
            since = self._clock()
            try:
                async with asyncio.timeout(self._lookup_seconds):
                    holders = await self._found([key_hash for key_hash, _ in asked])
            except Exception as error:
                for key_hash, lookup in asked:
                    self._end(key_hash, lookup)
                    lookup.set_exception(error)
                    lookup.exception()  # its caller may be gone; avoids "never retrieved"
            else:
                for key_hash, lookup in asked:
                    holder = holders.get(key_hash)
                    if self._end(key_hash, lookup):
                        self._known.pop(key_hash, None)
                        if holder and self._bus.connected():
                            self._remember(key_hash, holder, since)
                    lookup.set_result(holder)

    async def _found(self, key_hashes: Sequence[str]) -> Mapping[str, Holder]:
        accounts = await self._accounts.callers(key_hashes)
        subjects = {subject for account in accounts.values() for subject in subjects_of(account)}
        bans = await self._moderation.bans(sorted(subjects)) if subjects else {}
        return {
            key_hash: Holder(account, last_ban(bans.get(subject) for subject in subjects_of(account)))
            for key_hash, account in accounts.items()
        }

    def _end(self, key_hash: str, lookup: Future[Holder | None]) -> bool:
        """Whether a lookup may be cached: if the key was dropped meanwhile, its result may predate the change."""
        if self._lookups.get(key_hash) is not lookup:
            return False
        del self._lookups[key_hash]
        return True

    def _remember(self, key_hash: str, holder: Holder, since: float) -> None:
        self._known[key_hash] = holder, since
        if len(self._known) > self._size:
            self._known.popitem(last=False)

    def drop(self, key_hash: str) -> None:
        self._known.pop(key_hash, None)
        self._lookups.pop(key_hash, None)

    def forget(self, changed: str) -> None:
        """Drop what changed: a key by its hash, or all keys of an agent, or of an owner and its agents."""
        if not changed.startswith(_SUBJECTS):
            self.drop(changed)
            return
        self._lookups.clear()  # whose they are is not known yet
        for key_hash in [key for key, (holder, _) in self._known.items() if changed in subjects_of(holder.account)]:
            del self._known[key_hash]

    def clear(self) -> None:
        """Drop all keys: notices may have been lost."""
        self._known.clear()
        self._lookups.clear()

    def __len__(self) -> int:
        return len(self._known)


def last_ban(bans: Iterable[Ban | None]) -> Ban | None:
    """The ban that ends last; None without one."""
    found = [ban for ban in bans if ban is not None]
    return max(found, key=lambda ban: (ban.until is None, ban.until or datetime.now(UTC)), default=None)


class Authenticator:
    def __init__(self, keys: KeyCache, operator_key: str, house_key: str = "") -> None:
        self._keys = keys
        self._operator_key = operator_key.encode()
        self._house_key = house_key.encode()

    async def admit(self, authorization: bytes | None, auth: Auth, *, for_banned: bool = False) -> Caller | HttpProblem:
        """The caller of a request. A key that is sent must be valid, even where none is required.

        `for_banned`: whether the route answers to a banned agent or owner.
        """
        if auth is Auth.NONE:
            return ANONYMOUS
        if authorization is None:
            return ANONYMOUS if auth is Auth.OPTIONAL else _WITHOUT_KEY.get(auth, _MISSING)
        if not authorization:
            return _TWICE
        scheme, _, key = authorization.partition(b" ")
        if scheme.lower() != b"bearer":
            return UNKNOWN_KEY
        caller = await self._identify(key.strip())
        if caller is not None and caller.banned and not for_banned:
            return banned(caller.ban, caller.owner)
        return UNKNOWN_KEY if caller is None else _refusal_of(caller, auth) or caller

    def known_agent(self, authorization: bytes | None) -> Caller | None:
        """The agent of an Authorization header if its key is cached and it is not banned; otherwise call `admit`."""
        if authorization is None or not authorization.startswith(_BEARER):
            return None
        key_hash = hash_of(authorization[len(_BEARER) :])
        holder = self._keys.known(key_hash)
        if holder is None or holder.banned or isinstance(holder.account, Owner):
            return None
        return Caller(agent=holder.account, key_hash=key_hash)

    async def _identify(self, key: bytes) -> Caller | None:
        if _KEY.fullmatch(key):
            key_hash = hash_of(key)
            holder = await self._keys.holder(key_hash)
            if holder:
                ban = holder.ban if holder.banned else None
                if isinstance(holder.account, Owner):
                    return Caller(owner=holder.account, key_hash=key_hash, ban=ban)
                return Caller(agent=holder.account, key_hash=key_hash, ban=ban)
        if self._is_operators(key):
            return Caller(operator=True)
        house = bool(self._house_key) and hmac.compare_digest(key, self._house_key)
        return Caller(house=True) if house else None

    def _is_operators(self, key: bytes) -> bool:
        return bool(self._operator_key) and hmac.compare_digest(key, self._operator_key)

    def is_operator(self, authorization: bytes | None) -> bool:
        """Whether an Authorization header has the operator key."""
        scheme, _, key = (authorization or b"").partition(b" ")
        return scheme.lower() == b"bearer" and self._is_operators(key.strip())

    async def refusal(self, caller: Caller) -> HttpProblem | None:
        """Why the caller of a request that waits would be refused now: its key was replaced, or it was banned."""
        if not caller.key_hash:
            return None
        holder = await self._keys.holder(caller.key_hash)
        if holder is None:
            return UNKNOWN_KEY
        return banned(holder.ban, caller.owner) if holder.banned else None


_WITHOUT_KEY: Final = {
    Auth.OPERATOR: _OPERATOR_MISSING,
    Auth.ORGANIZER: _OPERATOR_MISSING,
    Auth.OWNER: _OWNER_MISSING,
}
"""The refusals of requests without a key, where they differ from `_MISSING`."""


def _refusal_of(caller: Caller, auth: Auth) -> HttpProblem | None:  # noqa: PLR0911 -- a return for each kind of key
    """Why a valid key does not open a route."""
    if auth is Auth.ANY and not (caller.id or caller.operator):
        return _MISSING
    if auth is Auth.OWNER and caller.owner is None:
        return _OWNER_MISSING
    if auth is Auth.AGENT and caller.owner:
        return _OWNERS_KEY
    if auth is Auth.SESSION and caller.owner:
        return _NO_SESSIONS
    if auth in (Auth.AGENT, Auth.SESSION) and not caller.id:
        return _NOT_AN_AGENT
    if auth is Auth.AGENT and caller.visitor:
        return _VISITOR
    if auth is Auth.ORGANIZER and not (caller.operator or caller.owner):
        return _ORGANIZER_ONLY
    if auth is Auth.OPERATOR and not caller.operator:
        return _OPERATOR_ONLY
    return None
