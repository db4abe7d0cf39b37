"""Parses the request bodies of the jury; a refusal names every invalid field."""

from collections.abc import Collection, Mapping
from typing import Final, get_args

from playmolt_schemas.body_fields import BodyFields, Faults, read_body
from playmolt_schemas.games.jury import ChatRequest, NoteRequest, OpenJuryRequest, PhaseRequest, TalkRequest
from playmolt_schemas.stored.jury import Language, PhaseName

PHASES: Final[tuple[PhaseName, ...]] = get_args(PhaseName)
CHOSEN: Final[tuple[PhaseName, ...]] = ("investigation", "persuasion", "deliberation")
"""Phases that the overseer can request; the others begin by themselves."""


def read_opening(
    body: object, aliases: Collection[str], cases: Mapping[str, tuple[Language, ...]], default_case: str
) -> OpenJuryRequest | Faults:
    """`aliases` are the available models, `cases` the available cases with their languages."""
    fields = BodyFields(body)
    if not fields.sound:
        return tuple(fields.faults)
    fields.only(OpenJuryRequest.__struct_encode_fields__)
    case = default_case if fields.body.get("case") is None else fields.known("case", cases, default_case)
    spoken = cases[case] if case in cases else cases[default_case]
    return fields.result(fields.struct(OpenJuryRequest, options={"model": aliases, "language": spoken}, case=case))


def read_phase(body: object) -> PhaseRequest | Faults:
    # Every phase parses: one that cannot be requested is a conflict, not a fault. A fault lists the valid ones.
    known = PHASES if isinstance(body, dict) and body.get("to") in PHASES else CHOSEN
    return read_body(PhaseRequest, body, options={"to": known})


def read_talk(body: object) -> TalkRequest | Faults:
    """A choice, an item, or neither."""
    fields = BodyFields({} if body is None else body)
    fields.only(TalkRequest.__struct_encode_fields__)
    request = fields.struct(TalkRequest)
    if request.choice is not None and request.evidence_id is not None:
        fields.fault("evidence_id", "cannot be combined with choice: send one of the two")
    return fields.result(request)


def read_chat(body: object) -> ChatRequest | Faults:
    return read_body(ChatRequest, body)


def read_note(body: object, jurors: Collection[str]) -> NoteRequest | Faults:
    """`jurors` are the ids of the session's jurors."""
    return read_body(NoteRequest, body, options={"juror_id": jurors})


def empty_faults(body: object) -> Faults:
    """The faults of a body where none is expected."""
    fields = BodyFields({} if body is None else body)
    fields.only(())
    return tuple(fields.faults)
