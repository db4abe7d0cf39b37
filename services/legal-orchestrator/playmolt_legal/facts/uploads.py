"""Uploads of the person, with permanent ids (legal.md, Evidence texts and statutes)."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace
from playmolt_core.game.decider import Accepted, Decision, Refused
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.games.legal import UPLOADS, UPLOADS_CHARS, ReadUpload, Upload, UploadReason, UploadText
from playmolt_schemas.stored.legal import Evidence, EvidenceAdded, EvidenceKind, Facts

from playmolt_legal import commands, texts
from playmolt_legal.codes import NO_SESSION, invalid_request, refused
from playmolt_legal.state import State, evidence_number

UPLOAD_IN_PROMPT: Final = 6_000
UPLOADS_IN_PROMPT: Final = 40_000
"""Characters of one upload, and of all, that a prompt contains."""
_TOO_MANY: Final[UploadReason] = "too_many"
_TOO_LARGE: Final[UploadReason] = "too_large"
_LETTERS: dict[EvidenceKind, str] = {"evidence": "E", "statute": "L"}


def add_evidence(state: State, command: commands.AddEvidence) -> Decision:
    if not state.version or command.agent_id != state.owner:
        return NO_SESSION
    if state.waiting not in ("intake", "person"):
        return refused(
            Code.SESSION_PHASE,
            f"You can upload before the facts are posted and while a gate is open; the session is in {state.phase}.",
        )
    try:
        read = msgspec.convert(command.body, ReadUpload)
    except msgspec.ValidationError as error:
        return invalid_request((FieldFault("", str(error)),))
    if fault := _beyond(state, read):
        return invalid_request((fault,))
    letter = _LETTERS[read.kind]
    evidence = Evidence(
        id=f"{letter}{evidence_number(state.facts, letter)}",
        title=read.title,
        description="",
        kind=read.kind,
        media_type=read.media_type,
        bytes=read.bytes,
        chars=len(read.text),
        pages=read.pages,
        sha256=read.sha256,
        encoding=read.encoding,
        sure=read.sure,
        notes=read.notes,
    )
    return Accepted((EvidenceAdded(by=command.agent_id, evidence=evidence, text=read.text),))


def _beyond(state: State, read: ReadUpload) -> FieldFault | None:
    if len(state.uploads) >= UPLOADS:
        return FieldFault("content", f"exceeds the limit of {UPLOADS} uploads", reason=_TOO_MANY)
    held = sum(map(len, state.uploads.values()))
    if held + len(read.text) > UPLOADS_CHARS:
        most = f"{UPLOADS_CHARS:,} characters for all uploads of a session; {held:,} are used"
        fault = f'has {len(read.text):,} characters and exceeds the limit of {most}. Take a part with pages: "3-9"'
        return FieldFault("content", fault, reason=_TOO_LARGE)
    return None


def typed(facts: Facts) -> Facts:
    """The facts without uploads."""
    return replace(facts, evidence=tuple(item for item in facts.evidence if not item.uploaded))


def stored(state: State) -> tuple[EvidenceAdded, ...]:
    """The upload events, for the linked session."""
    return tuple(
        EvidenceAdded(by=state.owner, evidence=item, text=state.uploads[item.id])
        for item in state.facts.evidence
        if item.uploaded
    )


def newest(state: State, read: ReadUpload) -> Upload | None:
    """The latest stored upload that matches a request."""
    found = [
        item
        for item in state.facts.evidence
        if (item.sha256, item.title, item.kind) == (read.sha256, read.title, read.kind)
    ]
    return _upload(state, found[-1]) if found else None


def preview(state: State, agent_id: str, body: object) -> UploadText | Refused:
    """What an upload would be, with its text; nothing is stored."""
    decided = add_evidence(state, commands.AddEvidence(agent_id=agent_id, body=body))
    if isinstance(decided, Refused):
        return decided
    (added,) = (event for event in decided.events if isinstance(event, EvidenceAdded))
    stored_texts = {**state.uploads, added.evidence.id: added.text}
    facts = replace(state.facts, evidence=(*state.facts.evidence, added.evidence))
    return _text(replace(state, facts=facts, uploads=stored_texts), added.evidence)


def text(state: State, identifier: str) -> UploadText | None:
    item = next((each for each in state.facts.evidence if each.id == identifier and each.uploaded), None)
    return _text(state, item) if item else None


def _text(state: State, item: Evidence) -> UploadText:
    return UploadText(**msgspec.structs.asdict(_upload(state, item)), text=state.uploads[item.id])


def _upload(state: State, item: Evidence) -> Upload:
    shown_item = _shown(state, item, in_prompts(state))
    fields = {name: getattr(shown_item, name) for name in Upload.__struct_fields__}
    return msgspec.convert(msgspec.to_builtins(fields), Upload)


def in_prompts(state: State) -> Mapping[str, int]:
    """How many characters of each upload a prompt contains, as long as there is room for all of them together."""
    contained: dict[str, int] = {}
    room = UPLOADS_IN_PROMPT
    for item in state.facts.evidence:
        if item.uploaded:
            contained[item.id] = min(len(state.uploads[item.id]), UPLOAD_IN_PROMPT, room)
            room -= contained[item.id]
    return contained


def _shown(state: State, item: Evidence, contained: Mapping[str, int]) -> Evidence:
    """An upload with its notes in the session's language."""
    words = texts.of(state.language).notes
    notes = tuple(texts.note(words, note) for note in item.notes or ())
    return replace(item, notes=notes, prompt_chars=contained[item.id])


def reported(state: State) -> tuple[Evidence, ...]:
    """The evidence of a report: uploads as they are shown."""
    contained = in_prompts(state)
    return tuple(_shown(state, item, contained) if item.uploaded else item for item in state.facts.evidence)


def shown(state: State) -> Facts:
    """The facts with all fields of evidence, including typed evidence."""
    return replace(state.facts, evidence=tuple(item if item.uploaded else _complete(item) for item in reported(state)))


def _complete(item: Evidence) -> Evidence:
    return replace(
        item, kind="evidence", media_type=None, bytes=None, chars=None, pages=None, sha256=None, encoding=None,
        sure=None, notes=(), prompt_chars=None,
    )  # fmt: skip
