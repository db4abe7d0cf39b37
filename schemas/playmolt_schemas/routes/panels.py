"""The routes of panels of juries (instruments.md, Panels)."""

from typing import Final, Literal

from playmolt_schemas.codes import Code
from playmolt_schemas.games import jury_panels as panels
from playmolt_schemas.limits import PANEL_BODY_BYTES
from playmolt_schemas.routes.route import HTML, PARQUET, Auth, NoFields, Query, Route

_PATH: Final = "/api/jury/panels"
_ONE: Final = _PATH + "/{id}"

ReportFormat = Literal["json", "html", "parquet"]


class OpenPanelQuery(Query, frozen=True):
    """`POST /api/jury/panels`. `dry=1` previews the plan and opens nothing."""

    dry: Literal["1"] | None = None


class PanelReportQuery(Query, frozen=True):
    """`GET …/report`."""

    format: ReportFormat = "json"


OPEN_PANEL: Final[Route[panels.PanelOpenedView | panels.PanelPreview]] = Route(
    method="POST", path=_PATH, name="open_panel", tag="jury", auth=Auth.ANY, service="panel", idempotent=True,
    summary="Play a case many times with model jurors; with ?dry=1 only preview the plan's calls, cost and power.",
    request=panels.OpenPanelRequest, query=OpenPanelQuery, body_bytes=PANEL_BODY_BYTES, patient=True,
    answers={202: panels.PanelOpenedView, 200: panels.PanelPreview},
    errors=(Code.OPERATOR_ONLY, Code.INVALID_FORM, Code.BUDGET_SPENT),
)  # fmt: skip
LIST_PANELS: Final[Route[panels.PanelList]] = Route(
    method="GET", path=_PATH, name="list_panels", tag="jury", auth=Auth.ANY, service="panel",
    summary="List your panels, newest first, at most 100; the operator lists every panel.",
    answers={200: panels.PanelList},
)  # fmt: skip
READ_PANEL: Final[Route[panels.PanelView]] = Route(
    method="GET", path=_ONE, name="read_panel", tag="jury", auth=Auth.ANY, service="panel",
    summary="Get a panel: its state, how many juries it has played, and what they cost.",
    answers={200: panels.PanelView},
)  # fmt: skip
STOP_PANEL: Final[Route[panels.PanelView]] = Route(
    method="POST", path=_ONE + "/stop", name="stop_panel", tag="jury", auth=Auth.ANY, service="panel", idempotent=True,
    summary="Stop a panel: turns in progress finish, and no new ones start.", request=NoFields,
    answers={200: panels.PanelView}, errors=(Code.GAME_OVER,),
)  # fmt: skip
RESUME_PANEL: Final[Route[panels.PanelView]] = Route(
    method="POST", path=_ONE + "/resume", name="resume_panel", tag="jury", auth=Auth.ANY, service="panel",
    idempotent=True, summary="Resume a panel after a stop, optionally with the budget of a changed plan.",
    request=panels.ResumePanelRequest, body_bytes=PANEL_BODY_BYTES, answers={200: panels.PanelView},
    errors=(Code.GAME_OVER, Code.INVALID_FORM),
)  # fmt: skip
PANEL_REPORT: Final[Route[bytes]] = Route(
    method="GET", path=_ONE + "/report", name="panel_report", tag="jury", auth=Auth.ANY, service="panel",
    summary="Get the report on the juries so far: figures, a page, or every change of a stance; 202 until it is made.",
    query=PanelReportQuery, other_media=(HTML, PARQUET),
    answers={200: panels.PanelReport, 202: panels.PendingPanelReport},
)  # fmt: skip

PANELS: Final = (OPEN_PANEL, LIST_PANELS, READ_PANEL, STOP_PANEL, RESUME_PANEL, PANEL_REPORT)
