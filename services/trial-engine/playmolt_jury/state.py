"""The state of a session: the fold of its events. Its tuples and dicts are never mutated."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

import msgspec
from msgspec.structs import replace
from playmolt_core.game.game import Changes, Fold
from playmolt_schemas.canonical import digest
from playmolt_schemas.games.jury import (
    BandChange,
    ChatReply,
    FailedVote,
    NoteReply,
    RoundReply,
    SpeechView,
    VerdictView,
)
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import (
    AttemptMade,
    Cause,
    ChainChanged,
    ContractDeployed,
    Ended,
    EvidenceItem,
    EvidencePresented,
    EvidenceRead,
    EvidenceUnlocked,
    FailureCode,
    GameAborted,
    JurorSaid,
    Language,
    NoteSent,
    OverseerSaid,
    PhaseChanged,
    PhaseName,
    RoundEnded,
    RoundStarted,
    Speech,
    ToolCalled,
    ToolsProbed,
    TopicImpact,
    TurnFailed,
    TurnKind,
    TurnStarted,
    VerdictRead,
    VoteCalled,
    VoteCast,
    VoteDecided,
    VoteMissed,
    VoteRetried,
    WitnessTalked,
)
from playmolt_schemas.stored.panels import JuryScript, PanelPlace

from playmolt_jury import dialogue
from playmolt_jury.content.material import Found, Juror, Rules
from playmolt_jury.dialogue import Talk
from playmolt_jury.events import JuryOpened, StanceChanged
from playmolt_jury.persuasion import stance
from playmolt_jury.persuasion.repetition import RememberedMessage, took_back
from playmolt_jury.persuasion.stance import SPEECHES

OPERATOR: Final = "operator"
"""The owner of the juries of the operator's panels."""
KEPT_OUTCOMES: Final = 128
"""Outcomes stored for retried calls: all successful ones of a session and the latest failures."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the overseer, or a presented item, and the juror's answer."""

    text: str = ""
    evidence_id: str = ""
    reply: str
    repeats: int


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """The latest change of a juror's stance: who caused it, in which direction, by which message."""

    cause: Cause
    by: str
    toward: Literal["guilt", "innocence"]
    topics: tuple[TopicImpact, ...] = ()
    text: str = ""
    evidence_id: str = ""


class JurorState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a juror. `notes` are pending until its next speech."""

    stance: int
    exchanges: tuple[Exchange, ...] = ()
    weakness_spent: bool = False
    rounds: int
    led: int = 0
    notes: tuple[str, ...] = ()
    remembered: tuple[RememberedMessage, ...] = ()
    """Every message from the overseer, in log order."""
    last_move: Move | None = None

    @property
    def rounds_left(self) -> int:
        """Dialogue rounds that the overseer has left with this juror."""
        return self.rounds - len(self.exchanges)


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that waits for a model; `id` is the id of its effect."""

    id: str
    call: str
    kind: TurnKind
    juror_id: str
    text: str
    evidence_id: str
    round: int
    started_at: datetime

    @property
    def name(self) -> str:
        """The name of the turn in the header of its model requests."""
        if self.kind == "note":
            return "classify"
        return f"{self.kind}:{self.juror_id}" + (f":{self.round}" if self.kind == "speech" else "")


class FailedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call whose turn failed."""

    code: FailureCode
    detail: str


Outcome = ChatReply | NoteReply | RoundReply | FailedCall


class Debate(msgspec.Struct, frozen=True, kw_only=True):
    """The deliberation round in progress, with the stances at its start."""

    round: int
    leader: str
    responders: tuple[str, ...]
    snapshot: dict[str, int]
    speeches: tuple[Speech, ...] = ()
    call: str = ""

    @property
    def speakers(self) -> tuple[str, ...]:
        """All three, in speaking order."""
        return (self.leader, *self.responders)

    @property
    def next_speaker(self) -> str | None:
        return self.speakers[len(self.speeches)] if len(self.speeches) < SPEECHES else None


class Ballot(msgspec.Struct, frozen=True, kw_only=True):
    """A juror's vote. `settled`: it is on the chain, or the case closed without it."""

    guilty: bool
    stance: int
    diverged: bool
    decided_at: datetime
    tx_hash: str = ""
    settled: bool = False


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """The deployed contract of the case."""

    address: str
    chain_id: int
    tx_hash: str
    log_hash: str
    deployed_at: datetime


