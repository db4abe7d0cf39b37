"""The rules of a panel: which juries it plays, when it stops, goes on and is over. Nothing of it is public."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import Final

import msgspec
from playmolt_core.game.decider import Accepted, Command, Decision, Effect, EndGame, Refused, Viewer
from playmolt_core.game.game import Game, ended
from playmolt_schemas.canonical import digest
from playmolt_schemas.codes import Code
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.games.jury_panels import PanelView
from playmolt_schemas.identifiers import id_of_command
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.panels import (
    EVENTS,
    JuryPlayed,
    JuryScript,
    JurySetAside,
    JuryStep,
    PanelAborted,
    PanelFinished,
    PanelOpened,
    PanelPlace,
    PanelPlan,
    PanelResumed,
    PanelStopped,
    StoppedBy,
)
from typing_extensions import override

from playmolt_jury.panels import plan as plans
from playmolt_jury.panels.order import order_of, seed_of
from playmolt_jury.panels.state import FOLDS, PanelState, name_of

PLAY: Final = "play_jury"
"""`Effect.kind` of a jury to play, or to set aside if the panel has stopped; its payload is a PanelPlace."""
AT_ONCE: Final = 32
"""The most juries of a panel that are played at a time."""
NO_PANEL: Final = Refused(Code.NOT_FOUND, "This panel does not exist. Open one with POST /api/jury/panels.")


class OpenPanel(Command, frozen=True, kw_only=True):
    """`POST /api/jury/panels`, after its plan was read."""

    owner: str
    name: str
    plan: PanelPlan
    content_version: str


class StopPanel(Command, frozen=True, kw_only=True):
    """`POST …/stop`, or a worker that cannot go on."""

    by: StoppedBy
    detail: str


class ResumePanel(Command, frozen=True, kw_only=True):
    """`POST …/resume`; `plan` is None, or a plan whose budget counts from now on."""

    plan: PanelPlan | None = None


class ReportJury(Command, frozen=True, kw_only=True):
    """A jury is over."""

    played: JuryPlayed


class SetAside(Command, frozen=True, kw_only=True):
    """A jury was left unfinished."""

    left: JurySetAside


class Hidden(msgspec.Struct, frozen=True):
    """The public view of a panel: empty."""


class Panel(Game[PanelState]):
    """The decider of a panel."""

    game = "panel"
    rules_version = 1
    content_version = ""
    needed = 0
    events = EVENTS
    folds = FOLDS
    opening = frozenset((OpenPanel,))
    unknown = NO_PANEL
    foreign = Refused(Code.INVALID_REQUEST, "A panel is not a bot game. Use the routes under /api/jury/panels.")

    def __init__(self) -> None:
        super().__init__(
            {
                OpenPanel: _open,
                StopPanel: _stop,
                ResumePanel: _resume,
                ReportJury: _report,
                SetAside: _set_aside,
                EndGame: _end,
            }
        )

    @override
    def initial(self, game_id: str) -> PanelState:
        return PanelState(game_id=game_id)

    @override
    def follow(self, state: PanelState, command: Command) -> Event | None:
        return PanelFinished() if not state.over and len(state.played) == state.juries else None

    @override
    def view(self, state: PanelState, viewer: Viewer) -> Hidden:
        """Its owner and the operator read it through its own routes."""
        return Hidden()

    @override
    def operator_view(self, state: PanelState) -> Mapping[str, object]:
        plan = state.plan
        return {"case": plan.case, "n": plan.n, "scripts": len(plan.scripts)} if plan else {}

    @override
    def summary(self, state: PanelState) -> GameSummary:
        """Its round counts the juries that are over."""
        total = state.juries
        return GameSummary(phase=state.status, round=len(state.played), seated=total, needed=total, over=state.over)

    @override
    def effects(self, state: PanelState) -> Sequence[Effect[PanelPlace]]:
        if state.plan is None or state.since is None or state.over:
            return ()
        places = _at_hand(state, state.plan)
        return tuple(Effect(id=effect_of(place), kind=PLAY, due=state.since, payload=place) for place in places)

    @override
    def recovered(self, state: PanelState, events: Sequence[Event], at: datetime) -> Iterator[Command]:
        match events[0]:
            case PanelOpened() as opened:
                yield OpenPanel(
                    owner=opened.owner, name=opened.name, plan=opened.plan, content_version=opened.content_version
                )
            case PanelStopped() as stopped:
                yield StopPanel(by=stopped.by, detail=stopped.detail)
            case PanelResumed() as resumed if state.plan:
                yield ResumePanel(plan=msgspec.structs.replace(state.plan, budget=resumed.budget))
            case JuryPlayed() as played:
                yield ReportJury(played=played)
            case JurySetAside() as left:
                yield SetAside(left=left)
            case PanelAborted() as aborted:
                yield EndGame(reason=aborted.reason)


def effect_of(place: PanelPlace) -> str:
    """The id of the effect that plays a jury; the jury's id follows from it."""
    return digest([PLAY, place.id, place.script, place.number])[:32]


def session_of(place: PanelPlace) -> str:
    """The id of a panel's jury, the same for every attempt to open it."""
    return id_of_command("jury", effect_of(place))


