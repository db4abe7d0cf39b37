"""Extracts the JSON document from the bytes of an answer, tolerating additional data around and inside it.

An unrequested event stream is merged into one completion.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

_MARK: Final = "\ufeff"
_DONE: Final = "[DONE]"
_LINE = re.compile(r"\r\n|\r|\n")
_DIGITS: Final = 400
"""Longer numbers are not usage figures, and parsing them would be expensive."""


def document_of(body: bytes) -> object:
    """The document in a body. Raises ValueError or RecursionError if there is none, or if it ends before its reply."""
    received = body.decode("utf-8", "replace")
    text = _bare(received)
    try:
        return _decoded(text)
    except ValueError:
        events = _decoded_events(text)
        if not events:
            raise
    whole = next((event for event in events if _is_whole(event)), None)
    if whole is not None:
        return whole
    made = _put_together(event for event in events if isinstance(event, dict))
    if "choices" in made and "error" not in made and not _has_ended(received, events):
        return made | {"error": _error_at_the_end(events[-1])}
    return made


def _has_ended(received: str, events: list[object]) -> bool:
    lines = (line.removeprefix("data:").strip() for line in _LINE.split(received))
    return _DONE in lines or any(_is_over(event) for event in events)


def _error_at_the_end(last: object) -> object:
    """The error of a stream that ended without `finish_reason` and without an end marker. Clients of most languages
    take such a stream for whole."""
    if isinstance(last, dict) and "choices" not in last and isinstance(last.get("message"), str):
        return last
    raise ValueError("the stream ended before the reply, without finish_reason and [DONE]")


def _decoded_events(text: str) -> list[object]:
    """All events of a stream, without a truncated last one if the reply was already complete."""
    events = [data for data in _events(text) if data != _DONE]
    try:
        return [_decoded(data) for data in events]
    except ValueError:
        before = [_decoded(data) for data in events[:-1]]
        if not any(_is_over(event) for event in before):
            raise
        return before


def _is_over(event: object) -> bool:
    choices = event.get("choices") if isinstance(event, dict) else None
    return isinstance(choices, list) and any(isinstance(each, dict) and each.get("finish_reason") for each in choices)


def _bare(text: str) -> str:
    """The text without byte order marks, white space and the end marker of a stream."""
    bare = text.strip().strip(_MARK).strip()
    return bare.removesuffix(_DONE).rstrip().removesuffix("data:").rstrip() if bare.endswith(_DONE) else bare


def _decoded(text: str) -> object:
    return json.loads(text, strict=False, parse_int=_integer)


def _integer(text: str) -> int | None:
    return int(text) if len(text) <= _DIGITS else None


def _events(text: str) -> Iterable[str]:
    """The data of each server-sent event."""
    data: list[str] = []
    for line in [*_LINE.split(text), ""]:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").strip())
        elif not line.strip() and data:
            yield from _one_or_each(data)
            data = []


def _one_or_each(data: list[str]) -> list[str]:
    """Lines of one event, or events of a server that omits empty lines."""
    try:
        _decoded("\n".join(data))
    except ValueError:
        return data
    return ["\n".join(data)]


def _is_whole(event: object) -> bool:
    choices = event.get("choices") if isinstance(event, dict) else None
    return isinstance(choices, list) and any(isinstance(each, dict) and each.get("message") for each in choices)


def _put_together(events: Iterable[Mapping[str, object]]) -> dict[str, object]:
    made: dict[str, Any] = {}
    message: dict[str, Any] = {}
    choice: dict[str, Any] = {"message": message}
    for event in events:
        made |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        choices = event.get("choices")
        for part in choices if isinstance(choices, list) else ():
            if isinstance(part, dict) and part.get("index", 0) in (0, None):
                made["choices"] = [choice]
                choice |= {name: value for name, value in part.items() if name != "delta" and value is not None}
                delta = part.get("delta")
                _add(message, delta if isinstance(delta, dict) else {})
    return made


def _add(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    for name, value in delta.items():
        if name == "tool_calls" and isinstance(value, list):
            calls = message.setdefault(name, [])
            for call in value:
                _add_call(calls, call)
        elif value is not None:
            message[name] = value if name == "role" else _joined(message.get(name), value)


def _joined(before: Any, value: Any) -> Any:
    """Merge a delta: texts and lists arrive in pieces, other values whole."""
    return before + value if type(before) is type(value) and isinstance(value, str | list) else value


def _add_call(calls: list[Any], part: object) -> None:
    """Merge pieces of tool calls by index; a server that sends whole calls may omit the index."""
    if not isinstance(part, dict):
        return
    index = part.get("index")
    known = next((call for call in calls if index is not None and call.get("index") == index), None)
    if known is None:
        calls.append(part)
        return
    function, more = known.get("function"), part.get("function")
    if isinstance(function, dict) and isinstance(more, dict):
        function |= {
            name: function[name] + value if isinstance(function.get(name), str) and name == "arguments" else value
            for name, value in more.items()
            if isinstance(value, str) and (name == "arguments" or value)
        }