class State(msgspec.Struct, frozen=True, kw_only=True):
    game_id: str
    version: int = 0
    owner: str = ""
    name: str = ""
    seed: str = ""
    created_at: str = ""
    language: Language = "en"
    model: str = ""
    probed: bool = False
    calls_tools: bool | None = None
    """Whether the model calls tools; None if it was not asked, or gave no answer."""
    jurors: tuple[Juror, ...] = ()
    evidence: tuple[EvidenceItem, ...] = ()
    topics: tuple[str, ...] = ()
    pack_digest: str = ""
    rules: Rules = Rules()
    panel: PanelPlace | None = None
    script: JuryScript | None = None
    """What a jury of a panel plays; None if an overseer plays it."""
    failures: int = 0
    """Turns that failed."""
    unusable: int = 0
    """Those of them whose model answered, but never with a usable reply."""
    last_failure: FailedCall | None = None
    phase: PhaseName = "prologue"
    juror_states: dict[str, JurorState] = {}
    unlocked: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    talks: dict[str, Talk] = {}
    notes_used: int = 0
    round: int = 0
    debate: Debate | None = None
    speeches: tuple[Speech, ...] = ()
    turns: tuple[Turn, ...] = ()
    outcomes: dict[str, Outcome] = {}
    voting: bool = False
    vote_called_at: datetime | None = None
    ballots: dict[str, Ballot] = {}
    contract: Contract | None = None
    failed: FailedVote | None = None
    vote_retries: int = 0
    verdict: VerdictView | None = None
    ending: str = ""

    @property
    def over(self) -> bool:
        return self.phase in ("ended", "aborted")

    @property
    def notes_left(self) -> int:
        """Notes that wait for classification count as sent."""
        return self.rules.notes - self.notes_used - sum(turn.kind == "note" for turn in self.turns)

    @property
    def payer(self) -> str:
        """The agent whose daily budget pays for model calls; "" for juries of the operator's panels."""
        return "" if self.owner == OPERATOR else self.owner

    def model_of(self, juror_id: str) -> str:
        """The alias of the model that speaks for a juror, and that classifies what the overseer says to it."""
        return self.script.models[juror_id] if self.script else self.model

    def juror(self, juror_id: str) -> Juror:
        """LookupError for an unknown id."""
        for file in self.jurors:
            if file.id == juror_id:
                return file
        raise LookupError(f"no juror {juror_id}")

    @property
    def juror_ids(self) -> tuple[str, ...]:
        """In the order that breaks ties."""
        return tuple(file.id for file in self.jurors)

    @property
    def stances(self) -> dict[str, int]:
        return {juror: current.stance for juror, current in self.juror_states.items()}

    def item(self, evidence_id: str) -> EvidenceItem | None:
        return next((item for item in self.evidence if item.id == evidence_id), None)

    @property
    def still_locked(self) -> tuple[str, ...]:
        """Items that are still locked."""
        return tuple(item.id for item in self.evidence if item.locked and item.id not in self.unlocked)

    @property
    def cracked(self) -> tuple[str, ...]:
        """Witnesses that broke."""
        return tuple(witness for witness, talk in self.talks.items() if talk.cracked)

    @property
    def found(self) -> Found:
        """How much of the evidence the overseer has found."""
        if not self.unlocked:
            return "nothing"
        return "something" if self.still_locked or len(self.read) < len(self.evidence) else "everything"

    def turn(self, effect_id: str) -> Turn | None:
        return next((turn for turn in self.turns if turn.id == effect_id), None)

    def pending(self, juror_id: str) -> tuple[Turn, ...]:
        """The pending turns of a juror, in order."""
        return tuple(turn for turn in self.turns if turn.juror_id == juror_id)


