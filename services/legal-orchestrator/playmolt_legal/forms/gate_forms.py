"""The forms of the gates, read from bodies."""

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from msgspec.structs import replace
from playmolt_schemas.body_fields import BodyFields, Faults
from playmolt_schemas.stored.legal import (
    ENTRIES,
    FORM_TEXT_CHARS,
    AnyForm,
    EndForm,
    EvidenceLevel,
    FactsChoice,
    FactsForm,
    GateName,
    GateOpened,
    Goal,
    MoreFacts,
    ReportStyle,
    Resolution,
    Round1Form,
    Round2Form,
    Stance,
    SteeringSettings,
)

from playmolt_legal.forms.intake import check_answers
from playmolt_legal.state import State

GATES: Final[tuple[GateName, ...]] = get_args(GateName)
_CHOICES: Final[tuple[FactsChoice, ...]] = get_args(FactsChoice)
_RESOLUTIONS: Final[tuple[Resolution, ...]] = get_args(Resolution)
STYLES: Final[tuple[ReportStyle, ...]] = get_args(ReportStyle)
GOALS: Final[tuple[Goal, ...]] = get_args(Goal)
STANCES: Final[tuple[Stance, ...]] = get_args(Stance)
LEVELS: Final[tuple[EvidenceLevel, ...]] = get_args(EvidenceLevel)
_LATER: Final[Mapping[str, Any]] = {"missing_evidence_answers": {}}
"""The answers depend on what the gate asks; they are read last."""


def named_gate(body: object) -> GateName | Faults:
    """Read which gate a form is for."""
    fields = BodyFields(body, what="the form")
    if not fields.sound or not fields.required("gate"):
        return tuple(fields.faults)
    return fields.result(fields.one_of("gate", GATES))


def read_form(body: Mapping[str, object], state: State, gate: GateOpened) -> AnyForm | Faults:
    """Read the form of the open gate; gives every fault instead when there is one."""
    fields = BodyFields(body)
    form = _READERS[gate.gate](fields, state, gate)
    return fields.result(replace(form, missing_evidence_answers=_missing(fields, gate)))


def _missing(fields: BodyFields, gate: GateOpened) -> dict[str, str]:
    name = "missing_evidence_answers"
    value = fields.body.get(name, {})
    asked = [item.id for item in gate.missing_evidence]
    if not isinstance(value, dict):
        fields.fault(name, "must be an object of id and text")
        return {}
    unknown = [str(key)[:16].encode("utf-8", "replace").decode() for key in value if key not in asked]
    if unknown:
        fields.fault(name, f"has unknown ids: {', '.join(unknown[:5])}")
    unanswered = [key for key in asked if key not in value]
    if unanswered:
        fields.fault(name, f'needs an answer, or "none", to {", ".join(unanswered)}')
    answers = BodyFields({key: value[key] for key in asked if key in value})
    # Sorted by name, as the log keeps them, so that a replay gives the same bytes.
    read = {key: answers.text(key, FORM_TEXT_CHARS) for key in sorted(answers.body)}
    if answers.faults:
        fields.fault(name, "; ".join(f"{fault.field} {fault.message}" for fault in answers.faults))
    return read


def _facts(fields: BodyFields, state: State, gate: GateOpened) -> FactsForm:
    _only(fields, FactsForm)
    offered = tuple(choice for choice in _CHOICES if choice in gate.options)
    form = fields.struct(FactsForm, options={"choice": offered}, facts=None, **_LATER)
    more, given = None, fields.body.get("choice")
    if given == "add_facts" or (given != "proceed_unclear" and "facts" in fields.body):
        more = _more_facts(fields, state)
    elif fields.body.get("facts"):
        fields.fault("facts", "is allowed only with add_facts; omit it to proceed as unclear")
    return replace(form, facts=more)


def _more_facts(fields: BodyFields, state: State) -> MoreFacts | None:
    if not fields.required("facts"):
        return None
    inner = fields.inner("facts")
    if inner is None:
        return None
    inner.only(MoreFacts.__struct_fields__)
    more = inner.struct(MoreFacts)
    check_answers(inner, more.answers, [question.id for question in state.facts.questions])
    if more == MoreFacts() and inner.sound:
        fields.fault("facts", "must have text, answers, timeline or evidence")
    if len(state.facts.timeline) + len(more.timeline) > ENTRIES:
        fields.fault("facts.timeline", f"exceeds the limit of {ENTRIES} entries")
    if sum(not item.uploaded for item in state.facts.evidence) + len(more.evidence) > ENTRIES:
        fields.fault("facts.evidence", f"exceeds the limit of {ENTRIES} pieces")
    return more


def _round1(fields: BodyFields, _: State, __: GateOpened) -> Round1Form:
    _only(fields, Round1Form)
    return fields.struct(Round1Form, **_LATER)


def _round2(fields: BodyFields, state: State, _: GateOpened) -> Round2Form:
    civil = state.case_type == "civil"
    _only(fields, Round2Form, *(() if civil else ("settlement_interest", "concession_range")))
    interest, concession = _settlement(fields) if civil else (None, "")
    return fields.struct(Round2Form, settlement_interest=interest, concession_range=concession, **_LATER)


def _settlement(fields: BodyFields) -> tuple[bool | None, str]:
    interest = fields.flag("settlement_interest")
    if interest:
        return interest, fields.text("concession_range", FORM_TEXT_CHARS)
    given = fields.text("concession_range", FORM_TEXT_CHARS, required=False)
    if given and fields.body.get("settlement_interest") is False:
        fields.fault("concession_range", "is allowed only with settlement_interest: true")
    return interest, ""


def _end(fields: BodyFields, _: State, gate: GateOpened) -> EndForm:
    _only(fields, EndForm)
    offered = tuple(word for word in _RESOLUTIONS if word in gate.options)
    return fields.struct(EndForm, options={"resolution": offered}, **_LATER)


def _only(fields: BodyFields, kind: type[AnyForm], *refused: str) -> None:
    fields.only({"gate", *kind.__struct_encode_fields__}.difference(refused))


_READERS: Final[Mapping[GateName, Callable[[BodyFields, State, GateOpened], AnyForm]]] = {
    "facts": _facts,
    "round1": _round1,
    "round2": _round2,
    "end": _end,
}


def merged_steering(steering: SteeringSettings, form: AnyForm) -> SteeringSettings:
    """Merge a form field by field: what it gives wins, lists are replaced, what it leaves out stays."""
    given = {name: value for name, value in _steering_fields(form).items() if value not in (None, "", ())}
    return replace(steering, **given)


def _steering_fields(form: AnyForm) -> dict[str, object]:
    match form:
        case Round1Form():
            return {"focus_issues": form.focus_issues, "goal": form.goal, "stance": form.stance}
        case Round2Form():
            conceded = {"concession_range": form.concession_range} if form.settlement_interest else {}
            return {
                "proof_priority": form.proof_priority,
                "evidence_level": form.evidence_level,
                "obtainable_evidence": form.obtainable_evidence,
                "settlement_interest": form.settlement_interest,
                "constraints": form.constraints,
                "note": form.instructions,
                **conceded,
            }
        case EndForm():
            return {"report_style": form.report_style, "note": form.final_instructions}
        case _:
            return {}
