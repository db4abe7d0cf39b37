"""Uploads of the person, with permanent ids (legal.md, Evidence texts and statutes)."""

import msgspec
from msgspec.structs import replace
from playmolt_core.game.decider import Accepted, Decision
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.games.legal import UPLOADS, UPLOADS_CHARS, ReadUpload, Upload, UploadText
from playmolt_schemas.stored.legal import Evidence, EvidenceAdded, EvidenceKind, Facts

from playmolt_legal import commands
from playmolt_legal.codes import NO_SESSION, invalid_request, refused
from playmolt_legal.state import State, evidence_number

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
        return invalid_request((FieldFault("content", fault),))
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
    )
    return Accepted((EvidenceAdded(by=command.agent_id, evidence=evidence, text=read.text),))


def _beyond(state: State, read: ReadUpload) -> str:
    if len(state.uploads) >= UPLOADS:
        return f"exceeds the limit of {UPLOADS} uploads"
    held = sum(map(len, state.uploads.values()))
    if held + len(read.text) > UPLOADS_CHARS:
        return f"exceeds the limit of {UPLOADS_CHARS} characters for all uploads; {held} are used"
    return ""


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
    return _upload(found[-1]) if found else None


def text(state: State, identifier: str) -> UploadText | None:
    item = next((each for each in state.facts.evidence if each.id == identifier and each.uploaded), None)
    if item is None:
        return None
    return UploadText(**msgspec.structs.asdict(_upload(item)), text=state.uploads[item.id])


def _upload(item: Evidence) -> Upload:
    fields = {name: getattr(item, name) for name in Upload.__struct_fields__}
    return msgspec.convert(fields, Upload)


def shown(facts: Facts) -> Facts:
    """The facts with all fields of evidence, including typed evidence."""
    return replace(
        facts,
        evidence=tuple(
            item
            if item.uploaded
            else replace(item, kind="evidence", media_type=None, bytes=None, chars=None, pages=None, sha256=None)
            for item in facts.evidence
        ),
    )