def _opened(_: State, event: JuryOpened, at: datetime) -> Changes:
    return {
        "owner": event.owner,
        "name": event.name,
        "seed": event.seed,
        "created_at": rfc3339(at),
        "language": event.language,
        "model": event.model,
        "jurors": event.jurors,
        "evidence": event.evidence,
        "topics": event.topics,
        "pack_digest": event.pack_digest,
        "rules": event.rules,
        "panel": event.panel or None,
        "script": event.script or None,
        "juror_states": {
            juror.id: JurorState(stance=juror.initial_stance, rounds=event.rules.rounds) for juror in event.jurors
        },
    }


def _phase(_: State, event: PhaseChanged, __: datetime) -> Changes:
    return {"phase": event.to}


def _talked(state: State, event: WitnessTalked, _: datetime) -> Changes:
    talk = dialogue.after(state.talks.get(event.witness_id, Talk()), event)
    return {"talks": state.talks | {event.witness_id: talk}}


def _unlocked(state: State, event: EvidenceUnlocked, _: datetime) -> Changes:
    talk = state.talks[event.witness_id]
    opened = replace(talk, unlocked=(*talk.unlocked, event.evidence_id))
    return {"unlocked": (*state.unlocked, event.evidence_id), "talks": state.talks | {event.witness_id: opened}}


def _read(state: State, event: EvidenceRead, _: datetime) -> Changes:
    return {"read": (*state.read, event.evidence_id)}


def _started(state: State, event: TurnStarted, at: datetime) -> Changes:
    # The version gives a repeated turn a new effect id.
    effect = digest(["turn", state.game_id, state.version + 1, event.call, event.turn, event.juror_id])[:32]
    turn = Turn(
        id=effect,
        call=event.call,
        kind=event.turn,
        juror_id=event.juror_id,
        text=event.text,
        evidence_id=event.evidence_id,
        round=event.round,
        started_at=at,
    )
    changes: Changes = {"turns": (*state.turns, turn)}
    if event.turn == "speech" and state.debate:
        changes["debate"] = replace(state.debate, call=event.call)
    # A failed call that is retried has no outcome yet.
    changes["outcomes"] = {call: outcome for call, outcome in state.outcomes.items() if call != event.call}
    return changes


def _failed(state: State, event: TurnFailed, _: datetime) -> Changes:
    failed = FailedCall(code=event.code, detail=event.detail)
    return {
        "turns": _without(state, event.juror_id),
        "outcomes": _answered(state, event.call, failed),
        "failures": state.failures + 1,
        "unusable": state.unusable + (event.code in ("invalid_reply", "refused")),
        "last_failure": failed,
    }


def _nothing(_: State, __: Event, ___: datetime) -> Changes:
    return {}


def _overseer_said(state: State, event: OverseerSaid, _: datetime) -> Changes:
    return _with_message(
        state, event.juror_id, RememberedMessage(text=event.text, topics=event.topics, repeats=event.repeats)
    )


def _presented(state: State, event: EvidencePresented, _: datetime) -> Changes:
    return _with_message(state, event.juror_id, RememberedMessage(evidence_id=event.evidence_id, repeats=event.repeats))


def _with_message(state: State, juror_id: str, heard: RememberedMessage) -> Changes:
    return {"juror_states": state.juror_states | {juror_id: _remembering(state.juror_states[juror_id], heard)}}


def _remembering(current: JurorState, heard: RememberedMessage) -> JurorState:
    return replace(current, remembered=(*current.remembered, heard))


def _replied(state: State, event: JurorSaid, _: datetime) -> Changes:
    turn = state.pending(event.juror_id)[0]
    current = state.juror_states[event.juror_id]
    repeats = current.remembered[-1].repeats
    exchange = Exchange(text=turn.text, evidence_id=turn.evidence_id, reply=event.text, repeats=repeats)
    current = replace(current, exchanges=(*current.exchanges, exchange))
    reply = ChatReply(
        juror_id=event.juror_id,
        reply=event.text,
        band=stance.band(current.stance),
        rounds_left=current.rounds_left,
        weakness_hit=stance.hits(turn.text, state.juror(event.juror_id).weakness.trigger_keywords),
        repeats=repeats,
        version=state.version + 1,
    )
    return {
        "juror_states": state.juror_states | {event.juror_id: current},
        "turns": _without(state, event.juror_id),
        "outcomes": _answered(state, turn.call, reply),
    }


