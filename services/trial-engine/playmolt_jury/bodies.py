"""Parses the request bodies of the jury; a refusal names every invalid field."""

from collections.abc import Collection, Mapping
from typing import Any, Final, get_args

from playmolt_schemas.body_fields import BodyFields, Faults
from playmolt_schemas.games.jury import (
    CHAT_CHARS,
    ID_CHARS,
    NOTE_CHARS,
    ChatRequest,
    Language,
    NoteRequest,
    OpenJuryRequest,
    PhaseName,
    PhaseRequest,
    TalkRequest,
)

PHASES: Final[tuple[PhaseName, ...]] = get_args(PhaseName)
CHOSEN: Final[tuple[PhaseName, ...]] = ("investigation", "persuasion", "deliberation")
"""Phases that the overseer can request; the others begin by themselves."""
DEFAULT_MODEL: Final = "scripted"


def _fields(body: Any, known: Collection[str] = ()) -> BodyFields:
    fields = BodyFields(body)
    fields.only(known)
    return fields


def _optional_id(fields: BodyFields, name: str) -> str | None:
    return None if fields.body.get(name) is None else fields.text(name, ID_CHARS)


def read_opening(
    body: Any, aliases: Collection[str], cases: Mapping[str, tuple[Language, ...]], default_case: str
) -> OpenJuryRequest | Faults:
    """`aliases` are the available models, `cases` the available cases with their languages."""
    fields = _fields(body, OpenJuryRequest.__struct_fields__)
    model = fields.known("model", aliases, DEFAULT_MODEL)
    case = default_case if fields.body.get("case") is None else fields.known("case", cases, default_case)
    spoken = cases[case] if case in cases else cases[default_case]
    language = fields.one_of("language", spoken)
    return fields.result(OpenJuryRequest(language=language, model=model, case=case))


def read_phase(body: Any) -> PhaseRequest | Faults:
    fields = _fields(body, PhaseRequest.__struct_fields__)
    # Every phase parses: one that cannot be requested is a conflict, not a fault. A fault lists the valid ones.
    known = PHASES if fields.body.get("to") in PHASES else CHOSEN
    return fields.result(PhaseRequest(to=fields.one_of("to", known)))


def read_talk(body: Any) -> TalkRequest | Faults:
    """A choice, an item, or neither."""
    fields = _fields({} if body is None else body, TalkRequest.__struct_fields__)
    request = TalkRequest(choice=_optional_id(fields, "choice"), evidence_id=_optional_id(fields, "evidence_id"))
    if request.choice is not None and request.evidence_id is not None:
        fields.fault("evidence_id", "cannot be combined with choice: send one of the two")
    return fields.result(request)


def read_chat(body: Any) -> ChatRequest | Faults:
    fields = _fields(body, ChatRequest.__struct_fields__)
    return fields.result(ChatRequest(text=fields.spoken("text", CHAT_CHARS)))


def read_note(body: Any, jurors: Collection[str]) -> NoteRequest | Faults:
    """`jurors` are the ids of the session's jurors."""
    fields = _fields(body, NoteRequest.__struct_fields__)
    juror = fields.text("juror_id", ID_CHARS)
    if juror and juror not in jurors:
        fields.fault("juror_id", f"must be one of {', '.join(jurors)}")
    return fields.result(NoteRequest(juror_id=juror, text=fields.spoken("text", NOTE_CHARS)))


def empty_faults(body: Any) -> Faults:
    """The faults of a body where none is expected."""
    return tuple(_fields({} if body is None else body).faults)
