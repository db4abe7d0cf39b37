"""Entries that several bodies hold: of the timeline, of the evidence, and answers to open questions."""

from collections.abc import Collection

from playmolt_schemas.body_fields import BodyFields
from playmolt_schemas.games.legal import (
    ENTRIES,
    ENTRY_CHARS,
    QUESTION_ID_CHARS,
    EvidenceEntry,
    QuestionAnswer,
    TimelineEntry,
)


def timeline(fields: BodyFields) -> tuple[TimelineEntry, ...]:
    return fields.objects("timeline", _timeline_entry, ENTRIES)


def evidence(fields: BodyFields) -> tuple[EvidenceEntry, ...]:
    return fields.objects("evidence", _evidence_entry, ENTRIES)


def answers(fields: BodyFields, known: Collection[str]) -> tuple[QuestionAnswer, ...]:
    """Read answers to the questions of these ids."""

    def answer(entry: BodyFields) -> QuestionAnswer:
        entry.only(("id", "text"))
        question = entry.text("id", QUESTION_ID_CHARS)
        if entry.sound and question not in known:
            entry.fault("id", f"is no open question; there are {', '.join(known) or 'none'}")
        return QuestionAnswer(id=question, text=entry.text("text", ENTRY_CHARS))

    return fields.objects("answers", answer, ENTRIES)


def _timeline_entry(entry: BodyFields) -> TimelineEntry:
    entry.only(("when", "what", "agreed"))
    agreed = entry.flag("agreed") if "agreed" in entry.body else False
    return TimelineEntry(when=entry.text("when", ENTRY_CHARS), what=entry.text("what", ENTRY_CHARS), agreed=agreed)


def _evidence_entry(entry: BodyFields) -> EvidenceEntry:
    entry.only(("title", "description"))
    return EvidenceEntry(title=entry.line("title", ENTRY_CHARS), description=entry.text("description", ENTRY_CHARS))