def _noted(state: State, event: NoteSent, _: datetime) -> Changes:
    turn = state.pending(event.juror_id)[0]
    current = state.juror_states[event.juror_id]
    current = _remembering(
        replace(current, notes=(*current.notes, event.text)),
        RememberedMessage(text=event.text, topics=event.topics, repeats=event.repeats),
    )
    left = NoteReply(notes_left=state.rules.notes - state.notes_used - 1, repeats=event.repeats)
    return {
        "juror_states": state.juror_states | {event.juror_id: current},
        "notes_used": state.notes_used + 1,
        "turns": _without(state, event.juror_id),
        "outcomes": _answered(state, turn.call, left),
    }


def _round(state: State, event: RoundStarted, _: datetime) -> Changes:
    current = state.juror_states[event.leader]
    debate = Debate(round=event.round, leader=event.leader, responders=event.responders, snapshot=dict(state.stances))
    return {
        "round": event.round,
        "debate": debate,
        "juror_states": state.juror_states | {event.leader: replace(current, led=current.led + 1)},
    }


def _spoke(state: State, event: Speech, _: datetime) -> Changes:
    current = replace(state.juror_states[event.juror_id], notes=())
    debate = state.debate
    return {
        "debate": debate and replace(debate, speeches=(*debate.speeches, event)),
        "speeches": (*state.speeches, event),
        "juror_states": state.juror_states | {event.juror_id: current},
        "turns": _without(state, event.juror_id),
    }


def _moved(state: State, event: StanceChanged, _: datetime) -> Changes:
    current = state.juror_states[event.juror_id]
    spent = current.weakness_spent or event.cause == "weakness"
    last = current.last_move if event.after == event.before else _move(state, current, event)
    remembered = _weighed(current.remembered, event)
    moved = replace(current, stance=event.after, weakness_spent=spent, remembered=remembered, last_move=last)
    return {"juror_states": state.juror_states | {event.juror_id: moved}}


def _weighed(heard: tuple[RememberedMessage, ...], event: StanceChanged) -> tuple[RememberedMessage, ...]:
    """Records how far the latest message moved its juror."""
    if not heard or event.cause in ("speech", "weakness"):
        return heard
    if any(part.rule == "taken_back" for part in event.parts):
        return took_back(heard)
    return (*heard[:-1], replace(heard[-1], moved=event.after - event.before))


def _move(state: State, current: JurorState, event: StanceChanged) -> Move:
    if event.cause == "speech":
        speeches = state.debate.speeches if state.debate else ()
        text = next((each.text for each in speeches if each.juror_id == event.by), "")
        source = RememberedMessage(text=text)
    else:
        source = current.remembered[-1] if current.remembered else RememberedMessage()
    return Move(
        cause=event.cause,
        by=event.by,
        toward="guilt" if event.after > event.before else "innocence",
        topics=tuple(
            TopicImpact(topic=part.topic, impact=part.impact)
            for part in event.parts
            if part.rule == "topic" and part.impact
        ),
        # A note appears in the prompt of its juror's next speech only.
        text="" if event.cause == "note" else source.text,
        evidence_id=source.evidence_id,
    )


def _round_over(state: State, event: RoundEnded, _: datetime) -> Changes:
    debate = state.debate
    if debate is None:
        raise LookupError(f"round {event.round} was never started")
    reply = RoundReply(
        round=event.round,
        leader=debate.leader,
        responders=debate.responders,
        speeches=tuple(SpeechView(juror_id=each.juror_id, text=each.text) for each in debate.speeches),
        changes=tuple(
            BandChange(
                juror_id=juror, band_before=stance.band(before), band=stance.band(state.juror_states[juror].stance)
            )
            for juror, before in ((juror, debate.snapshot[juror]) for juror in state.juror_ids)
        ),
        phase="vote" if event.round == state.rules.deliberation else state.phase,
    )
    return {"debate": None, "outcomes": _answered(state, debate.call, reply)}