def sessions_of(state: PanelState, plan: PanelPlan) -> Iterator[str]:
    """The ids of a panel's juries: of those that are over, and of those that may have been opened."""
    yield from (jury.session for jury in state.played.values())
    yield from map(session_of, islice(_open_places(state, plan), AT_ONCE))


def places(panel: str, plan: PanelPlan) -> Iterator[PanelPlace]:
    """All juries in the order of play: a pair's halves beside each other, so that a stop leaves few halves alone."""
    for number in range(1, plan.n + 1):
        seed = seed_of(plan.seed, number)
        for script in plan.scripts:
            yield PanelPlace(id=panel, script=script, number=number, seed=seed)


def script_of(plan: PanelPlan, place: PanelPlace) -> JuryScript:
    """What a jury plays: the steps of its script in its own order."""
    steps = plan.scripts[place.script]
    order = order_of(plan.seed, place.number, len(steps)) if plan.shuffle else range(len(steps))
    return JuryScript(
        steps=tuple(
            JuryStep(step=at + 1, juror=steps[at].juror, text=steps[at].text, evidence=steps[at].evidence)
            for at in order
        ),
        models=plan.jurors,
        chain=plan.chain == "last" and place.number == plan.n,
        temperature=plan.temperature,
    )


def panel_view(state: PanelState) -> PanelView:
    """As its owner sees it."""
    if state.plan is None:
        raise LookupError(f"{state.game_id} has no plan")
    return PanelView(
        id=state.game_id,
        state=state.status,
        case=state.plan.case,
        language=state.plan.language,
        n=state.juries,
        played=len(state.played),
        missing=sum(jury.outcome == "missing" for jury in state.played.values()),
        stopped=state.stopped,
        settling=sum(1 for _ in _at_hand(state, state.plan)) if state.status == "stopped" else 0,
        budget=state.budget,
        spent=state.spent,
        version=state.version,
    )


def goes_first(state: PanelState, place: PanelPlace) -> bool:
    """Whether no earlier jury is still open, for which the rest of the budget is meant."""
    return state.plan is None or next(_open_places(state, state.plan), place) == place


def _at_hand(state: PanelState, plan: PanelPlan) -> Iterator[PanelPlace]:
    """The juries that are played now; of a stopped panel those that may have been and are not set aside yet."""
    at_once = affordable(state, plan) if state.status == "running" else AT_ONCE
    places = islice(_open_places(state, plan), at_once)
    return (place for place in places if name_of(place.number, place.script) not in state.settled)


def affordable(state: PanelState, plan: PanelPlan) -> int:
    """How many juries to play at a time: as many as the budget can pay to their end, at what each has cost so far.

    Until one is over, those of one seed. At least one: its cost may be lower.
    """
    budget, spent, over = state.budget, state.finished_spent, len(state.played)
    limits = (
        (None if budget.money is None else Decimal(budget.money), Decimal(spent.money or 0)),
        (budget.tokens, spent.tokens),
        (budget.calls, spent.calls),
    )
    if all(most is None for most, _ in limits):
        return AT_ONCE
    if not over:
        return len(plan.scripts)
    left = [int((most - used) * over // used) for most, used in limits if most is not None and used]
    return max(1, min([AT_ONCE, *left]))


def _open_places(state: PanelState, plan: PanelPlan) -> Iterator[PanelPlace]:
    return (place for place in places(state.game_id, plan) if name_of(place.number, place.script) not in state.played)


def _open(state: PanelState, command: OpenPanel) -> Decision:
    if state.version:
        return Accepted()
    return Accepted(
        (
            PanelOpened(
                owner=command.owner, name=command.name, plan=command.plan, content_version=command.content_version
            ),
        )
    )


def _stop(state: PanelState, command: StopPanel) -> Decision:
    if state.over:
        return Accepted() if command.by != "owner" else _over()
    if state.status == "stopped":
        return Accepted()
    return Accepted((PanelStopped(by=command.by, detail=command.detail),))


def _resume(state: PanelState, command: ResumePanel) -> Decision:
    if state.over or state.plan is None:
        return _over()
    if command.plan is not None and plans.identity(command.plan) != plans.identity(state.plan):
        detail = "The plan is not that of this panel; only its budget may change. Open another panel for another plan."
        return Refused(Code.INVALID_REQUEST, detail)
    budget = command.plan.budget if command.plan else state.budget
    if state.status == "running" and budget == state.budget:
        return Accepted()
    return Accepted((PanelResumed(budget=budget),))


def _report(state: PanelState, command: ReportJury) -> Decision:
    played = command.played
    if state.over or name_of(played.number, played.script) in state.played:
        return Accepted()
    return Accepted((played,))


def _set_aside(state: PanelState, command: SetAside) -> Decision:
    left = command.left
    if state.over or name_of(left.number, left.script) in state.played:
        return Accepted()
    return Accepted((left,))


def _end(state: PanelState, command: EndGame) -> Decision:
    return _over() if state.over else ended(command, PanelAborted)


def _over() -> Refused:
    return Refused(Code.GAME_OVER, "This panel is over. Its report is available; open another panel.")
