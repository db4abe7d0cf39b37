"""The calls about experiments (`agora.md`, API): which command each is, and what it is answered with."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec
from playmolt_core.game.api import ApiReply, ApiRequest, GameApi
from playmolt_core.game.decider import Command, Refused
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.agora.coding import JudgeRequest, JudgeStopRequest, SheetRequest
from playmolt_schemas.agora.plan import Experiments, ResumeRequest, StopRequest
from playmolt_schemas.api import ErasedSession
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.copying import copied
from playmolt_schemas.routes import agora as routes
from playmolt_schemas.routes import sharing
from playmolt_schemas.routes.route import NoFields
from typing_extensions import override

from playmolt_agora_runner.experiment import coding, commands, views
from playmolt_agora_runner.experiment.state import State
from playmolt_agora_runner.plan import document
from playmolt_agora_runner.plan.reading import FIELDS

_CODED: Final = (routes.CODINGS.name, routes.JUDGE.name, routes.JUDGE_STOP.name, routes.SHEET.name)
_VIEWS: Final[Mapping[str, Callable[[State], msgspec.Struct]]] = {
    routes.RUNS.name: views.runs,
    **dict.fromkeys(_CODED, views.codings),
}
_SHARING: Final = (sharing.ASK, sharing.TAKE_BACK, sharing.PAGE)

R = TypeVar("R", bound=msgspec.Struct)
_OPERATOR_ONLY: Final = Refused(Code.OPERATOR_ONLY, "Only the operator may use experiments. Send the operator key.")
NO_EXPERIMENT: Final = Refused(
    Code.NOT_FOUND, "This experiment does not exist. List experiments with GET /api/agora/experiments."
)


def _body(kind: type[R], body: object) -> R | Refused:
    """A body may be left out."""
    faults: Sequence[FieldFault]
    try:
        read, faults = FIELDS.partly(kind, {} if body is None else document.amounts(document.plain(body)))
    except document.Unreadable as error:
        read, faults = None, (FieldFault("", str(error)),)
    if read is None or faults:
        listed = "; ".join(f"{fault.field}: {fault.message}" for fault in faults)
        return Refused(Code.INVALID_REQUEST, f"Fix the request body and retry. {listed}", tuple(faults))
    return read


Make = Callable[[ApiRequest, Catalogue], Command | Refused]
"""Makes the command of a call, or refuses it with every fault of its body."""


def _of_body(kind: type[R], make: Callable[[R, ApiRequest, Catalogue], Command | Refused]) -> Make:
    def made(request: ApiRequest, catalogue: Catalogue) -> Command | Refused:
        body = _body(kind, request.body)
        return body if isinstance(body, Refused) else make(body, request, catalogue)

    return made


def _judge(body: JudgeRequest, _: ApiRequest, catalogue: Catalogue) -> Command | Refused:
    found = coding.pinned_judge(body.model, body.budget, catalogue, batch=body.batch)
    return found if isinstance(found, Refused) else copied(commands.StartJudge, body, judge=found)


def _fork(body: routes.ForkRequest, request: ApiRequest, catalogue: Catalogue) -> Command:
    run = request.params["run"]
    return commands.ForkRun(run=run, version=body.at, change=body.set, catalogue=catalogue)


def _look(request: ApiRequest, _: Catalogue) -> Command:
    """The process puts the command into the body: PCS takes too long for a decision. No caller can send one."""
    return request.body if isinstance(request.body, commands.SeePcs) else commands.SeePcs(turns=0)


_COMMANDS: Final[Mapping[str, Make]] = {
    routes.STOP.name: _of_body(StopRequest, lambda body, *_: commands.Stop(reason=body.reason)),
    routes.RESUME.name: _of_body(ResumeRequest, lambda body, *_: copied(commands.Resume, body)),
    routes.LOOK.name: _look,
    routes.FORK.name: _of_body(routes.ForkRequest, _fork),
    routes.JUDGE.name: _of_body(JudgeRequest, _judge),
    routes.JUDGE_STOP.name: _of_body(JudgeStopRequest, lambda body, *_: commands.StopJudge(judge=body.model)),
    routes.SHEET.name: _of_body(SheetRequest, lambda body, *_: copied(commands.TakeSheet, body)),
}


class ExperimentApi(GameApi[State]):
    """Serves the routes about experiments to the operator; `catalogue` holds the models that plans may name."""

    writes = frozenset(_COMMANDS)
    lists = frozenset((routes.LIST.name,))
    unbound = frozenset((routes.PUT_FILE.name, routes.PLAN.name))
    """A plan is answered by its examiner."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    @override
    def command(self, state: State, request: ApiRequest) -> Command | Refused | None:
        """The command of a call that changes something; a plan is opened by its examiner."""
        if not request.operator:
            return _OPERATOR_ONLY
        return _COMMANDS[request.route](request, self._catalogue) if state.version else NO_EXPERIMENT

    @override
    def answer(self, state: State, request: ApiRequest) -> ApiReply | Refused:
        if request.route in _SHARING:
            return _shareable(state, request)
        if not request.operator:
            return _OPERATOR_ONLY
        if not state.version:
            return NO_EXPERIMENT
        if request.route == routes.FORK.name:
            return _forked(state, request)
        return ApiReply(_VIEWS.get(request.route, views.experiment)(state))

    @override
    def many(self, states: Sequence[State | ErasedSession], request: ApiRequest) -> ApiReply | Refused:
        if not request.operator:
            return _OPERATOR_ONLY
        return ApiReply(
            Experiments(tuple(views.line(state) for state in states if not isinstance(state, ErasedSession)))
        )


def with_files(body: object) -> tuple[object, dict[str, object]]:
    """A plan's body and its files, path → hash."""
    if isinstance(body, Mapping) and "plan" in body and set(body) <= {"plan", "files"}:
        files = body.get("files")
        return body["plan"], dict(files) if isinstance(files, Mapping) else {}
    return body, {}


def _shareable(state: State, request: ApiRequest) -> ApiReply | Refused:
    """For anyone but its operator, the experiment does not exist."""
    if not request.operator or not state.version:
        return NO_EXPERIMENT
    read = _body(NoFields, request.body)
    return read if isinstance(read, Refused) else ApiReply(sharing.ShareTerms())


def _forked(state: State, request: ApiRequest) -> ApiReply:
    """Describe the newest fork of a run: the one that this call made."""
    forks = ((run.run, run.parent) for run in reversed(state.runs) if run.parent)
    fork, parent = next((fork, parent) for fork, parent in forks if parent.run == request.params["run"])
    return ApiReply(routes.ScheduledFork(run=fork, experiment=state.game_id, parent=parent), 201)
