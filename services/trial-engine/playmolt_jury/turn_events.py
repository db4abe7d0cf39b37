"""The events of a finished turn, in log order: what was said, and how it changed stances."""

import json
from collections.abc import Iterable, Iterator

from msgspec.structs import replace
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import (
    Cause,
    EvidencePresented,
    JurorSaid,
    NoteSent,
    OverseerSaid,
    PhaseChanged,
    RoundEnded,
    Speech,
    ToolCalled,
    TopicImpact,
    TurnStarted,
    VoteDecided,
)

from playmolt_jury import replies
from playmolt_jury.commands import JurorTurn, ToolUse
from playmolt_jury.events import StanceChanged
from playmolt_jury.persuasion import stance
from playmolt_jury.persuasion.repetition import RememberedMessage, Repetition, repetition
from playmolt_jury.persuasion.stance import SPEECHES
from playmolt_jury.state import Debate, State, Turn

OVERSEER = "overseer"


def events_of(state: State, turn: Turn, command: JurorTurn) -> tuple[Event, ...]:
    match turn.kind:
        case "chat":
            return _chat(state, turn, command)
        case "present":
            return _present(state, turn, command)
        case "note":
            return _note(state, turn, command)
        case "speech":
            return _speech(state, turn, command)
        case "vote":
            return _vote(state, turn, command)


def chat_changes(state: State, turn: Turn, topics: Iterable[TopicImpact]) -> tuple[StanceChanged, ...]:
    """The stance changes of a chat: the argument, then the weakness if it is hit for the first time."""
    juror, current = state.juror(turn.juror_id), state.juror_states[turn.juror_id]
    said = _argued(state, turn, "chat", topics)
    if current.weakness_spent or not stance.hits(turn.text, juror.weakness.trigger_keywords):
        return (said,)
    return (said, _changed(turn.juror_id, "weakness", OVERSEER, stance.struck(said.before, said.after)))


def evidence_change(state: State, turn: Turn) -> StanceChanged:
    """The stance change of a presented item."""
    item = state.item(turn.evidence_id)
    return _argued(state, turn, "evidence", item.topics if item else ())


def repeated(state: State, turn: Turn, topics: Iterable[TopicImpact] = ()) -> Repetition:
    """The earlier messages to the juror that a turn of the overseer repeats."""
    new = RememberedMessage(text=turn.text, evidence_id=turn.evidence_id, topics=tuple(topics))
    return repetition(state.juror_states[turn.juror_id].remembered, new)


def _chat(state: State, turn: Turn, command: JurorTurn) -> tuple[Event, ...]:
    topics = replies.kept(command.topics, state.topics)
    return (
        OverseerSaid(
            juror_id=turn.juror_id, text=turn.text, topics=topics, repeats=repeated(state, turn, topics).repeats
        ),
        *chat_changes(state, turn, topics),
        *tools(turn, command.tools),
        JurorSaid(juror_id=turn.juror_id, text=command.text),
    )


def _present(state: State, turn: Turn, command: JurorTurn) -> tuple[Event, ...]:
    return (
        EvidencePresented(juror_id=turn.juror_id, evidence_id=turn.evidence_id, repeats=repeated(state, turn).repeats),
        evidence_change(state, turn),
        *tools(turn, command.tools),
        JurorSaid(juror_id=turn.juror_id, text=command.text),
    )


def _note(state: State, turn: Turn, command: JurorTurn) -> tuple[Event, ...]:
    topics = replies.kept(command.topics, state.topics)
    return (
        NoteSent(juror_id=turn.juror_id, text=turn.text, topics=topics, repeats=repeated(state, turn, topics).repeats),
        _argued(state, turn, "note", topics, half=True),
    )


def _speech(state: State, turn: Turn, command: JurorTurn) -> tuple[Event, ...]:
    speech = Speech(
        round=turn.round,
        juror_id=turn.juror_id,
        text=command.text,
        topics=replies.kept(command.topics, state.topics),
    )
    said = (*tools(turn, command.tools), speech)
    debate = state.debate
    if debate is None:
        raise LookupError(f"{turn.juror_id} speaks in no round")
    speeches = (*debate.speeches, speech)
    if len(speeches) < SPEECHES:
        return (*said, speech_started(debate.speakers[len(speeches)], turn.round, turn.call))
    over: tuple[Event, ...] = (*said, *_influence(state, debate, speeches), RoundEnded(round=turn.round))
    if turn.round < state.rules.deliberation:
        return over
    return (*over, PhaseChanged(from_="deliberation", to="vote"))


def tools(turn: Turn, uses: Iterable[ToolUse]) -> Iterator[ToolCalled]:
    """The tool calls of a turn, whether it succeeded or failed."""
    for use in uses:
        yield ToolCalled(juror_id=turn.juror_id, tool=use.tool, input=use.input, result=use.result)


def speech_started(speaker: str, round_: int, call: str) -> TurnStarted:
    return TurnStarted(call=call, turn="speech", juror_id=speaker, round=round_)


def _influence(state: State, debate: Debate, speeches: Iterable[Speech]) -> Iterable[StanceChanged]:
    live = state.stances
    for speech in speeches:
        speaker = state.juror(speech.juror_id)
        for listener in state.juror_ids:
            if listener == speaker.id:
                continue
            change = stance.swayed(
                live[listener],
                listener=debate.snapshot[listener],
                speaker=debate.snapshot[speaker.id],
                power=speaker.speaker_power,
                weights=state.juror(listener).topic_weights,
                topics=speech.topics,
            )
            live[listener] = change.after
            yield _changed(listener, "speech", speaker.id, change)


def _vote(state: State, turn: Turn, command: JurorTurn) -> tuple[Event, ...]:
    now = state.juror_states[turn.juror_id].stance
    decided = VoteDecided(
        juror_id=turn.juror_id, guilty=stance.votes_guilty(now), stance=now, diverged=command.diverged
    )
    uses = _cast_at_once(command) if state.script and not state.script.chain else _but_the_cast(command)
    return (*tools(turn, uses), decided)


def _but_the_cast(command: JurorTurn) -> tuple[ToolUse, ...]:
    """The tool calls without the one that cast the vote: its result is known only once the vote is mined."""
    if command.diverged:
        return command.tools
    casts = [place for place, use in enumerate(command.tools) if use.tool == replies.CAST]
    return tuple(use for place, use in enumerate(command.tools) if place not in casts[-1:])


def _cast_at_once(command: JurorTurn) -> tuple[ToolUse, ...]:
    """The tool calls of a vote without a chain: the one that cast it has its result now, without a transaction."""
    kept = _but_the_cast(command)
    return tuple(
        use if use in kept else replace(use, result=json.dumps({"guilty": use.input.get("guilty"), "tx_hash": None}))
        for use in command.tools
    )


def _argued(
    state: State, turn: Turn, cause: Cause, topics: Iterable[TopicImpact], *, half: bool = False
) -> StanceChanged:
    weights, now = state.juror(turn.juror_id).topic_weights, state.juror_states[turn.juror_id].stance
    said = tuple(topics)
    again = repeated(state, turn, said)
    change = stance.argued(now, weights, said, half=half, factors=again.factors, taken_back=again.taken_back)
    return _changed(turn.juror_id, cause, OVERSEER, change)


def _changed(juror_id: str, cause: Cause, by: str, change: stance.Change) -> StanceChanged:
    return StanceChanged(
        juror_id=juror_id, cause=cause, by=by, before=change.before, after=change.after, parts=change.parts
    )
