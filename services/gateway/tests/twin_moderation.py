"""The in-memory twin of the operator's decisions."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from playmolt_core.db.moderation import Ban, Decision, DecisionRecord, Notice
from playmolt_core.game.decider import Refused
from playmolt_core.log.moderation import NO_SUBJECT

_EVENTS = {
    ("hide", "speech"): "speech_hidden", ("restore", "speech"): "speech_restored", ("hide", "name"): "name_hidden",
    ("rename", "name"): "renamed", ("rename", "agent"): "renamed", ("restore", "name"): "name_restored",
    ("ban", "agent"): "banned", ("ban", "owner"): "banned", ("restore", "agent"): "unbanned",
    ("restore", "owner"): "unbanned",
}  # fmt: skip


class Store(Protocol):
    """The part of the accounts that the twin uses."""

    def check(self) -> None: ...

    def exists(self, subject: str) -> bool: ...


class TwinModeration:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.decisions: list[Decision] = []
        self.in_force: dict[str, Ban] = {}
        self.withheld: set[tuple[str | None, int | None, str]] = set()
        self.by_subject: list[tuple[str, Notice]] = []

    async def decide(self, decision: Decision) -> DecisionRecord | Refused:
        self._store.check()
        subject = decision.agent_id or decision.owner_id or ""
        if decision.field != "speech" and not self._store.exists(subject):
            return NO_SUBJECT
        place = decision.game_id, decision.version, subject
        is_ban = decision.kind == "ban" or (decision.kind == "restore" and decision.field in ("agent", "owner"))
        if decision.kind == "restore" and (subject not in self.in_force if is_ban else place not in self.withheld):
            return DecisionRecord("moderation-1", 0)
        self.decisions.append(decision)
        if decision.kind == "ban":
            self.in_force[subject] = Ban(subject, decision.until)
        elif is_ban:
            del self.in_force[subject]
        elif decision.kind == "restore":
            self.withheld.discard(place)
        else:
            self.withheld.add(place)
        kind = _EVENTS[decision.kind, decision.field]
        self.by_subject.insert(0, (subject, Notice(kind, decision.game_id, decision.until, decision.note, decision.at)))
        return DecisionRecord("moderation-1", len(self.decisions))

    async def bans(self, subjects: Sequence[str]) -> Mapping[str, Ban]:
        self._store.check()
        now = datetime.now(UTC)
        bans = {subject: self.in_force[subject] for subject in subjects if subject in self.in_force}
        return {subject: ban for subject, ban in bans.items() if ban.until is None or ban.until > now}

    async def revision(self) -> int:
        self._store.check()
        return len(self.decisions)

    async def changed(self, ids: Sequence[str]) -> Mapping[str, datetime]:
        self._store.check()
        found = {one.game_id or one.agent_id or "": one.at for one in self.decisions}
        return {subject: found[subject] for subject in ids if subject in found}

    async def notices(self, subjects: Sequence[str], limit: int) -> Sequence[Notice]:
        self._store.check()
        return [notice for subject, notice in self.by_subject if subject in subjects][:limit]
