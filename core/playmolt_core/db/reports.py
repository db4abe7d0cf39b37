"""Reports of names, speeches, agents and owners, and what was decided about them: the gateway's own schema."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal, get_args

import msgspec
from playmolt_schemas.canonical import digest
from playmolt_schemas.limits import REPORT_DAYS

from playmolt_core.db.cursors import BadCursor, read_cursor, write_cursor
from playmolt_core.db.pool import Pool, queries

_SQL = queries("reports")
_NEWEST = (datetime(2000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC))
"""A time between these is valid in any time zone; a report is between them."""

ReportKind = Literal["name", "speech", "agent", "owner"]
ReportDecision = Literal["dismiss", "hide", "rename", "ban", "restore"]
ReportState = Literal["open", "decided"]
STATES = get_args(ReportState)


class NewReport(msgspec.Struct, frozen=True, kw_only=True):
    """What is reported, and why. Of a speech, `agent_id` is who said it, if one agent did."""

    kind: ReportKind
    game_id: str | None = None
    version: int | None = None
    agent_id: str | None = None
    owner_id: str | None = None
    reason: str

    @property
    def digest(self) -> bytes:
        """The same for reports of the same thing for the same reason, whatever game its name was seen in."""
        place = [] if self.kind != "speech" and (self.agent_id or self.owner_id) else [self.game_id, self.version]
        return bytes.fromhex(digest([self.kind, *place, self.agent_id, self.owner_id, self.reason]))


class Report(NewReport, frozen=True, kw_only=True):
    """A stored report. `count` is the number of equal ones, `at` the time of the first."""

    id: str
    count: int
    at: datetime
    decision: ReportDecision | None
    note: str | None
    until: datetime | None
    decided_at: datetime | None


class _ReportPlace(msgspec.Struct):
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    id: str


class PgReports:
    """Reports in Postgres. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def add(self, report_id: str, new: NewReport, command_id: str, fingerprint: str) -> str | None:
        """Store a report, or count it with its equals, and return the id of the row.

        A repeated command changes nothing and returns the same id; None if its command id belongs to another body.
        """
        async with self._pool.transaction() as connection:
            if fingerprint:
                await connection.execute(_SQL["bind"], command_id, fingerprint)
                bound = await connection.fetchrow(_SQL["bound"], command_id)
                if bound is None or bound[0] != fingerprint:
                    return None
                if bound[1] is not None:
                    return str(bound[1])
            found = await connection.fetchval(
                _SQL["add"], report_id, new.digest, new.kind, new.game_id, new.version, new.agent_id, new.owner_id,
                new.reason,
            )  # fmt: skip
            if fingerprint:
                await connection.execute(_SQL["note"], command_id, found)
            return str(found)

    async def report(self, report_id: str) -> Report | None:
        row = await self._pool.row(_SQL["report"], report_id)
        return Report(**row) if row else None

    async def reports(
        self, state: ReportState | None, limit: int, cursor: str | None
    ) -> tuple[Sequence[Report], str | None]:
        """A page of the reports, newest first, and the cursor of the next; raises BadCursor."""
        place = _ReportPlace(_NEWEST[1], "") if cursor is None else read_cursor(cursor, _ReportPlace)
        if cursor is not None and not _NEWEST[0] < place.at < _NEWEST[1]:
            raise BadCursor("is invalid; use next_cursor of the previous page, unchanged")
        decided = None if state is None else state == "decided"
        rows = await self._pool.fetch(_SQL["reports"], limit + 1, place.at, place.id, decided)
        page = [Report(**row) for row in rows[:limit]]
        more = len(rows) > limit > 0
        return page, write_cursor(_ReportPlace(page[-1].at, page[-1].id)) if more else None

    async def decide(
        self, report_id: str, decision: ReportDecision, note: str, until: datetime | None
    ) -> Report | None:
        """Store what was decided; None if the report does not exist."""
        row = await self._pool.row(_SQL["decide"], report_id, decision, note, until)
        return Report(**row) if row else None

    async def answered(self, command_id: str, fingerprint: str) -> bytes | None:
        """Bind a command id to its body; returns the answer that `keep` stored, b"" before. None if it is bound to
        another body."""
        async with self._pool.connection() as connection:
            await connection.execute(_SQL["bind"], command_id, fingerprint)
            bound = await connection.fetchrow(_SQL["answered"], command_id)
        return None if bound is None or bound[0] != fingerprint else bytes(bound[1] or b"")

    async def keep(self, command_id: str, answer: bytes) -> None:
        """Store the answer to a command that `answered` bound."""
        await self._pool.value(_SQL["keep"], command_id, answer)

    async def sweep(self) -> int:
        """Delete the reports that were decided `REPORT_DAYS` ago and return their number."""
        return int(await self._pool.value(_SQL["sweep"], REPORT_DAYS))
