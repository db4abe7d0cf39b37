"""In-memory twins of owners and their claims, which use the twin of the accounts."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from msgspec.structs import replace
from playmolt_core.db.accounts import Agent, NewAgent, Profile
from playmolt_core.db.owners import OwnedAgent, OwnerAccount, Recovered
from playmolt_core.game.decider import Refused
from playmolt_core.game.ownership import CLAIMED, NOT_OWNED
from playmolt_core.log.ownership import ClaimedAgent, ClaimFault
from playmolt_schemas.identity import slug
from playmolt_schemas.limits import OWNED_AGENTS


class Store(Protocol):
    """The part of the accounts that the twins use."""

    rows: dict[str, Profile]
    keys: dict[str, str]

    def check(self) -> None: ...


class TwinOwners:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.accounts: dict[str, OwnerAccount] = {}
        self.keys: dict[str, str] = {}
        self.codes: dict[str, str] = {}

    async def create(self, owner: OwnerAccount, key_hash: str, code_hashes: Sequence[str]) -> None:
        self._store.check()
        self.accounts[owner.id] = owner
        self.keys[key_hash] = owner.id
        self.codes |= dict.fromkeys(code_hashes, owner.id)

    async def owner(self, owner_id: str) -> OwnerAccount | None:
        self._store.check()
        return self.accounts.get(owner_id)

    async def names(self, owner_ids: Sequence[str]) -> Mapping[str, str]:
        self._store.check()
        return {one: self.accounts[one].name for one in owner_ids if one in self.accounts}

    async def contacts(self, agent_ids: Sequence[str]) -> Mapping[str, OwnerAccount]:
        self._store.check()
        owned = {one: self._store.rows[one].owner_id for one in agent_ids if one in self._store.rows}
        return {one: self.accounts[owner] for one, owner in owned.items() if owner}

    async def agents(self, owner_id: str) -> Sequence[OwnedAgent]:
        self._store.check()
        return [
            OwnedAgent(row.id, row.handle, row.name, row.version)
            for row in self._store.rows.values()
            if row.owner_id == owner_id
        ]

    async def replace_codes(self, owner_id: str, code_hashes: Sequence[str]) -> bool:
        self._store.check()
        self.codes = {code: owner for code, owner in self.codes.items() if owner != owner_id}
        self.codes |= dict.fromkeys(code_hashes, owner_id)
        return owner_id in self.accounts

    async def recover(self, owner_id: str, code_hash: str, new_hash: str) -> Recovered | None:
        self._store.check()
        if self.codes.get(code_hash) != owner_id:
            return None
        del self.codes[code_hash]
        void = next((key for key, owner in self.keys.items() if owner == owner_id), None)
        if void:
            del self.keys[void]
        self.keys[new_hash] = owner_id
        return Recovered(void, list(self.codes.values()).count(owner_id))

    async def replace_agent_key(self, owner_id: str, agent_id: str, new_hash: str) -> str | None:
        self._store.check()
        row = self._store.rows.get(agent_id)
        if row is None or row.owner_id != owner_id:
            return None
        void = next(key for key, agent in self._store.keys.items() if agent == agent_id)
        del self._store.keys[void]
        self._store.keys[new_hash] = agent_id
        return void

    async def erase(self, owner_id: str) -> str | None:
        self._store.check()
        if any(row.owner_id == owner_id for row in self._store.rows.values()):
            return None
        self.accounts.pop(owner_id, None)
        void = next((key for key, owner in self.keys.items() if owner == owner_id), "")
        self.keys.pop(void, None)
        return void


class TwinOwnership:
    def __init__(self, store: Store, owners: TwinOwners) -> None:
        self._store = store
        self._owners = owners
        self.done: dict[tuple[str, str], tuple[str, str]] = {}

    def _has_room(self, owner_id: str) -> bool:
        return (
            owner_id in self._owners.accounts
            and sum(row.owner_id == owner_id for row in self._store.rows.values()) < OWNED_AGENTS
        )

    async def create_agent(
        self, agent_id: str, new: NewAgent, key_hash: str, owner_id: str, command_id: str
    ) -> str | None:
        self._store.check()
        if not self._has_room(owner_id):
            return None
        self._store.rows[agent_id] = Profile(
            agent_id, new.name, f"{slug(new.name)}-{agent_id[-6:]}", new.kind, new.version, new.model, owner_id,
            about=new.about, created_at=datetime(2026, 1, 1, tzinfo=UTC),
        )  # fmt: skip
        self._store.keys[key_hash] = agent_id
        return self._store.rows[agent_id].handle

    async def claim(
        self, owner_id: str, key_hash: str, command_id: str, fingerprint: str
    ) -> ClaimedAgent | ClaimFault | Refused:
        self._store.check()
        bound, done = self.done.get((owner_id, command_id), (fingerprint, ""))
        if bound != fingerprint:
            return "mismatch"
        if done:
            return self._claimed(self._store.rows[done])
        row = self._store.rows.get(self._store.keys.get(key_hash, ""))
        if row is None:
            return "unknown_key"
        if row.kind == "house":
            return "house_bot"
        if row.owner_id:
            return CLAIMED
        if not self._has_room(owner_id):
            return "too_many"
        self._store.rows[row.id] = replace(row, owner_id=owner_id)
        if fingerprint:
            self.done[owner_id, command_id] = fingerprint, row.id
        return replace(self._claimed(row), key_hash=key_hash)

    @staticmethod
    def _claimed(row: Agent) -> ClaimedAgent:
        return ClaimedAgent(row.id, row.handle, row.name)

    async def release(self, owner_id: str, agent_id: str, command_id: str) -> str | Refused:
        self._store.check()
        row = self._store.rows.get(agent_id)
        if row is None or row.owner_id != owner_id:
            return NOT_OWNED
        self._store.rows[agent_id] = replace(row, owner_id=None)
        return next(key for key, agent in self._store.keys.items() if agent == agent_id)

    async def agents(self, owner_id: str) -> Sequence[str]:
        self._store.check()
        return [row.id for row in self._store.rows.values() if row.owner_id == owner_id]
