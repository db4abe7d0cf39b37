"""Opens panels and their juries: reads plans with the cases that a caller may use, and previews them."""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec
from playmolt_core.db.limits import PgLimits
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.games.jury_panels import PanelFault

from playmolt_jury.panels import plan as plans
from playmolt_jury.panels.api import PlannedPanel, unread_body
from playmolt_jury.panels.preview import preview, varies
from playmolt_jury.panels.process import power_of
from playmolt_jury.rules import Jury
from playmolt_jury.state import OPERATOR
from playmolt_jury.workers.uploaded_cases import UploadedCases

_NO_LIMIT: Final = 2**31 - 1
_DRY: Final = (1, "1", True, "true")


class PanelOpenings:
    """Reads the plans of calls. Every method raises LogUnavailable."""

    def __init__(
        self, jury: Jury, uploaded: UploadedCases, catalogue: Catalogue, limits: PgLimits, day_sessions: int
    ) -> None:
        self._jury = jury
        self._uploaded = uploaded
        self._catalogue = catalogue
        self._limits = limits
        self._day_sessions = day_sessions

    async def complete(self, request: ApiRequest) -> object | Refused | ApiReply:
        """The plan of a call that opens a panel; of a dry run its preview; else every fault of it."""
        found = await self._read(request)
        if isinstance(found, Refused):
            return found
        if request.query.get("dry") not in _DRY:
            await self._uploaded.use(request.stream, found.plan.case_digest)
            return found
        shown = await asyncio.to_thread(preview, self._jury, found.plan, self._catalogue)
        power = await power_of(found.plan.n) if found.plan.compare and varies(found.plan) else None
        return ApiReply(msgspec.structs.replace(shown, power=power))

    async def resumed(self, request: ApiRequest) -> object | Refused:
        """The plan of a call that resumes a panel, if it has one."""
        if not request.body or request.body == {"plan": None}:
            return None
        return await self._read(request)

    async def room(self, owner: str, stream: str, digest: str) -> str:
        """See `player.OpenSession`."""
        if self._day_sessions and owner != OPERATOR:
            full = await self._limits.open_session(owner, "jury", stream, _NO_LIMIT, self._day_sessions)
            if full:
                return (
                    f"This key has opened {self._day_sessions} sessions today (UTC), the daily maximum. Resume the"
                    " panel after midnight."
                )
        await self._uploaded.use(stream, digest)
        return ""

    async def _read(self, request: ApiRequest) -> PlannedPanel | Refused:
        if wrong := unread_body(request.body):
            return Refused(
                Code.INVALID_REQUEST, f"Fix the request body and retry. {wrong}", (FieldFault("plan", wrong),)
            )
        plan = request.body["plan"]
        usable = await self._uploaded.usable(None if request.operator else request.agent_id, plans.case_of(plan))
        found = await asyncio.to_thread(plans.read, plan, lambda _: usable, self._catalogue.aliases)
        if isinstance(found, tuple):
            return _faulty(found)
        return PlannedPanel(found, self._jury.content_version)


def _faulty(faults: Sequence[PanelFault]) -> Refused:
    listed = "; ".join(_line(fault) for fault in faults[:5])
    return Refused(Code.INVALID_FORM, f"Fix the plan and retry: {listed}.", tuple(faults))


def _line(fault: PanelFault) -> str:
    return f"{f'line {fault.line}: ' if fault.line else ''}{fault.field.removeprefix('plan.')} {fault.message}"
