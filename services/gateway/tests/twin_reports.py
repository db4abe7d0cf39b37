"""The in-memory twin of the reports to the operator."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from msgspec.structs import asdict, replace
from playmolt_core.db.reports import NewReport, Report, ReportDecision, ReportState


class Store(Protocol):
    """The part of the accounts that the twin uses."""

    def check(self) -> None: ...


class TwinReports:
    def __init__(self, store: Store) -> None:
        self._store = store
        self.rows: dict[str, Report] = {}
        self.done: dict[str, tuple[str, str]] = {}
        self.answers: dict[str, tuple[str, bytes]] = {}

    async def add(self, report_id: str, new: NewReport, command_id: str, fingerprint: str) -> str | None:
        self._store.check()
        if fingerprint and command_id in self.done:
            bound, known = self.done[command_id]
            return known if bound == fingerprint else None
        equal = next((one for one in self.rows.values() if one.digest == new.digest and not one.decision), None)
        row = replace(equal, count=equal.count + 1) if equal else self._first(report_id, new)
        self.rows[row.id] = row
        if fingerprint:
            self.done[command_id] = fingerprint, row.id
        return row.id

    async def answered(self, command_id: str, fingerprint: str) -> bytes | None:
        self._store.check()
        bound, answer = self.answers.setdefault(command_id, (fingerprint, b""))
        return answer if bound == fingerprint else None

    async def keep(self, command_id: str, answer: bytes) -> None:
        self._store.check()
        self.answers[command_id] = self.answers[command_id][0], answer

    @staticmethod
    def _first(report_id: str, new: NewReport) -> Report:
        at = datetime(2026, 1, 1, tzinfo=UTC)
        return Report(
            **asdict(new), id=report_id, count=1, at=at, decision=None, note=None, until=None, decided_at=None
        )

    async def report(self, report_id: str) -> Report | None:
        self._store.check()
        return self.rows.get(report_id)

    async def reports(
        self, state: ReportState | None, limit: int, cursor: str | None
    ) -> tuple[Sequence[Report], str | None]:
        self._store.check()
        decided = {"open": (False,), "decided": (True,), None: (True, False)}[state]
        found = [row for row in reversed(self.rows.values()) if (row.decision is not None) in decided]
        return found[:limit], None

    async def decide(
        self, report_id: str, decision: ReportDecision, note: str, until: datetime | None
    ) -> Report | None:
        self._store.check()
        if report_id not in self.rows:
            return None
        at = datetime(2026, 1, 2, tzinfo=UTC)
        self.rows[report_id] = replace(self.rows[report_id], decision=decision, note=note, until=until, decided_at=at)
        return self.rows[report_id]
