"""Parses the bodies that open a session and post its facts."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from playmolt_schemas.body_fields import BodyFields, Faults, bounds, read_body
from playmolt_schemas.games.legal import FactsRequest, OpenSessionRequest
from playmolt_schemas.stored.legal import (
    Evidence,
    Facts,
    MoreFacts,
    Narrative,
    QuestionAnswer,
    TimelineItem,
)

from playmolt_legal.state import numbered_evidence, numbered_timeline


class PostedFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The body of `POST …/facts`, merged with the facts carried over."""

    narrative: Narrative
    timeline: tuple[TimelineItem, ...]
    evidence: tuple[Evidence, ...]


def read_opening(body: object, aliases: Collection[str]) -> OpenSessionRequest | Faults:
    """Read the body of `POST /api/sessions`; `aliases` are the models there are."""
    return read_body(OpenSessionRequest, body, options={"model": aliases})


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
        opposing_claims=_lines(fields, "opposing_claims", earlier.opposing_claims),
        additions=earlier.additions,
    )
    more = MoreFacts(timeline=fields.field(MoreFacts, "timeline"), evidence=fields.field(MoreFacts, "evidence"))
    timeline = tuple(_timeline(facts, more)) if "timeline" in fields.body else facts.timeline
    evidence = tuple(_evidence(facts, present, more)) if "evidence" in fields.body else facts.evidence
    return fields.result(PostedFacts(narrative=narrative, timeline=timeline, evidence=evidence))


def _timeline(carried: Facts, more: MoreFacts) -> Iterator[TimelineItem]:
    """The entries posted; one that is carried over unchanged keeps its id, the others get the ids that follow."""
    there = {(item.when, item.what, item.agreed): item for item in reversed(carried.timeline)}
    kept = [there.pop((entry.when, entry.what, entry.agreed), None) for entry in more.timeline]
    rest = tuple(entry for entry, old in zip(more.timeline, kept, strict=True) if old is None)
    numbered = iter(numbered_timeline(carried, replace(more, timeline=rest)))
    return (old or next(numbered) for old in kept)


def _evidence(carried: Facts, present: Facts, more: MoreFacts) -> Iterator[Evidence]:
    """Uploads, then the evidence posted; what is carried over unchanged keeps its id."""
    typed = [item for item in carried.evidence if not item.uploaded]
    there = {(item.title, item.description): item for item in reversed(typed)}
    kept = [there.pop((item.title, item.description), None) for item in more.evidence]
    rest = tuple(item for item, old in zip(more.evidence, kept, strict=True) if old is None)
    numbered = iter(numbered_evidence(present, replace(more, evidence=rest)))
    yield from (item for item in present.evidence if item.uploaded)
    yield from (old or next(numbered) for old in kept)


def _lines(fields: BodyFields, name: str, carried: str) -> str:
    if name not in fields.body:
        return carried
    lines: str = fields.field(FactsRequest, name)
    return lines


def check_answers(fields: BodyFields, answers: Sequence[QuestionAnswer], known: Collection[str]) -> None:
    """Report answers to other questions than those of these ids."""
    for place, answer in enumerate(answers):
        if answer.id and answer.id not in known:
            open_questions = ", ".join(known) or "none"
            fields.fault(f"answers[{place}].id", f"is not an open question; open questions: {open_questions}")


def facts_schema(*, carried: bool) -> Mapping[str, object]:
    """The JSON Schema of the body of `POST …/facts`; nothing is required of a session that carries facts over."""
    text: dict[str, Any] = {
        "type": "string",
        "minLength": 1,
        "maxLength": bounds(FactsRequest, "overview")["maxLength"],
    }
    lines: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    return {
        "type": "object",
        "properties": {
            "overview": text,
            "acts": lines,
            "timeline": _entries("timeline", "when", "what"),
            "evidence": _entries("evidence", "title", "description"),
            "opposing_claims": lines,
        },
        "required": [] if carried else list(FactsRequest.__struct_fields__),
        "additionalProperties": False,
    }


def _entries(name: str, *required: str) -> dict[str, object]:
    most = bounds(FactsRequest, name)["maxItems"]
    return {"type": "array", "maxItems": most, "items": {"type": "object", "required": list(required)}}
