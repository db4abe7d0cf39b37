"""The JSON Schemas of the gates' forms, which a page renders them from."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from playmolt_schemas.body_fields import bounds
from playmolt_schemas.stored.legal import (
    EndForm,
    EvidenceEntry,
    GateName,
    GateOpened,
    MoreFacts,
    QuestionAnswer,
    Round1Form,
    Round2Form,
    TimelineEntry,
)

from playmolt_legal import texts
from playmolt_legal.forms.gate_forms import GOALS, LEVELS, STANCES, STYLES
from playmolt_legal.state import State

Rules = tuple[dict[str, Any], list[str], list[dict[str, Any]]]
"""The properties of a form, the names of those required, and conditions over them."""


def schema(state: State, gate: GateOpened) -> dict[str, Any]:
    """The schema of the open gate's form, titled in the session's language."""
    words = texts.of(state.language)
    properties, required, rules = _SCHEMAS[gate.gate](state, gate, words)
    properties = {"gate": {"const": gate.gate}, **properties, **_missing_schema(gate)}
    titled = {
        name: {"title": words.fields[name], **rule} if name in words.fields else rule
        for name, rule in properties.items()
    }
    needed = ["gate", *required, *(["missing_evidence_answers"] if gate.missing_evidence else [])]
    closed = {"type": "object", "properties": titled, "required": needed, "additionalProperties": False}
    return closed | ({"allOf": rules} if rules else {})


def _text(kind: type[msgspec.Struct], name: str) -> dict[str, Any]:
    return _text_within(bounds(kind, name))


def _text_within(bound: Mapping[str, Any]) -> dict[str, Any]:
    # Blank counts as empty; the pattern says so to a page, since minLength counts blanks.
    filled = {"minLength": 1, "pattern": r"\S"} if bound.get("minLength") else {}
    return {"type": "string", "maxLength": bound["maxLength"], **filled}


def _list(kind: type[msgspec.Struct], name: str, **item: Any) -> dict[str, Any]:
    bound = bounds(kind, name)
    return {
        "type": "array",
        "items": {**_text_within(bound["items"]), **item},
        **{key: bound[key] for key in ("minItems", "maxItems", "uniqueItems")},
    }


def _choice(options: tuple[str, ...], labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": "string",
        "enum": list(options),
        "oneOf": [{"const": option, "title": labels[option]} for option in options],
    }


def _if(field: str, value: Any, then: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"properties": {field: {"const": value}}, "required": [field]}, "then": then}


def _objects(name: str, **fields: dict[str, Any]) -> dict[str, Any]:
    required = [name for name in fields if name != "agreed"]
    item = {"type": "object", "properties": fields, "required": required, "additionalProperties": False}
    return {"type": "array", "items": item, "maxItems": bounds(MoreFacts, name)["maxItems"]}


def _facts_schema(state: State, gate: GateOpened, words: texts.LegalTexts) -> Rules:
    questions = [question.id for question in state.facts.questions]
    more = {
        "type": "object",
        "properties": {
            "text": {"title": words.fields["text"], **_text(MoreFacts, "text")},
            "answers": {
                "title": words.fields["answers"],
                **_objects("answers", id={"enum": questions}, text=_text(QuestionAnswer, "text")),
            },
            "timeline": {
                "title": words.fields["timeline"],
                **_objects(
                    "timeline",
                    when=_text(TimelineEntry, "when"),
                    what=_text(TimelineEntry, "what"),
                    agreed={"type": "boolean"},
                ),
            },
            "evidence": {
                "title": words.fields["evidence"],
                **_objects(
                    "evidence", title=_text(EvidenceEntry, "title"), description=_text(EvidenceEntry, "description")
                ),
            },
        },
        "additionalProperties": False,
        "minProperties": 1,
    }
    properties: dict[str, Any] = {"choice": _choice(gate.options, words.choices)}
    if "add_facts" not in gate.options:
        return properties, ["choice"], []
    return properties | {"facts": more}, ["choice"], [_if("choice", "add_facts", {"required": ["facts"]})]


def _round1_schema(_: State, gate: GateOpened, words: texts.LegalTexts) -> Rules:
    focus = _list(Round1Form, "focus_issues") | ({"examples": list(gate.issues)} if gate.issues else {})
    properties = {
        "focus_issues": focus,
        "goal": _choice(GOALS, words.goals),
        "stance": _choice(STANCES, words.stances),
        "fact_corrections": _text(Round1Form, "fact_corrections"),
    }
    return properties, ["focus_issues", "goal", "stance"], []


def _round2_schema(state: State, _: GateOpened, words: texts.LegalTexts) -> Rules:
    offered = [{"const": code, "title": label} for code, label in words.constraints.items()]
    free = _text(Round2Form, "proof_priority")
    properties: dict[str, Any] = {
        "proof_priority": free,
        "evidence_level": _choice(LEVELS, words.levels),
        "obtainable_evidence": _list(Round2Form, "obtainable_evidence"),
        "constraints": _list(Round2Form, "constraints", anyOf=[*offered, {"type": "string"}]),
        "instructions": _text(Round2Form, "instructions"),
    }
    required = ["proof_priority", "evidence_level", "obtainable_evidence", "constraints"]
    if state.case_type == "criminal":
        return properties, required, []
    properties |= {
        "settlement_interest": {"type": "boolean"},
        "concession_range": _text(Round2Form, "concession_range"),
    }
    conceded = {"required": ["concession_range"], "properties": {"concession_range": free}}
    rules = [
        _if("settlement_interest", True, conceded),
        _if("settlement_interest", False, {"properties": {"concession_range": {"pattern": r"^\s*$"}}}),
    ]
    return properties, [*required, "settlement_interest"], rules


def _end_schema(_: State, gate: GateOpened, words: texts.LegalTexts) -> Rules:
    properties = {
        "resolution": _choice(gate.options, words.resolutions),
        "report_style": _choice(STYLES, words.styles),
        "final_instructions": _text(EndForm, "final_instructions"),
    }
    return properties, ["resolution", "report_style"], []


def _missing_schema(gate: GateOpened) -> dict[str, Any]:
    answer = _text(Round1Form, "missing_evidence_answers")
    answers = {item.id: {"title": item.text, **answer} for item in gate.missing_evidence}
    return {
        "missing_evidence_answers": {
            "type": "object",
            "properties": answers,
            "required": list(answers),
            "additionalProperties": False,
        }
    }


_SCHEMAS: Final[Mapping[GateName, Callable[[State, GateOpened, texts.LegalTexts], Rules]]] = {
    "facts": _facts_schema,
    "round1": _round1_schema,
    "round2": _round2_schema,
    "end": _end_schema,
}
