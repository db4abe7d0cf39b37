"""What opens a session and what tells its facts, read from the bodies of the API."""

from collections.abc import Collection, Mapping
from typing import Any, Final, get_args

from playmolt_schemas.codes import FieldFault
from playmolt_schemas.games.legal import (
    ENTRIES,
    JURISDICTION_CHARS,
    NARRATIVE_CHARS,
    NOTE_CHARS,
    TITLE_CHARS,
    CaseType,
    Evidence,
    Facts,
    FactsRequest,
    Language,
    MoreFacts,
    OpenSessionRequest,
    TimelineItem,
)

from playmolt_legal.events import Narrative
from playmolt_legal.forms.fields import Fields
from playmolt_legal.state import numbered_evidence, numbered_timeline

CASE_TYPES: Final[tuple[CaseType, ...]] = get_args(CaseType)
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
DEFAULT_MODEL: Final = "scripted"

Faults = tuple[FieldFault, ...]
Told = tuple[Narrative, tuple[TimelineItem, ...], tuple[Evidence, ...]]


def _object(body: Any) -> Fields | Faults:
    return Fields(body) if isinstance(body, dict) else (FieldFault("", "the body must be a JSON object"),)


def read_opening(body: Any, aliases: Collection[str]) -> OpenSessionRequest | Faults:
    """Read the body of `POST /api/sessions`; `aliases` are the models there are."""
    fields = _object(body)
    if not isinstance(fields, Fields):
        return fields
    fields.only(OpenSessionRequest.__struct_fields__)
    request = OpenSessionRequest(
        case_type=fields.one_of("case_type", CASE_TYPES),
        jurisdiction=fields.text("jurisdiction", JURISDICTION_CHARS),
        title=fields.text("title", TITLE_CHARS),
        language=fields.one_of("language", LANGUAGES),
        exclusions=_exclusions(fields),
        model=_model(fields, aliases),
    )
    return tuple(fields.faults) or request


def _exclusions(fields: Fields) -> tuple[str, ...]:
    if isinstance(fields.body.get("exclusions"), str):
        text = fields.text("exclusions", NOTE_CHARS, required=False)
        return (text,) if text else ()
    return fields.texts("exclusions", NOTE_CHARS, entries=ENTRIES)


def _model(fields: Fields, aliases: Collection[str]) -> str:
    model = fields.body.get("model", DEFAULT_MODEL)
    if not isinstance(model, str) or model not in aliases:
        fields.fault("model", f"must be one of {', '.join(sorted(aliases))}")
        return DEFAULT_MODEL
    return model


def read_facts(body: Any, carried: tuple[Narrative, Facts] | None) -> Told | Faults:
    """Read the body of `POST …/facts`; where a field is left out, what a session carries over takes its place."""
    fields = _object(body)
    if not isinstance(fields, Fields):
        return fields
    known = FactsRequest.__struct_fields__
    fields.only(known)
    if carried is None:
        for name in known:
            fields.required(name)
    narrative, facts = carried or (Narrative(), Facts())
    told = Narrative(
        overview=_told(fields, "overview", narrative.overview),
        acts=_told(fields, "acts", narrative.acts),
        opposing_claims=_told(fields, "opposing_claims", narrative.opposing_claims, blank=True),
        additions=narrative.additions,
    )
    more = MoreFacts(timeline=fields.timeline(), evidence=fields.evidence())
    timeline = facts.timeline if "timeline" not in fields.body else numbered_timeline(Facts(), more)
    evidence = facts.evidence if "evidence" not in fields.body else numbered_evidence(Facts(), more)
    return tuple(fields.faults) or (told, timeline, evidence)


def _told(fields: Fields, name: str, carried: str, *, blank: bool = False) -> str:
    return fields.narrative(name, NARRATIVE_CHARS, blank=blank) if name in fields.body else carried


def is_faults(read: Any) -> bool:
    """Say whether what was read is a list of faults."""
    return isinstance(read, tuple) and bool(read) and isinstance(read[0], FieldFault)


def facts_schema(*, carried: bool) -> Mapping[str, Any]:
    """Give the JSON Schema of the body of `POST …/facts`; nothing is required of a session that carries facts over."""
    text: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": NARRATIVE_CHARS}
    lines: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    return {
        "type": "object",
        "properties": {
            "overview": text,
            "acts": lines,
            "timeline": _entries("when", "what"),
            "evidence": _entries("title", "description"),
            "opposing_claims": lines,
        },
        "required": [] if carried else list(FactsRequest.__struct_fields__),
        "additionalProperties": False,
    }


def _entries(*required: str) -> dict[str, Any]:
    return {"type": "array", "maxItems": ENTRIES, "items": {"type": "object", "required": list(required)}}
