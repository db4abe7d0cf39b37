"""The shared log of a session: it opens what the page shows and omits secret notes, the owner and hidden texts.

Every record includes its sealed form, from which its hash can be recomputed, and its key only if all of its data is
shown.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from playmolt_schemas.records import OpenedRecord, Record

_NO_PERSON: Final = ("", "host", "operator")
_BLANK: Final[Mapping[str, object]] = {
    "owner": "", "name": "", "text": "", "topics": [], "parts": [], "attempt": {}, "input": {}, "result": "",
}  # fmt: skip
_QUOTING: Final[Mapping[str, Sequence[str]]] = {"attempt_made": ("attempt",), "tool_called": ("input", "result")}
"""The fields in which any text of the session may be quoted."""
_encode, _decode = msgspec.json.encode, msgspec.json.decode


def shared_log(records: Sequence[Record], hidden: Collection[int] = ()) -> Iterator[OpenedRecord]:
    """`hidden` are the versions of records whose texts the operator hid. What may quote one of them is omitted, too."""
    texts = {_text_of(record) for record in records if record.version in hidden} - {""}
    noted: set[str] = set()
    for record in records:
        data: dict[str, Any] = _decode(record.data)
        if record.type == "turn_started" and data["turn"] == "note":
            noted.add(data["juror_id"])
        secrets = [*_secrets(record.type, data, noted)]
        if texts:
            secrets += [name for name in _QUOTING.get(record.type, ()) if name not in secrets]
        if data.get("text") in texts and "text" not in secrets:
            secrets.append("text")
        yield _without(record, data, secrets)


def _text_of(record: Record) -> str:
    return str(_decode(record.data).get("text", ""))


def _secrets(kind: str, data: Mapping[str, Any], noted: set[str]) -> Sequence[str]:
    match kind:
        case "jury_opened":
            return ("owner", "name")
        case "note_sent":
            return ("text", "topics")
        case "turn_started" if data["turn"] == "note":
            return ("text",)
        case "stance_changed" if data["cause"] == "note":
            return ("parts",)
        case "attempt_made" if _may_quote(data["turn"], noted):
            return ("attempt",)
    return ()


def _may_quote(turn: str, noted: set[str]) -> bool:
    """Whether the prompt may quote a note: classifications, and later prompts of the note's juror."""
    kind, _, juror = turn.partition(":")
    return bool(noted) if kind == "classify" else juror.partition(":")[0] in noted


def _without(record: Record, data: dict[str, object], secrets: Sequence[str]) -> OpenedRecord:
    metadata: dict[str, object] = _decode(record.metadata)
    withheld = [f"data.{name}" for name in secrets]
    if metadata["actor"] not in _NO_PERSON:
        withheld.append("metadata.actor")
        metadata["actor"] = ""
    data |= {name: _BLANK[name] for name in secrets}
    fields = msgspec.structs.asdict(record)
    if withheld:
        fields |= {"data": msgspec.Raw(_encode(data)), "metadata": msgspec.Raw(_encode(metadata))}
        fields |= {"seal_key": msgspec.UNSET, "withheld": tuple(withheld)}
    return OpenedRecord(**fields)
