"""The events of a model's answer: a recorded turn, a draft to be rewritten, or stipulated facts."""

from collections.abc import Mapping
from typing import Any, Final

from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.legal import Check, DraftSetAside, GateStatus, GuardrailHit, Hit, TurnRecorded

from playmolt_legal import outputs, phases
from playmolt_legal.facts import stipulation
from playmolt_legal.forms import gates
from playmolt_legal.guardrails import corpus, guardrails
from playmolt_legal.state import State

_STATUSES: Final[tuple[GateStatus, ...]] = ("Go", "Conditional", "No-Go")
_CHECKS: Final[tuple[Check, ...]] = ("unsupported_fact", "certain_advice", "out_of_focus", "exclusion")


def events(state: State, answer: Any) -> tuple[Event, ...]:
    """The events of an answer to the pending turn. Raises InvalidReply if it does not fit its schema."""
    output = outputs.read(answer, state.asked, state.case_type)
    if state.asked == phases.STIPULATE:
        return (stipulation.stipulated(state, output),)
    estimate = output.get("Likelihood")
    if estimate is not None and not corpus.basis_ids(state.facts).issuperset(estimate["basis"]):
        del output["Likelihood"]
    found = guardrails.inspect(state, output)
    if found.hits and state.draft is None:
        return (*_by_check(state, found.hits), DraftSetAside(phase=state.asked, output=output))
    recorded = TurnRecorded(
        phase=state.asked,
        output=output,
        unresolved=found.hits,
        warnings=found.warnings,
        citations=found.citations,
        gate_status=_status(state, output, found.hits),
        unverified=found.unverified,
    )
    return (recorded,)


def _by_check(state: State, hits: tuple[Hit, ...]) -> tuple[GuardrailHit, ...]:
    grouped = ((check, tuple(hit for hit in hits if hit.check == check)) for check in _CHECKS)
    return tuple(GuardrailHit(phase=state.asked, check=check, hits=group) for check, group in grouped if group)


def _status(state: State, output: Mapping[str, object], hits: tuple[Hit, ...]) -> GateStatus | None:
    """The effective gate status: an invalid one is Conditional, and so is Go with unresolved hits."""
    if "GateStatus" not in output:
        return None
    status: GateStatus = next((known for known in _STATUSES if known == output["GateStatus"]), "Conditional")
    if status == "Go" and (hits or gates.unresolved(state, state.round)):
        return "Conditional"
    return status
