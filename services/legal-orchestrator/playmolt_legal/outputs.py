"""Answers of roles: their types, JSON Schemas, and parts."""

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import msgspec
from playmolt_schemas.games import legal
from playmolt_schemas.games.legal import Reply, Role
from playmolt_schemas.stored.legal import CaseType
from playmolt_schemas.text import composed, unstorable

from playmolt_legal import phases

_LIKELIHOOD_PROMPT: Final = "How likely the person's side wins, in per cent, and what that rests on."
"""Part of the judge's prompt, so it never changes with a docstring."""
STATEMENTS: Final = {
    "Findings", "BurdenOfProof", "Claims", "LegalElements", "WeakPoints",
    "CounterArguments", "DisproofPlan", "ProceduralRisks", "SettlementOptions", "Answer",
}  # fmt: skip
"""The fields that hold statements with a basis."""


class InvalidReply(ValueError):
    """An answer that does not fit its schema; the message says where."""


def reply_type(role: Role, case_type: CaseType, round_: int) -> type[Reply]:
    match role:
        case "judge":
            return legal.OpeningJudgeOutput if round_ == 1 else legal.JudgeOutput
        case "claimant":
            return legal.ClaimantOutput
        case "opposing":
            return legal.DefendantOutput if case_type == "civil" else legal.DefenceOutput
        case "verifier":
            return legal.VerifierOutput


def phase_type(phase: str, case_type: CaseType) -> type[Reply]:
    """The type of the answer in a phase; LookupError if the phase has no model turn."""
    if phase == phases.STIPULATE:
        return legal.Stipulation
    if phase == phases.FINAL:
        return legal.FinalOutput
    here = phases.turn(phase)
    if here is None:
        raise LookupError(f"no model is asked in {phase}")
    return reply_type(here.role, case_type, here.round)


def read(value: Any, phase: str, case_type: CaseType) -> dict[str, Any]:
    """Check a model's answer and return it with its fields in the schema's order.

    Raises InvalidReply, whose text can be sent back to the model. Hangul written in parts is put together. A missing
    `basis` or `issue` and any `GateStatus` are let through: the guardrails and the rule of the gate judge them. In a
    list of citations the phrase for none is dropped.
    """
    try:
        reply = msgspec.convert(value, phase_type(phase, case_type))
    except msgspec.ValidationError as error:
        raise InvalidReply(str(error)) from None
    plain: dict[str, Any] = composed(msgspec.to_builtins(reply))
    if "GateStatus" in plain and not isinstance(plain["GateStatus"], str):
        plain["GateStatus"] = msgspec.json.encode(plain["GateStatus"]).decode()
    if "Likelihood" in plain and not _is_likelihood(plain["Likelihood"]):
        del plain["Likelihood"]
    if isinstance(plain.get("Citations"), list):
        plain["Citations"] = _cited(plain["Citations"]) or legal.NO_CITATION
    if any(unstorable(text) for text in _leaves(plain)):
        raise InvalidReply("a text holds NUL or a lone surrogate")
    if any(not _shows(text) for _, text in (*texts(plain), *_stipulated_texts(plain))):
        raise InvalidReply("a text has no character that shows")
    return plain


def _stipulated_texts(output: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field in _STIPULATED:
        yield from ((field, item["text"]) for item in output.get(field, ()))


_STIPULATED: Final = ("ConfirmedFacts", "DisputedFacts", "MissingFactsQuestions")


def _shows(text: str) -> bool:
    return any(unicodedata.category(char)[0] not in "CZ" for char in text)


def _is_likelihood(value: object) -> bool:
    try:
        read_ = msgspec.convert(value, legal.Likelihood)
    except msgspec.ValidationError:
        return False
    return read_.high - read_.low >= legal.LIKELIHOOD_WIDTH


def _cited(citations: list[str]) -> list[str]:
    return [text for text in citations if text.strip() != legal.NO_CITATION]


def fault(value: object, phase: str, case_type: CaseType) -> str | None:
    """The fault that a model has to fix in its answer; None if `read` accepts it."""
    try:
        read(value, phase, case_type)
    except InvalidReply as error:
        return str(error)
    return None


@cache
def schema(role: Role, case_type: CaseType, round_: int = 2) -> Mapping[str, Any]:
    """The JSON Schema sent with the request: all fields but `answers` are required, and no others are allowed."""
    return _asked(reply_type(role, case_type, round_))


@cache
def phase_schema(phase: str, case_type: CaseType) -> Mapping[str, object]:
    return _asked(phase_type(phase, case_type))


@cache
def accepted_schema(phase: str, case_type: CaseType) -> Mapping[str, object]:
    """The JSON Schema that an answer must satisfy to be accepted: the checks of `read` as a schema."""
    return msgspec.json.schema(phase_type(phase, case_type))


_FIELDS: Final = tuple(
    dict.fromkeys(
        field
        for reply in (
            legal.JudgeOutput,
            legal.ClaimantOutput,
            legal.DefendantOutput,
            legal.VerifierOutput,
            legal.FinalOutput,
            legal.Likelihood,
            legal.Statement,
            legal.PlannedEvidence,
        )
        for field in reply.__struct_encode_fields__
        if field != "SteeringComplianceCheck"
    )
)
_PLACE: Final = {field: place for place, field in enumerate((*_FIELDS, "SteeringComplianceCheck"))}


def in_order(output: Mapping[str, object]) -> dict[str, object]:
    """An answer with its fields in the schema's order: the log keeps them sorted by name."""
    return {
        field: [in_order(each) if isinstance(each, dict) else each for each in value]
        if isinstance(value, list)
        else in_order(value)
        if isinstance(value, dict)
        else value
        for field, value in sorted(output.items(), key=lambda item: _PLACE.get(item[0], len(_PLACE)))
    }


def statements(output: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every statement of an answer with its field."""
    for field, values in output.items():
        if field in STATEMENTS:
            yield from ((field, statement) for statement in values)


def texts(output: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every text of an answer with its field, without ids, issues and codes."""
    for field, value in output.items():
        if field in STATEMENTS:
            yield from ((field, statement["text"]) for statement in value)
        elif field == "EvidencePlan":
            yield from ((field, plan["purpose"]) for plan in value)
        elif field == "DecisionRange":
            yield field, value
        elif field == "Likelihood":
            yield field, value["text"]
        elif isinstance(value, list) and field not in _STIPULATED:
            yield from ((field, text) for text in value)


def _asked(kind: type[Reply]) -> dict[str, object]:
    (root,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    extra: dict[str, object] = {}
    for component in components.values():
        properties = component["properties"]
        for field in properties.values():
            field.pop("default", None)
        component["required"] = [name for name in properties if name != "answers"]
        component.pop("description", None)
        if "Likelihood" in properties:
            (properties["Likelihood"],), more = msgspec.json.schema_components(
                [legal.Likelihood], ref_template="#/$defs/{name}"
            )
            more["Likelihood"]["description"] = _LIKELIHOOD_PROMPT
            extra |= more
        if "GateStatus" in properties:
            properties["GateStatus"] = {"enum": ["Go", "Conditional", "No-Go"]}
    components |= extra
    own = components.pop(kind.__name__)
    own.pop("title", None)
    del root
    return {**own, "$defs": components} if components else own


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
