"""Changes of facts at a gate, and the turns that relied on them."""

import re
from collections.abc import Iterator
from typing import Final

from playmolt_core.game.decider import Accepted, Decision
from playmolt_schemas.body_fields import BodyFields
from playmolt_schemas.codes import Code
from playmolt_schemas.games.legal import FactAction, FactChangeRequest, RedoRequest
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.legal import FactChanged, Facts, FactsCorrected, RedoAsked, TurnsStale

from playmolt_legal import commands, fact_states
from playmolt_legal.codes import NO_SESSION, invalid_request, listed, refused
from playmolt_legal.guardrails import redaction
from playmolt_legal.state import State

_NAMED: Final = re.compile(r"\s*([FD]\d{1,6})\s*[:：]\s*(\S.*)")


def change_fact(state: State, command: commands.ChangeFact) -> Decision:
    if not state.version or command.agent_id != state.owner:
        return NO_SESSION
    if state.gate is None:
        return refused(
            Code.SESSION_PHASE, f"You can change facts only while a gate is open; the session is in {state.phase}."
        )
    fact = fact_states.found(state.facts, command.fact_id)
    if fact is None:
        return refused(Code.NOT_FOUND, "This fact does not exist. GET the session to see its facts and their ids.")
    if fact.state not in fact_states.STANDING:
        return refused(Code.NOT_STANDING, f"{fact.id} is {fact.state}; change a current fact.")
    fields = BodyFields(command.body, what="the form")
    asked = _read(fields)
    if fields.faults:
        detail = f"Nothing changed. Fix the form and retry: {listed(fields.faults)}."
        return refused(Code.INVALID_FORM, detail, fields.faults)
    event = fact_states.change(state.facts, fact, command.agent_id, asked)
    return Accepted((event, *_stale(state, (event,))) if event else ())


def redo(state: State, command: commands.Redo) -> Decision:
    if not state.version or command.agent_id != state.owner:
        return NO_SESSION
    if state.gate is None:
        return refused(
            Code.SESSION_PHASE, f"You can redo turns only while a gate is open; the session is in {state.phase}."
        )
    stale = [number for number, turn in enumerate(state.turns, 1) if turn.stale]
    fields = BodyFields({} if command.body is None else command.body)
    fields.only(RedoRequest.__struct_encode_fields__)
    wanted = fields.whole_numbers("turns", stale, "turns' numbers") if fields.sound else stale
    if any(each not in stale for each in wanted):
        fields.fault("turns", f"has a turn that is not stale; stale turns are {', '.join(map(str, stale)) or 'none'}")
    if fields.faults:
        return invalid_request(tuple(fields.faults))
    if not wanted:
        return refused(Code.NOTHING_TO_REDO, "No turn relies on a superseded or withdrawn fact.")
    return Accepted((RedoAsked(by=command.agent_id, turns=_with_verifiers(state, set(wanted))),))


def corrected(state: State, by: str, text: str) -> tuple[Event, ...]:
    """The events of round 1's corrections: `F3: …` corrects a fact; other text is an input and may dispute facts."""
    facts, changes, rest = state.facts, [], []
    for line in text.splitlines():
        named = _NAMED.fullmatch(line)
        fact = fact_states.found(facts, named[1]) if named else None
        if named is None or fact is None or fact.state not in fact_states.STANDING:
            rest.append(line)
            continue
        event = fact_states.change(facts, fact, by, fact_states.FactRequest("correct", named[2].strip()))
        if event:
            changes.append(event)
            facts = fact_states.changed(facts, event, "")
    other = "\n".join(rest).strip()
    other_events: tuple[Event, ...] = (FactsCorrected(by=by, text=other),) if other else ()
    reason = f"C{len(facts.corrections) + 1}"
    doubts = tuple(
        FactChanged(fact_id=fact.id, action="questioned", by=by, reason=reason)
        for fact in (redaction.questioned(facts, other) if other else ())
    )
    return (*changes, *other_events, *doubts, *_stale(state, tuple(changes)))


def _read(fields: BodyFields) -> fact_states.FactRequest:
    fields.only(FactChangeRequest.__struct_encode_fields__)
    action: FactAction = fields.field(FactChangeRequest, "action")
    text = ""
    if fields.body.get("action") == "correct":
        text = fields.field(FactChangeRequest, "text")
    elif "text" in fields.body:
        fields.fault("text", "is allowed only with correct")
    reason = fields.field(FactChangeRequest, "reason")
    return fact_states.FactRequest(action, text, reason or None)


def _stale(state: State, changes: tuple[FactChanged, ...]) -> Iterator[TurnsStale]:
    """The turns that rely on facts no longer current, and the verifiers of their rounds."""
    facts: Facts = state.facts
    for event in changes:
        facts = fact_states.changed(facts, event, "")
    for event in changes:
        fact = fact_states.found(facts, event.fact_id)
        if fact is None or fact.state in fact_states.STANDING:
            continue
        relying = {
            number
            for number, turn in enumerate(state.turns, 1)
            if redaction.relies(facts, state.evidence_texts, fact, turn.output)
        }
        if relying:
            yield TurnsStale(fact_id=fact.id, turns=_with_verifiers(state, relying))


def _with_verifiers(state: State, numbers: set[int]) -> tuple[int, ...]:
    rounds = {state.turns[number - 1].round for number in numbers}
    verifiers = {n for n, turn in enumerate(state.turns, 1) if turn.role == "verifier" and turn.round in rounds}
    return tuple(sorted(numbers | verifiers))
