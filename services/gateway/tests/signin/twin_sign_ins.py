"""An in-memory twin of the sign-ins and sessions in Postgres, with a clock that tests move."""

import uuid
from datetime import UTC, datetime

import msgspec
from playmolt_core.db.accounts import Owner
from playmolt_core.db.sign_ins import (
    ATTEMPT_SECONDS,
    IDLE_SECONDS,
    OWNER_ACCOUNTS,
    OWNER_SESSIONS,
    SESSION_SECONDS,
    BrowserSession,
    JoinFault,
    NewSession,
    Removal,
    SignInAccount,
    SignInAttempt,
    StoredSignIn,
)


class _Session(msgspec.Struct):
    owner: str
    account: SignInAccount
    csrf: str
    created: float
    used: float


class TwinSignIns:
    def __init__(self) -> None:
        self.attempts: dict[str, tuple[str, SignInAttempt, float]] = {}
        self.owners: dict[str, str] = {}
        self.accounts: dict[SignInAccount, str] = {}
        self.sessions: dict[str, _Session] = {}
        self.ids: dict[SignInAccount, tuple[str, datetime]] = {}
        self.keyed: set[str] = set()
        """Owners with a key."""
        self.now = 0.0
        self.failing = False

    def check(self) -> None:
        if self.failing:
            raise ConnectionError("the twin is away")

    async def begin(self, state_hash: str, browser_hash: str, attempt: SignInAttempt) -> None:
        self.check()
        self.attempts[state_hash] = browser_hash, attempt, self.now

    async def use(self, state_hash: str, browser_hash: str) -> SignInAttempt | None:
        self.check()
        browser, attempt, at = self.attempts.get(state_hash, ("", None, 0.0))
        if browser != browser_hash:
            return None
        del self.attempts[state_hash]
        return attempt if self.now - at < ATTEMPT_SECONDS else None

    async def owner_of(self, account: SignInAccount) -> str | None:
        self.check()
        return self.accounts.get(account)

    async def sign_in(self, account: SignInAccount, name: str, session: NewSession) -> str:
        self.check()
        if account not in self.accounts:
            self.accounts[account] = f"owner-{len(self.owners):08d}-0000-4000-8000-000000000000"
            self.owners[self.accounts[account]] = name
        self._open(self.accounts[account], account, session)
        return self.accounts[account]

    async def join(self, account: SignInAccount, owner_id: str, session: NewSession) -> JoinFault | None:
        self.check()
        if owner_id not in self.owners:
            return "erased"
        if self.accounts.get(account) != owner_id:
            if list(self.accounts.values()).count(owner_id) >= OWNER_ACCOUNTS:
                return "limit"
            if account in self.accounts:
                return "taken"
            self.accounts[account] = owner_id
        self._open(owner_id, account, session)
        return None

    async def of_owner(self, owner_id: str) -> list[StoredSignIn]:
        self.check()
        mine = [account for account, owner in self.accounts.items() if owner == owner_id]
        return [StoredSignIn(self.ids[account][0], account.issuer, self.ids[account][1]) for account in mine]

    async def remove(self, owner_id: str, sign_in_id: str) -> Removal:
        mine = await self.of_owner(owner_id)
        if sign_in_id not in [one.id for one in mine]:
            return "unknown"
        if len(mine) == 1 and owner_id not in self.keyed:
            return "only_way"
        account = next(account for account, (name, _) in self.ids.items() if name == sign_in_id)
        del self.accounts[account], self.ids[account]
        self.sessions = {name: one for name, one in self.sessions.items() if one.account != account}
        self.attempts = {name: one for name, one in self.attempts.items() if one[1].owner_id != owner_id}
        return "removed"

    def _open(self, owner: str, account: SignInAccount, session: NewSession) -> None:
        self.ids.setdefault(account, (str(uuid.uuid4()), datetime.now(UTC)))
        self.sessions.pop(session.replaces, None)
        mine = [key for key, one in self.sessions.items() if one.owner == owner]
        for key in sorted(mine, key=lambda key: -self.sessions[key].used)[OWNER_SESSIONS - 1 :]:
            del self.sessions[key]
        self.sessions[session.hash] = _Session(owner, account, session.csrf, self.now, self.now)

    async def session(self, session_hash: str) -> BrowserSession | None:
        self.check()
        found = self.sessions.get(session_hash)
        if not found or self.now - found.created >= SESSION_SECONDS or self.now - found.used >= IDLE_SECONDS:
            return None
        found.used = self.now
        return BrowserSession(Owner(found.owner, self.owners[found.owner]), found.csrf)

    async def end_session(self, session_hash: str) -> None:
        self.check()
        self.sessions.pop(session_hash, None)

    async def age(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds

    async def make_owner(self, owner_id: str, name: str) -> None:
        self.owners[owner_id] = name
        self.keyed.add(owner_id)