def _vote_called(_: State, __: VoteCalled, at: datetime) -> Changes:
    return {"voting": True, "vote_called_at": at}


def _decided(state: State, event: VoteDecided, at: datetime) -> Changes:
    ballot = Ballot(guilty=event.guilty, stance=event.stance, diverged=event.diverged, decided_at=at)
    return {"ballots": state.ballots | {event.juror_id: ballot}, "turns": _without(state, event.juror_id)}


def _deployed(_: State, event: ContractDeployed, at: datetime) -> Changes:
    contract = Contract(
        address=event.contract,
        chain_id=event.chain_id,
        tx_hash=event.tx_hash,
        log_hash=event.log_hash,
        deployed_at=at,
    )
    return {"contract": contract}


def _cast(state: State, event: VoteCast, _: datetime) -> Changes:
    ballot = replace(state.ballots[event.juror_id], tx_hash=event.tx_hash, settled=True)
    return {"ballots": state.ballots | {event.juror_id: ballot}}


def _missed(state: State, event: VoteMissed, _: datetime) -> Changes:
    ballot = replace(state.ballots[event.juror_id], settled=True)
    return {"ballots": state.ballots | {event.juror_id: ballot}}


def _chain_changed(state: State, event: ChainChanged, _: datetime) -> Changes:
    return {"failed": FailedVote(phase=state.phase, detail=event.detail, attempts=event.attempts)}


def _retried(state: State, _: VoteRetried, __: datetime) -> Changes:
    ballots = {juror: replace(ballot, tx_hash="", settled=False) for juror, ballot in state.ballots.items()}
    return {"failed": None, "contract": None, "ballots": ballots, "vote_retries": state.vote_retries + 1}


def _verdict(_: State, event: VerdictRead, __: datetime) -> Changes:
    verdict = VerdictView(
        verdict=event.verdict,
        guilty=event.guilty,
        not_guilty=event.not_guilty,
        votes=event.votes,
        contract=event.contract,
        chain_id=event.chain_id,
        log_hash=event.log_hash,
    )
    return {"verdict": verdict}


def _ended(_: State, event: Ended, __: datetime) -> Changes:
    return {"ending": event.ending, "turns": ()}


def _aborted(_: State, __: GameAborted, ___: datetime) -> Changes:
    return {"phase": "aborted", "turns": ()}


def _probed(_: State, event: ToolsProbed, __: datetime) -> Changes:
    return {"probed": True, "calls_tools": event.calls_tools}


def _without(state: State, juror_id: str) -> tuple[Turn, ...]:
    """Removes the juror's first pending turn: a juror takes its turns in order."""
    done = state.pending(juror_id)[:1]
    return tuple(turn for turn in state.turns if turn not in done)


def _answered(state: State, call: str, outcome: Outcome) -> dict[str, Outcome]:
    outcomes = {**state.outcomes, call: outcome}
    failed = [known for known, each in outcomes.items() if isinstance(each, FailedCall)]
    for oldest in failed[: max(0, len(outcomes) - KEPT_OUTCOMES)]:
        del outcomes[oldest]
    return outcomes


FOLDS: Final[Mapping[type[Event], Fold]] = {
    JuryOpened: _opened,
    PhaseChanged: _phase,
    WitnessTalked: _talked,
    EvidenceUnlocked: _unlocked,
    EvidenceRead: _read,
    TurnStarted: _started,
    AttemptMade: _nothing,
    TurnFailed: _failed,
    ToolsProbed: _probed,
    OverseerSaid: _overseer_said,
    EvidencePresented: _presented,
    JurorSaid: _replied,
    NoteSent: _noted,
    RoundStarted: _round,
    Speech: _spoke,
    StanceChanged: _moved,
    RoundEnded: _round_over,
    ToolCalled: _nothing,
    VoteCalled: _vote_called,
    VoteDecided: _decided,
    ContractDeployed: _deployed,
    VoteCast: _cast,
    VoteMissed: _missed,
    ChainChanged: _chain_changed,
    VoteRetried: _retried,
    VerdictRead: _verdict,
    Ended: _ended,
    GameAborted: _aborted,
}
