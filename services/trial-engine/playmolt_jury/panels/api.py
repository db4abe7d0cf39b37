"""The routes of a panel: which command a call becomes, and how it is answered."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from playmolt_core.game.api import ApiReply, ApiRequest, GameApi
from playmolt_core.game.decider import Command, Refused
from playmolt_schemas.api import ErasedSession
from playmolt_schemas.codes import Code
from playmolt_schemas.games.jury_panels import PanelList, PanelOpenedView
from playmolt_schemas.routes import panels as routes
from playmolt_schemas.stored.panels import PanelPlan
from typing_extensions import override

from playmolt_jury.api import asker_of
from playmolt_jury.panels.rules import NO_PANEL, OpenPanel, ResumePanel, StopPanel, panel_view
from playmolt_jury.panels.state import PanelState

LIST: Final = routes.LIST_PANELS.name
OPEN: Final = routes.OPEN_PANEL.name
STOP: Final = routes.STOP_PANEL.name
RESUME: Final = routes.RESUME_PANEL.name
REPORT: Final = routes.PANEL_REPORT.name
_STOPPED: Final = "Stopped by its owner. Resume it with POST …/resume; no answer is lost and none is asked again."


class PlannedPanel(msgspec.Struct, frozen=True):
    """The body of a call after its plan was read; no caller can send one."""

    plan: PanelPlan
    content_version: str = ""


def owns(state: PanelState, request: ApiRequest) -> bool:
    """The operator reads every panel."""
    return bool(state.version) and (request.operator or state.owner == request.agent_id)


class PanelApi(GameApi[PanelState]):
    """Serves the routes of panels to their owners; for anyone else a panel does not exist."""

    lists = frozenset((LIST,))
    opens = frozenset((OPEN,))
    writes = frozenset((OPEN, STOP, RESUME))

    def __init__(self) -> None:
        self._commands: Mapping[str, Callable[[ApiRequest], Command | Refused]] = {
            OPEN: _open,
            STOP: _stop,
            RESUME: _resume,
        }

    @override
    def command(self, state: PanelState, request: ApiRequest) -> Command | Refused | None:
        if request.route != OPEN and not owns(state, request):
            return NO_PANEL
        return self._commands[request.route](request)

    @override
    def answer(self, state: PanelState, request: ApiRequest) -> ApiReply | Refused:
        if not owns(state, request):
            return NO_PANEL
        if request.route == OPEN:
            return ApiReply(PanelOpenedView(id=state.game_id), 201)
        return ApiReply(panel_view(state))

    @override
    def many(self, states: Sequence[PanelState | ErasedSession], request: ApiRequest) -> ApiReply | Refused:
        owned = [each for each in states if isinstance(each, PanelState) and owns(each, request)]
        return ApiReply(PanelList(tuple(map(panel_view, owned))))


def _open(request: ApiRequest) -> Command | Refused:
    if not isinstance(request.body, PlannedPanel):
        return _unread()
    return OpenPanel(
        owner=asker_of(request), name=request.name, plan=request.body.plan,
        content_version=request.body.content_version,
    )  # fmt: skip


def _stop(_: ApiRequest) -> Command:
    return StopPanel(by="owner", detail=_STOPPED)


def _resume(request: ApiRequest) -> Command | Refused:
    if isinstance(request.body, PlannedPanel):
        return ResumePanel(plan=request.body.plan)
    return _unread() if request.body else ResumePanel()


def _unread() -> Refused:
    return Refused(Code.INVALID_REQUEST, "The plan was not read. Retry.")


def unread_body(body: object) -> str:
    """Why a body cannot be one with a plan; "" if it may be."""
    if not isinstance(body, dict) or set(body) - {"plan"}:
        return "The only field is plan: the text of a plan's TOML file."
    return "" if isinstance(body.get("plan"), str | dict) else "plan: must be the text of a TOML file."
