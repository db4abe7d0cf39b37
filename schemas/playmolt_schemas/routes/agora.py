"""The routes of the Agora experiments (`agora.md`, API)."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from playmolt_schemas import api
from playmolt_schemas.agora import coding, feed
from playmolt_schemas.agora import plan as agora_plan
from playmolt_schemas.codes import Code
from playmolt_schemas.limits import PAGE_DEFAULT
from playmolt_schemas.routes.route import (
    HTML,
    TEXT,
    Auth,
    Cursor,
    EventsQuery,
    Holder,
    Limit,
    Load,
    Media,
    NoFields,
    OneOf,
    Query,
    Route,
)
from playmolt_schemas.routes.sharing import Share
from playmolt_schemas.stored.agora.plan import Plan
from playmolt_schemas.stored.agora.turn import Parent

_EXPERIMENTS: Final = "/api/agora/experiments"
_RUNS: Final = "/api/agora/runs"
ZIP: Final = "application/zip"


class OpenQuery(Query, frozen=True):
    """`POST /api/agora/experiments`. `dry=1` only validates the plan."""

    dry: Literal["0", "1"] = "0"


class RunsQuery(Query, frozen=True):
    """`GET /api/agora/runs`."""

    limit: Limit = PAGE_DEFAULT
    cursor: Cursor | None = None


class RunsPage(msgspec.Struct, frozen=True):
    """A page of the list of runs, newest first."""

    runs: list[api.GameRow]
    next_cursor: str | None


class ForkRequest(api.Request, frozen=True, kw_only=True):
    """`POST /api/agora/runs/{id}/fork`: replay the run up to event `at`, then continue live with one change."""

    at: Annotated[int, Meta(ge=1)]
    set: Annotated[str, Meta(min_length=1, max_length=2100, description="model=…, persona=AGENT:… or content=…")]


class ScheduledFork(msgspec.Struct, frozen=True, kw_only=True):
    """A fork that is scheduled to run."""

    run: str
    experiment: str
    parent: Parent


OPEN: Final[Route[agora_plan.ExperimentState | dict[str, Any] | agora_plan.PlanUnderWay]] = Route(
    method="POST", path=_EXPERIMENTS, name="agora_open", tag="agora", auth=Auth.OPERATOR, idempotent=True,
    service="experiment",
    summary="Lock a plan and run it; with ?dry=1 only preview its runs and costs. 202 with Location if that takes "
    f"longer than {agora_plan.EXAMINE_WAIT_SECONDS:g} seconds; a plan that takes longer than "
    f"{agora_plan.EXAMINE_SECONDS:g} seconds is refused.",
    query=OpenQuery, request=OneOf((Plan, agora_plan.PlanWithFiles)),
    answers={
        201: agora_plan.ExperimentState,
        200: OneOf((agora_plan.Preview, agora_plan.ExperimentState)),
        202: agora_plan.PlanUnderWay,
    },
    errors=(Code.ALREADY_STARTED,),
)  # fmt: skip
PLAN: Final[Route[dict[str, Any] | agora_plan.PlanUnderWay]] = Route(
    method="GET", path="/api/agora/plans/{id}", name="agora_plan", tag="agora", auth=Auth.OPERATOR,
    service="experiment",
    summary="Get the result of a plan that was sent: the experiment or the preview, or the refusal; 202 while it is "
    "being examined.",
    answers={
        200: OneOf((agora_plan.Preview, agora_plan.ExperimentState)), 202: agora_plan.PlanUnderWay,
    },
    errors=(Code.ALREADY_STARTED,),
)  # fmt: skip
PUT_FILE: Final[Route[None]] = Route(
    method="PUT", path="/api/agora/files/{sha256}", name="agora_put_file", tag="agora", auth=Auth.OPERATOR,
    service="experiment", summary="Store a file of a plan's folder under its SHA-256; a text of at most 60 KiB.",
    request=Media(TEXT), answers={204: None},
)  # fmt: skip
LIST: Final[Route[agora_plan.Experiments]] = Route(
    method="GET", path=_EXPERIMENTS, name="agora_list", tag="agora", auth=Auth.OPERATOR, service="experiment",
    summary="List experiments, newest first.", answers={200: agora_plan.Experiments},
)  # fmt: skip
READ: Final[Route[agora_plan.ExperimentState]] = Route(
    method="GET", path=_EXPERIMENTS + "/{id}", name="agora_read", tag="agora", auth=Auth.OPERATOR,
    service="experiment", summary="Get an experiment: progress, tokens, cost, deviations.",
    answers={200: agora_plan.ExperimentState},
)  # fmt: skip
STOP: Final[Route[agora_plan.ExperimentState]] = Route(
    method="POST", path=_EXPERIMENTS + "/{id}/stop", name="agora_stop", tag="agora", auth=Auth.OPERATOR,
    idempotent=True, service=
    "experiment",
    summary="Stop an experiment: no further turn starts.", request=agora_plan.StopRequest,
    answers={200: agora_plan.ExperimentState}, errors=(Code.GAME_OVER,),
)  # fmt: skip
RESUME: Final[Route[agora_plan.ExperimentState]] = Route(
    method="POST", path=_EXPERIMENTS + "/{id}/resume", name="agora_resume", tag="agora", auth=Auth.OPERATOR,
    idempotent=True, service="experiment", summary="Resume after a stop, optionally with a higher budget.",
    request=agora_plan.ResumeRequest, answers={200: agora_plan.ExperimentState}, errors=(Code.GAME_OVER,),
)  # fmt: skip
LOOK: Final[Route[agora_plan.ExperimentState]] = Route(
    method="POST", path=_EXPERIMENTS + "/{id}/look", name="agora_look", tag="agora", auth=Auth.OPERATOR,
    idempotent=True, service="experiment", summary="Look at the interim PCS. The look is logged and listed in `looks`.",
    request=NoFields, answers={200: agora_plan.ExperimentState},
)  # fmt: skip
RUNS: Final[Route[agora_plan.ExperimentRuns]] = Route(
    method="GET", path=_EXPERIMENTS + "/{id}/runs", name="agora_runs", tag="agora", auth=Auth.OPERATOR,
    service="experiment", summary="List the runs of an experiment.", answers={200: agora_plan.ExperimentRuns},
)  # fmt: skip
CODINGS: Final[Route[coding.Codings]] = Route(
    method="GET", path=_EXPERIMENTS + "/{id}/codings", name="agora_codings", tag="agora", auth=Auth.OPERATOR,
    service="experiment", summary="List who codes the thoughts of an experiment: judges with their costs, and coders.",
    answers={200: coding.Codings},
)  # fmt: skip
JUDGE: Final[Route[coding.Codings]] = Route(
    method="POST", path=_EXPERIMENTS + "/{id}/judge", name="agora_judge", tag="agora", auth=Auth.OPERATOR,
    idempotent=True, service=
    "experiment",
    summary="Let a model code thoughts, or resume; no thought is coded twice by the same model.",
    request=coding.JudgeRequest, answers={200: coding.Codings}, errors=(Code.GAME_OVER,),
)  # fmt: skip
JUDGE_STOP: Final[Route[coding.Codings]] = Route(
    method="POST", path=_EXPERIMENTS + "/{id}/judge/stop", name="agora_judge_stop", tag="agora", auth=Auth.OPERATOR,
    idempotent=True, service="experiment", summary="Stop a judge.",
    request=coding.JudgeStopRequest, answers={200: coding.Codings}, errors=(Code.GAME_OVER,),
)  # fmt: skip
SHEET: Final[Route[coding.Codings]] = Route(
    method="POST", path=_EXPERIMENTS + "/{id}/sheets", name="agora_sheet", tag="agora", auth=Auth.OPERATOR,
    idempotent=True, service=
    "experiment",
    summary="Submit a coder's sheet; it replaces an earlier sheet of the same coder.",
    request=coding.SheetRequest, body_bytes=coding.SHEET_BYTES, answers={200: coding.Codings},
    errors=(Code.GAME_OVER,),
)  # fmt: skip
REPORT: Final[Route[bytes | dict[str, Any]]] = Route(
    method="GET", path=_EXPERIMENTS + "/{id}/report", name="agora_report", tag="agora", auth=Auth.OPERATOR,
    service="experiment", summary="Get the report as one HTML page; 202 while it is being generated.",
    answers={200: Media(HTML), 202: dict[str, Any]}, errors=(Code.NOT_FINISHED,),
)  # fmt: skip
BUNDLE: Final[Route[bytes | dict[str, Any]]] = Route(
    method="GET", path=_EXPERIMENTS + "/{id}/bundle", name="agora_bundle", tag="agora", auth=Auth.OPERATOR,
    service="experiment", summary="Download the sealed bundle as a zip file; 202 while it is being generated.",
    answers={200: Media(ZIP), 202: dict[str, Any]}, errors=(Code.NOT_FINISHED,),
)  # fmt: skip
SHARE: Final[Route[Share]] = Route(
    method="POST", path=_EXPERIMENTS + "/{id}/share", name="agora_share", tag="agora", auth=Auth.ANY, idempotent=True,
    service="experiment", summary="Create a share link to an experiment's report. Requires the operator's key.",
    request=NoFields, answers={201: Share},
)  # fmt: skip
UNSHARE: Final[Route[None]] = Route(
    method="DELETE", path=_EXPERIMENTS + "/{id}/share", name="agora_unshare", tag="agora", auth=Auth.ANY,
    service=
    "experiment",
    summary="Revoke the share link; its page no longer exists. Requires the operator's key.", answers={204: None},
)  # fmt: skip
LIST_RUNS: Final[Route[RunsPage]] = Route(
    method="GET", path=_RUNS, name="list_runs", tag="agora", load=Load.READ,
    summary="List runs, newest first.", query=RunsQuery,
    answers={200: RunsPage},
)  # fmt: skip
READ_RUN_EVENTS: Final[Route[api.Events]] = Route(
    method="GET", path=_RUNS + "/{id}/events", name="read_run_events", tag="agora", load=Load.READ, target="run",
    summary="List the public events of a run.", query=EventsQuery,
    answers={200: Holder(api.Events, "events", feed.FEED.union)},
    errors=(Code.NOT_FOUND,),
)  # fmt: skip
FORK: Final[Route[ScheduledFork]] = Route(
    method="POST", path=_RUNS + "/{id}/fork", name="agora_fork", tag="agora", auth=Auth.OPERATOR, idempotent=True,
    target="run", summary="Fork a run after one of its events, with one change.", request=ForkRequest,
    answers={201: ScheduledFork, 200: ScheduledFork}, errors=(Code.NOT_FOUND,),
)  # fmt: skip

AGORA: Final = (
    OPEN, PLAN, PUT_FILE, LIST, READ, STOP, RESUME, LOOK, RUNS, CODINGS, JUDGE, JUDGE_STOP, SHEET, REPORT, BUNDLE,
    SHARE, UNSHARE, LIST_RUNS, READ_RUN_EVENTS, FORK,
)  # fmt: skip
