"""Reads panels: their reports, and the list of their juries."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Final

from playmolt_core.engine.reads.api_queries import Without
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.game.fold import Snapshot
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import ERASED, GameReader, StreamReader
from playmolt_core.ops.telemetry import log
from playmolt_core.vault.vault import Erased
from playmolt_schemas.api import ErasedSession
from playmolt_schemas.codes import Code
from playmolt_schemas.games.jury import JurySessions
from playmolt_schemas.games.jury_panels import PanelJury, PendingPanelReport
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.routes.jury import NO_PANELS
from playmolt_schemas.routes.route import HTML, JSON, PARQUET
from playmolt_schemas.stored.panels import JuryPlayed, PanelPlace, PanelPlan

from playmolt_jury.panels.api import owns
from playmolt_jury.panels.preview import varies, warnings
from playmolt_jury.panels.process import ReportFailed, rendered
from playmolt_jury.panels.report import ReportSource
from playmolt_jury.panels.rules import AT_ONCE, NO_PANEL, Panel, places, session_of, sessions_of
from playmolt_jury.panels.state import PanelState, name_of
from playmolt_jury.rules import Jury

_log = log("panel_reports")
_MEDIA: Final = {"json": JSON, "html": HTML, "parquet": PARQUET}
_KEPT: Final = 8
_SHOWN_SECONDS: Final = 2.0
"""How long a call waits for its report; then the answer is 202."""
_PANELS: Final = 100
"""The newest panels of a key whose juries its list of sessions can leave out."""
ReadPanel = Callable[[str], Awaitable[Snapshot[PanelState] | None]]


class PanelReports:
    """Serves `panel_report` after the API has granted access. A report is made again when the panel has gone on."""

    def __init__(self, panel: Panel, jury: Jury, log: StreamReader, catalogue: Catalogue) -> None:
        self._panel = panel
        self._jury = jury
        self._log = log
        self._catalogue = catalogue
        self._made: OrderedDict[tuple[str, int, str], asyncio.Task[bytes]] = OrderedDict()

    async def __call__(self, state: PanelState, request: ApiRequest) -> ApiReply | Refused:
        form = str(request.query.get("format", "json"))
        key = (state.game_id, state.version, form)
        if key not in self._made:
            self._made[key] = asyncio.create_task(self._report(state, form))
            while len(self._made) > _KEPT:
                self._made.popitem(last=False)
        making = self._made[key]
        await asyncio.wait({making}, timeout=_SHOWN_SECONDS)
        if not making.done():
            return ApiReply(PendingPanelReport(), 202)
        try:
            return ApiReply(making.result(), content_type=_MEDIA[form])
        except ReportFailed as failed:
            del self._made[key]
            _log.error("report_failed", panel=state.game_id, detail=str(failed))
            return Refused(Code.UNAVAILABLE, "The report could not be made; see the engine's log. Retry.")

    async def _report(self, state: PanelState, form: str) -> bytes:
        """Raises ReportFailed."""
        source = await self._source(state)
        if source is None:
            raise ReportFailed("the panel is not in the log")
        return await rendered(source, form)

    async def _source(self, state: PanelState) -> ReportSource | None:
        stored = await self._log.facts(state.game_id)
        plan = state.plan
        if stored is None or plan is None:
            return None
        events = [event for event, _ in facts_of(self._panel, stored)]
        found = self._jury.cases.of(plan.case_digest)
        material = found.materials[plan.language] if found else None
        return ReportSource(
            panel=state.game_id,
            plan=plan,
            title=material.title if material else plan.case,
            titles={item.id: item.title for item in material.evidence} if material else {},
            names={juror.id: juror.name for juror in material.jurors} if material else {},
            varies=varies(plan),
            warnings=tuple(warnings(plan, self._catalogue, plan.language)),
            stopped=state.stopped,
            spent=state.spent,
            juries=tuple(event for event in events if isinstance(event, JuryPlayed)),
        )


class PanelJuries:
    """Serves `GET /api/jury/sessions?panel=ID`: the juries of a panel that were opened, in the order of play. With
    `panel=none` they are left out of the caller's own sessions."""

    def __init__(self, read: ReadPanel, log: GameReader) -> None:
        self._read = read
        self._log = log

    async def __call__(self, _: object, request: ApiRequest) -> ApiReply | Refused | Without | None:
        """None without `panel`: then all sessions of the caller are listed."""
        panel = request.query.get("panel")
        if not panel:
            return None
        if panel == NO_PANELS:
            return Without(frozenset([one async for one in self._juries_of(request)]))
        found = await self._read(str(panel))
        if found is None or found.state.plan is None or not owns(found.state, request):
            return NO_PANEL
        rows = tuple(_rows(found.state, found.state.plan))
        known = await self._log.versions(row.id for row in rows)
        gone = [row.id for row in rows if known.get(row.id) == ERASED]
        erased = dict(zip(gone, await asyncio.gather(*map(self._erased, gone)), strict=True))
        return ApiReply(JurySessions(tuple(erased.get(row.id) or row for row in rows)))

    async def _erased(self, stream: str) -> ErasedSession | None:
        """The row of a jury that was erased."""
        try:
            await self._log.load(stream)
        except Erased as erased:
            return ErasedSession(id=stream, erased_at=rfc3339(erased.at)) if erased.at else None
        return None

    async def _juries_of(self, request: ApiRequest) -> AsyncIterator[str]:
        """The juries of the caller's panels, also those that may not have been opened."""
        owner = None if request.operator else request.agent_id
        for each in await self._log.games("panel", phase=None, before=None, limit=_PANELS, opened_by=owner):
            found = await self._read(each.stream)
            if found is not None and found.state.plan is not None:
                for session in sessions_of(found.state, found.state.plan):
                    yield session


def _rows(state: PanelState, plan: PanelPlan) -> Iterator[PanelJury]:
    opened = 0
    for place in places(state.game_id, plan):
        played = state.played.get(name_of(place.number, place.script))
        if played is not None:
            over = played.outcome
            yield PanelJury(
                id=played.session, panel=place, phase="aborted" if over == "missing" else "ended",
                verdict=None if over == "missing" else over,
            )  # fmt: skip
        elif _may_be_open(state, place, opened):
            opened += 1
            yield PanelJury(id=session_of(place), panel=place, phase="running", verdict=None)


def _may_be_open(state: PanelState, place: PanelPlace, opened: int) -> bool:
    if state.status == "running":
        return opened < AT_ONCE
    return name_of(place.number, place.script) in state.aside
