"""The bodies of the jury's calls, read from any JSON value; every field at fault is named."""

from collections.abc import Collection
from typing import Any, Final, TypeVar, get_args

import msgspec
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.games.action_fields import FieldReader
from playmolt_schemas.games.jury import (
    CHAT_CHARS,
    NOTE_CHARS,
    ChatRequest,
    Language,
    NoteRequest,
    OpenJuryRequest,
    PhaseName,
    PhaseRequest,
    TalkRequest,
)

LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
PHASES: Final[tuple[PhaseName, ...]] = get_args(PhaseName)
CHOSEN: Final[tuple[PhaseName, ...]] = ("investigation", "persuasion", "deliberation")
"""Phases that an overseer leads to; the others begin by themselves."""
DEFAULT_MODEL: Final = "scripted"
_SHOWN_CHARS: Final = 40
_ID_CHARS: Final = 64

Faults = tuple[FieldFault, ...]
T = TypeVar("T", bound=msgspec.Struct)


class _Body(FieldReader):
    """A body with no fields but these."""

    def __init__(self, body: Any, known: Collection[str] = ()) -> None:
        self.fields = body if isinstance(body, dict) else {}
        super().__init__(self.fields)
        if not isinstance(body, dict):
            self.faults.append(FieldFault("", "the body must be a JSON object"))
        for name in self.fields:
            if name not in known:
                shown = str(name)[:_SHOWN_CHARS].encode("utf-8", "replace").decode()
                self.faults.append(FieldFault(shown, f"no such field; there are {', '.join(sorted(known)) or 'none'}"))

    def optional(self, name: str) -> str | None:
        """Read an id that may be left out."""
        return None if self.fields.get(name) is None else self.text(name, _ID_CHARS)


def read_opening(body: Any, aliases: Collection[str]) -> OpenJuryRequest | Faults:
    """Read what opens a session; `aliases` are the models there are."""
    fields = _Body(body, OpenJuryRequest.__struct_fields__)
    model = fields.fields.get("model", DEFAULT_MODEL)
    if not isinstance(model, str) or model not in aliases:
        fields.faults.append(FieldFault("model", f"must be one of {', '.join(sorted(aliases))}"))
        model = DEFAULT_MODEL
    return _read(fields, OpenJuryRequest(language=fields.one_of("language", LANGUAGES), model=model))


def read_phase(body: Any) -> PhaseRequest | Faults:
    """Read where to go."""
    fields = _Body(body, PhaseRequest.__struct_fields__)
    # Every phase is read: one that cannot be led to is a conflict, no fault of the form. A fault names what leads on.
    known = PHASES if fields.fields.get("to") in PHASES else CHOSEN
    return _read(fields, PhaseRequest(to=fields.one_of("to", known)))


def read_talk(body: Any) -> TalkRequest | Faults:
    """Read a step of a talk: a choice, an item, or neither."""
    fields = _Body({} if body is None else body, TalkRequest.__struct_fields__)
    request = TalkRequest(choice=fields.optional("choice"), evidence_id=fields.optional("evidence_id"))
    if request.choice is not None and request.evidence_id is not None:
        fields.faults.append(FieldFault("evidence_id", "cannot be shown along with a choice: send one of the two"))
    return _read(fields, request)


def read_chat(body: Any) -> ChatRequest | Faults:
    """Read what is said to a juror."""
    fields = _Body(body, ChatRequest.__struct_fields__)
    return _read(fields, ChatRequest(text=fields.text("text", CHAT_CHARS)))


def read_note(body: Any, jurors: Collection[str]) -> NoteRequest | Faults:
    """Read a secret note to one of these jurors."""
    fields = _Body(body, NoteRequest.__struct_fields__)
    juror = fields.text("juror_id", _ID_CHARS)
    if not any(fault.field == "juror_id" for fault in fields.faults) and juror not in jurors:
        fields.faults.append(FieldFault("juror_id", f"must be one of {', '.join(jurors)}"))
    return _read(fields, NoteRequest(juror_id=juror, text=fields.text("text", NOTE_CHARS)))


def empty_faults(body: Any) -> Faults:
    """Say what is wrong with the body of a call that takes none."""
    return tuple(_Body({} if body is None else body).faults)


def _read(fields: _Body, request: T) -> T | Faults:
    return tuple(fields.faults) or request
