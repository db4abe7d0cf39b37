"""The decider of a run: agents act one after another, the world answers (agora.md, Worlds and Turn; stage1.md)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Final

from msgspec.structs import asdict, replace
from playmolt_core.game.decider import Accepted, Command, Decision, Effect, EndGame, Refused, Viewer
from playmolt_core.game.game import Game, ended
from playmolt_schemas.agora.feed import RunView
from playmolt_schemas.canonical import digest
from playmolt_schemas.codes import Code
from playmolt_schemas.copying import copied
from playmolt_schemas.feed_messages import FeedMessage
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.stored.agora.run import (
    EVENTS,
    AgentActed,
    CallMade,
    GameAborted,
    Interviewed,
    RunEnded,
    RunOpened,
    RunPaused,
    RunResumed,
    TurnFailed,
)
from playmolt_schemas.stored.agora.turn import Interview, TurnRecord
from playmolt_schemas.stored.event import Event
from typing_extensions import override

from playmolt_agora_runner.run import commands, effects, forks, opening, records, views
from playmolt_agora_runner.run.effects import AgentTurn, RunReport
from playmolt_agora_runner.run.fold import evolve
from playmolt_agora_runner.turn import texts
from playmolt_agora_runner.turn.interview import Answer
from playmolt_agora_runner.turn.reply_parser import Parsed
from playmolt_agora_runner.world import acts, chance, epoch, visibility, world, worlds
from playmolt_agora_runner.world.named_rules import ActAttempt
from playmolt_agora_runner.world.state import JUDGED_TURNS, RunState
from playmolt_agora_runner.world.world import Row

DETAIL_CHARS: Final = 2000
_OVER: Final = Refused(Code.GAME_OVER, "This run is over.")
_STARTED: Final = "This stream already has a run. Open the run on a new stream."
PAUSE_SECONDS: Final = 5
PAUSE_MOST_SECONDS: Final = 600
"""First and longest pause for an unavailable model."""


class Agora(Game[RunState]):
    """The decider of a run. A run has no owner: all viewers see the same."""

    game = "agora"
    rules_version = worlds.RULES_VERSION
    needed = 0
    events = EVENTS
    opening = frozenset((commands.OpenRun,))
    unknown = Refused(Code.NOT_FOUND, "This run does not exist. List runs with GET /api/agora/runs.")
    foreign = Refused(Code.INVALID_REQUEST, "Bots cannot play a run: its agents are models.")

    def __init__(self) -> None:
        self.content_version = digest([texts.version(), [worlds.preset(phase) for phase in texts.PHASES]])[:16]
        super().__init__(
            {
                commands.OpenRun: self._open,
                commands.RecordCall: _recorded,
                commands.TakeTurn: _taken,
                commands.PauseRun: _paused,
                commands.ResumeRun: _resumed,
                commands.EndRun: _ended,
                EndGame: _aborted,
            }
        )

    @override
    def initial(self, game_id: str) -> RunState:
        return RunState(game_id=game_id)

    @override
    def follow(self, state: RunState, command: Command) -> Event | None:
        return epoch.next_event(state)

    @override
    def evolve(self, state: RunState, event: Event, at: datetime) -> RunState:
        return evolve(state, event, at)

    @override
    def public(self, event: Event, viewer: Viewer, state: RunState | None = None) -> FeedMessage:
        return views.public(event)

    @override
    def view(self, state: RunState, viewer: Viewer) -> RunView:
        """The public state; for an agent of the run also its own context."""
        return views.run(state, viewer.agent_id)

    @override
    def operator_view(self, state: RunState) -> Mapping[str, object]:
        """The pinned inputs of the run: spec with seed, effective rules, versions."""
        return {
            "config": state.run,
            "rules": state.rules,
            "world": state.world,
            "content_version": state.content_version,
            "seats": state.seats,
            "replayed": state.replayed,
            "pause": state.pause,
        }

    @override
    def summary(self, state: RunState) -> GameSummary:
        """Its round is its turn."""
        return GameSummary(
            phase=state.phase, round=state.turn, seated=len(state.living), needed=len(state.seats), over=state.over
        )

    @override
    def participants(self, state: RunState) -> Mapping[str, str]:
        """Agent → model. Agents have no keys, so no viewer is one of them."""
        return {seat.agent: seat.model for seat in state.seats}

    @override
    def effects(self, state: RunState) -> Sequence[Effect[effects.Payload]]:
        owed = effects.effect(state)
        return () if owed is None else (owed,)

    def _open(self, state: RunState, command: commands.OpenRun) -> Decision:
        if state.version:
            again = state.run.run == command.spec.run
            return Accepted() if again else Refused(Code.ALREADY_STARTED, _STARTED)
        parent = command.spec.parent
        found = tuple(forks.faults(parent, command.events)) if parent else ()
        opened = found or opening.opened(command.spec, self.content_version, texts.version())
        if not isinstance(opened, RunOpened):
            listed = "; ".join(f"{fault.field} {fault.message}" for fault in opened[:5])
            return Refused(Code.INVALID_REQUEST, f"Fix the run's spec and retry: {listed}.", opened)
        taken = forks.taken_over(command.spec, command.events)
        return Accepted((replace(opened, replayed=forks.turns(taken)), *taken))


def _recorded(state: RunState, command: commands.RecordCall) -> Decision:
    if state.over:
        return Accepted()
    return Accepted((CallMade(turn=command.turn, agent=command.agent, call=command.call),))


def _taken(state: RunState, command: commands.TakeTurn) -> Decision:
    due, reply = effects.due(state, command.effect_id), command.reply
    if not isinstance(due, AgentTurn):
        return Accepted()
    calls = tuple(CallMade(turn=due.turn, agent=due.agent, call=call) for call in reply.attempts)
    match due.interview, reply.parsed:
        case None, Parsed() as parsed:
            return Accepted((*calls, *_acted(state, due.agent, reply, parsed)))
        case Interview(id=name), Answer() as answer:
            usage = {f"{kind}_tokens": count for kind, count in asdict(reply.tokens).items()}
            asked = {"turn": due.turn, "agent": due.agent, "id": name, "parse_code": answer.code, "usage": usage}
            return Accepted((*calls, copied(Interviewed, reply, answer, state.run, **asked)))
    return Accepted()


def _acted(state: RunState, agent: str, reply: commands.TurnReply, parsed: Parsed) -> Sequence[Event]:
    found = records.parsed(state, agent, parsed)
    attempt = ActAttempt(state, agent, found.target, found.content)
    deed = None if found.action is None else acts.judged(attempt, found.action)
    record = records.record(state, agent, reply, found, deed)
    if deed is None:
        return (TurnFailed(record=record), *_gives_up(state, record.model))
    row = world.of(state).rows[str(record.action)]
    acted = AgentActed(
        record=record,
        value=deed.value,
        heard_by=_heard_by(state, record, row) if deed.success else (),
        weight=world.of(state).ranked(state.agents[agent].influence).speaking_weight,
        # The packaged whisper is known by its own name.
        private=row.does == "whisper" and not row.packaged,
    )
    return (acted,)


def _gives_up(state: RunState, model: str) -> tuple[Event, ...]:
    """The pause after a model's first turns if none of them was valid: more of them would only cost money."""
    if state.unusable.get(model, 0) != JUDGED_TURNS - 1:
        return ()
    detail = f"{model}: 0 of {JUDGED_TURNS} turns valid. Check its replies, then resume the experiment or stop it."
    return (RunPaused(code=effects.NO_VALID_TURN, detail=detail),)


