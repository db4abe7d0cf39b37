"""The views and messages of a session for its owner; no one else gets any."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import UNSET
from playmolt_core.game.decider import AllowedAction
from playmolt_schemas.feed_messages import FeedMessage
from playmolt_schemas.games.legal import (
    FEED,
    EvidenceAddedMessage,
    FactChangedMessage,
    FinalTurn,
    Gate,
    LegalProgressMessage,
    LegalTurnFailedMessage,
    Session,
    SessionDoneMessage,
    SessionTurn,
    TurnDoneMessage,
)
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.legal import (
    EndForm,
    EvidenceAdded,
    FactChanged,
    FactsStipulated,
    GateOpened,
    SessionAborted,
    SessionDone,
    SessionRested,
    TurnFailed,
    TurnRecorded,
)

from playmolt_legal import fact_states, outputs, texts
from playmolt_legal.facts import uploads
from playmolt_legal.forms import gate_schemas, intake
from playmolt_legal.guardrails import corpus
from playmolt_legal.phases import STIPULATE
from playmolt_legal.roles import points
from playmolt_legal.state import State, TurnRecord


def session(state: State) -> Session:
    return Session(
        id=state.game_id,
        case_type=state.case_type,
        jurisdiction=state.jurisdiction,
        title=state.title,
        language=state.language,
        exclusions=state.exclusions,
        model=state.model,
        side=state.side,
        created_at=state.created_at,
        version=state.version,
        phase=state.phase,
        facts=uploads.shown(state),
        steering=state.steering,
        steering_history=state.steering_history,
        turns=tuple(_turn(state, number, turn) for number, turn in enumerate(state.turns, 1)),
        gate=_gate(state, state.gate) if state.gate else None,
        failed=state.failed,
        final=_final(state),
        previous_session=state.previous_session,
        next_session=state.next_session,
    )


def _final(state: State) -> FinalTurn | None:
    form = state.gate_history[-1].form if state.final_turn else None
    if not state.final_turn or not isinstance(form, EndForm):
        return None
    return FinalTurn(instructions=form.final_instructions, status=state.final_turn.status)


def allowed_actions(state: State) -> tuple[AllowedAction, ...]:
    match state.waiting:
        case "intake":
            return (AllowedAction("facts", intake.facts_schema(carried=state.previous_session is not None)),)
        case "retry":
            return (AllowedAction("retry", {"type": "object", "properties": {}, "additionalProperties": False}),)
        case "person" if state.gate:
            return (AllowedAction("steering", gate_schemas.schema(state, state.gate)),)
    return ()


def public(state: State, event: Event) -> FeedMessage:
    """The owner's message for an event; LegalProgressMessage if the event has no message of its own."""
    if isinstance(event, FactsStipulated):
        return _stipulated(state, event)
    if written := _WRITTEN.get(type(event)):
        return written(event)
    copy = FEED.copies.get(type(event))
    return copy(event, None) if copy else LegalProgressMessage()


def _turn(state: State, number: int, turn: TurnRecord) -> SessionTurn:
    return SessionTurn(
        n=number,
        phase=turn.phase,
        role=turn.role,
        title=texts.of(state.language).titles[state.case_type][turn.role],
        round=turn.round,
        output=turn.output,
        draft=turn.draft,
        hits=turn.hits,
        unresolved=turn.unresolved,
        warnings=turn.warnings,
        citations=UNSET if turn.citations is None else turn.citations,
        gate_status=UNSET if turn.gate_status is None else turn.gate_status,
        unverified=turn.unverified or UNSET,
        stale=turn.stale,
        redone=turn.redone,
        earlier=turn.earlier,
        points=points.of(turn),
    )


_BY_CORRECTION: Final = re.compile(r"C\d+")


def _gate(state: State, gate: GateOpened) -> Gate:
    return Gate(
        name=gate.gate,
        banner=gate.banner,
        missing_evidence=gate.missing_evidence,
        checklist=gate.checklist,
        issues=gate.issues,
        focus=gate.focus,
        refused=state.facts.refused,
        facts_to_settle=tuple(
            fact.id for fact in state.facts.disputed if fact.reason and _BY_CORRECTION.fullmatch(fact.reason)
        ),
        schema=gate_schemas.schema(state, gate),
    )


def _stipulated(state: State, event: FactsStipulated) -> FeedMessage:
    output = {
        "ConfirmedFacts": event.confirmed,
        "DisputedFacts": event.disputed,
        "MissingFactsQuestions": event.questions,
    }
    supplied = corpus.supplied(state)
    worded = corpus.stipulated(event.confirmed, event.disputed, event.questions)
    unverified = tuple(dict.fromkeys(text for fact in worded for text in corpus.uncited(supplied, fact)))
    return TurnDoneMessage(phase=STIPULATE, output=output, unverified=unverified or UNSET)


def _recorded(event: TurnRecorded) -> FeedMessage:
    output = outputs.in_order(event.output)
    return TurnDoneMessage(phase=event.phase, output=output, unverified=event.unverified or UNSET)


def _failed(event: TurnFailed) -> FeedMessage:
    return LegalTurnFailedMessage(phase=event.phase, code=event.code, detail=event.detail, attempts=event.attempts)


def _fact_changed(event: FactChanged) -> FeedMessage:
    state = fact_states.to_state(event.action)
    return FactChangedMessage(fact_id=event.fact_id, action=event.action, state=state, new_id=event.new_id)


def _evidence_added(event: EvidenceAdded) -> FeedMessage:
    return EvidenceAddedMessage(evidence_id=event.evidence.id)


def _done(_: SessionDone | SessionRested | SessionAborted) -> FeedMessage:
    return SessionDoneMessage()


_WRITTEN: Final[Mapping[type[Event], Callable[[Any], FeedMessage]]] = {
    TurnRecorded: _recorded,
    TurnFailed: _failed,
    FactChanged: _fact_changed,
    EvidenceAdded: _evidence_added,
    SessionDone: _done,
    SessionRested: _done,
    SessionAborted: _done,
}
"""The messages with other content than their event's fields, besides those that need more than the event."""
