"""Parses the bodies that open a session and post its facts."""

from collections.abc import Collection, Mapping
from typing import Any, Final, get_args

import msgspec
from playmolt_schemas.body_fields import BodyFields, Faults
from playmolt_schemas.games.legal import (
    ENTRIES,
    ENTRY_CHARS,
    JURISDICTION_CHARS,
    NARRATIVE_CHARS,
    NOTE_CHARS,
    QUESTION_ID_CHARS,
    TITLE_CHARS,
    CaseType,
    Evidence,
    EvidenceEntry,
    Facts,
    FactsRequest,
    Language,
    MoreFacts,
    OpenSessionRequest,
    QuestionAnswer,
    Side,
    TimelineEntry,
    TimelineItem,
)

from playmolt_legal.events import Narrative
from playmolt_legal.state import numbered_evidence, numbered_timeline

CASE_TYPES: Final[tuple[CaseType, ...]] = get_args(CaseType)
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
SIDES: Final[tuple[Side, ...]] = get_args(Side)
DEFAULT_MODEL: Final = "scripted"


class PostedFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The body of `POST …/facts`, merged with the facts carried over."""

    narrative: Narrative
    timeline: tuple[TimelineItem, ...]
    evidence: tuple[Evidence, ...]


def read_opening(body: Any, aliases: Collection[str]) -> OpenSessionRequest | Faults:
    """Read the body of `POST /api/sessions`; `aliases` are the models there are."""
    fields = BodyFields(body)
    if not fields.sound:
        return tuple(fields.faults)
    fields.only(OpenSessionRequest.__struct_fields__)
    request = OpenSessionRequest(
        case_type=fields.one_of("case_type", CASE_TYPES),
        jurisdiction=fields.line("jurisdiction", JURISDICTION_CHARS),
        title=fields.line("title", TITLE_CHARS),
        language=fields.one_of("language", LANGUAGES),
        exclusions=_exclusions(fields),
        model=fields.known("model", aliases, DEFAULT_MODEL),
        side=fields.one_of("side", SIDES) if "side" in fields.body else "neutral",
    )
    return fields.result(request)


def _exclusions(fields: BodyFields) -> tuple[str, ...]:
    if isinstance(fields.body.get("exclusions"), str):
        text = fields.text("exclusions", NOTE_CHARS, required=False)
        return (text,) if text else ()
    return fields.texts("exclusions", NOTE_CHARS, entries=ENTRIES)


def read_facts(body: Any, carried: tuple[Narrative, Facts] | None, present: Facts) -> PostedFacts | Faults:
    """Read the body of `POST …/facts`; where a field is left out, what a session carries over takes its place.

    What was uploaded stays, with its ids.
    """
    fields = BodyFields(body)
    if not fields.sound:
        return tuple(fields.faults)
    known = FactsRequest.__struct_fields__
    fields.only(known)
    if carried is None:
        for name in known:
            fields.required(name)
    earlier, facts = carried or (Narrative(), Facts())
    narrative = Narrative(
        overview=_lines(fields, "overview", earlier.overview),
        acts=_lines(fields, "acts", earlier.acts),
        opposing_claims=_lines(fields, "opposing_claims", earlier.opposing_claims, required=False),
        additions=earlier.additions,
    )
    more = MoreFacts(timeline=read_timeline(fields), evidence=read_evidence(fields))
    timeline = facts.timeline if "timeline" not in fields.body else numbered_timeline(Facts(), more)
    evidence = facts.evidence
    if "evidence" in fields.body:
        uploaded = tuple(item for item in present.evidence if item.uploaded)
        evidence = (*uploaded, *numbered_evidence(Facts(evidence=uploaded), more))
    return fields.result(PostedFacts(narrative=narrative, timeline=timeline, evidence=evidence))


def _lines(fields: BodyFields, name: str, carried: str, *, required: bool = True) -> str:
    return fields.lines(name, NARRATIVE_CHARS, required=required) if name in fields.body else carried


def read_timeline(fields: BodyFields) -> tuple[TimelineEntry, ...]:
    return fields.objects("timeline", _timeline_entry, ENTRIES)


def read_evidence(fields: BodyFields) -> tuple[EvidenceEntry, ...]:
    return fields.objects("evidence", _evidence_entry, ENTRIES)


def read_answers(fields: BodyFields, known: Collection[str]) -> tuple[QuestionAnswer, ...]:
    """Read answers to the questions of these ids."""

    def answer(entry: BodyFields) -> QuestionAnswer:
        entry.only(("id", "text"))
        question = entry.text("id", QUESTION_ID_CHARS)
        if entry.sound and question not in known:
            entry.fault("id", f"is not an open question; open questions: {', '.join(known) or 'none'}")
        return QuestionAnswer(id=question, text=entry.text("text", ENTRY_CHARS))

    return fields.objects("answers", answer, ENTRIES)


def _timeline_entry(entry: BodyFields) -> TimelineEntry:
    entry.only(("when", "what", "agreed"))
    agreed = entry.flag("agreed") if "agreed" in entry.body else False
    return TimelineEntry(when=entry.text("when", ENTRY_CHARS), what=entry.text("what", ENTRY_CHARS), agreed=agreed)


def _evidence_entry(entry: BodyFields) -> EvidenceEntry:
    entry.only(("title", "description"))
    return EvidenceEntry(title=entry.line("title", ENTRY_CHARS), description=entry.text("description", ENTRY_CHARS))


def facts_schema(*, carried: bool) -> Mapping[str, Any]:
    """The JSON Schema of the body of `POST …/facts`; nothing is required of a session that carries facts over."""
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