def _heard_by(state: RunState, record: TurnRecord, row: Row) -> tuple[str, ...]:
    """Who hears an act, as far as it is stored: those to whom a whisper leaks, and all in a world of its own."""
    if "leak" in row.rules:
        return _leaked(state, record.agent, record.target)
    return () if row.packaged else visibility.hearing(state, record, row)


def _leaked(state: RunState, agent: str, target: str | None) -> tuple[str, ...]:
    """Draw whether a whisper leaks to the others there; an Observer among them makes it likelier."""
    others = tuple(name for name in state.beside(agent) if name != target)
    if not others:
        return ()
    rules = state.rules
    probability = Fraction(rules.leak)
    if any(state.seat(name).persona == "observer" for name in others):
        probability += Fraction(rules.leak_observer)
    return others if chance.leaks(state.run, state.turn, agent, probability) else ()


def _paused(state: RunState, command: commands.PauseRun) -> Decision:
    if state.over:
        return _OVER
    if state.paused == command.code:
        return Accepted()
    # Repeated failures without a turn in between double the pause.
    seconds = min(PAUSE_SECONDS * 2**state.pauses, PAUSE_MOST_SECONDS) if command.code == "model_away" else 0
    return Accepted((RunPaused(code=command.code, detail=command.detail[:DETAIL_CHARS], seconds=seconds),))


def _resumed(state: RunState, _: commands.ResumeRun) -> Decision:
    if state.over:
        return _OVER
    return Accepted((RunResumed(),) if state.paused else ())


def _ended(state: RunState, command: commands.EndRun) -> Decision:
    due = effects.due(state, command.effect_id)
    return Accepted((RunEnded(outcome=due.outcome, turns=state.turn),) if isinstance(due, RunReport) else ())


def _aborted(state: RunState, command: EndGame) -> Decision:
    if state.over:
        return _OVER
    return ended(command, GameAborted)
