"""The JSON Schemas of the gates' forms, which a page renders them from."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from playmolt_schemas.stored.legal import (
    ENTRIES,
    ENTRY_CHARS,
    FOCUS_ISSUES,
    FORM_TEXT_CHARS,
    NARRATIVE_CHARS,
    NOTE_CHARS,
    GateName,
    GateOpened,
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


def _text(most: int, fewest: int = 1) -> dict[str, Any]:
    # Blank counts as empty; the pattern says so to a page, since minLength counts blanks.
    return {"type": "string", "maxLength": most} | ({"minLength": fewest, "pattern": r"\S"} if fewest else {})


def _list(items: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1, "maxItems": most, "uniqueItems": True}


def _choice(options: tuple[str, ...], labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": "string",
        "enum": list(options),
        "oneOf": [{"const": option, "title": labels[option]} for option in options],
    }


def _if(field: str, value: Any, then: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"properties": {field: {"const": value}}, "required": [field]}, "then": then}


def _objects(**fields: dict[str, Any]) -> dict[str, Any]:
    required = [name for name in fields if name != "agreed"]
    item = {"type": "object", "properties": fields, "required": required, "additionalProperties": False}
    return {"type": "array", "items": item, "maxItems": ENTRIES}


def _facts_schema(state: State, gate: GateOpened, words: texts.LegalTexts) -> Rules:
    entry, questions = _text(ENTRY_CHARS), [question.id for question in state.facts.questions]
    more = {
        "type": "object",
        "properties": {
            "text": {"title": words.fields["text"], **_text(NARRATIVE_CHARS, 0)},
            "answers": {"title": words.fields["answers"], **_objects(id={"enum": questions}, text=entry)},
            "timeline": {
                "title": words.fields["timeline"],
                **_objects(when=entry, what=entry, agreed={"type": "boolean"}),
            },
            "evidence": {"title": words.fields["evidence"], **_objects(title=entry, description=entry)},
        },
        "additionalProperties": False,
        "minProperties": 1,
    }
    properties: dict[str, Any] = {"choice": _choice(gate.options, words.choices)}
    if "add_facts" not in gate.options:
        return properties, ["choice"], []
    return properties | {"facts": more}, ["choice"], [_if("choice", "add_facts", {"required": ["facts"]})]


def _round1_schema(_: State, gate: GateOpened, words: texts.LegalTexts) -> Rules:
    focus = _list(_text(FORM_TEXT_CHARS), FOCUS_ISSUES) | ({"examples": list(gate.issues)} if gate.issues else {})
    properties = {
        "focus_issues": focus,
        "goal": _choice(GOALS, words.goals),
        "stance": _choice(STANCES, words.stances),
        "fact_corrections": _text(NOTE_CHARS, 0),
    }
    return properties, ["focus_issues", "goal", "stance"], []


def _round2_schema(state: State, _: GateOpened, words: texts.LegalTexts) -> Rules:
    offered = [{"const": code, "title": label} for code, label in words.constraints.items()]
    free = _text(FORM_TEXT_CHARS)
    properties: dict[str, Any] = {
        "proof_priority": free,
        "evidence_level": _choice(LEVELS, words.levels),
        "obtainable_evidence": _list(free, ENTRIES),
        "constraints": _list(free | {"anyOf": [*offered, {"type": "string"}]}, ENTRIES),
        "instructions": _text(NOTE_CHARS, 0),
    }
    required = ["proof_priority", "evidence_level", "obtainable_evidence", "constraints"]
    if state.case_type == "criminal":
        return properties, required, []
    properties |= {"settlement_interest": {"type": "boolean"}, "concession_range": _text(FORM_TEXT_CHARS, 0)}
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
        "final_instructions": _text(FORM_TEXT_CHARS, 0),
    }
    return properties, ["resolution", "report_style"], []


def _missing_schema(gate: GateOpened) -> dict[str, Any]:
    answers = {item.id: {"title": item.text, **_text(FORM_TEXT_CHARS)} for item in gate.missing_evidence}
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
