"""Streams the text of a reply while it is generated, without the model's reasoning."""

import re
from contextlib import suppress
from typing import Any, Final

import msgspec

from playmolt_core.llm.openai.content import THINKS, THOUGHT
from playmolt_core.llm.port import Listener
from playmolt_core.ops.json_values import decode_json

_LINE_BYTES: Final = 256 * 1024
"""Longer lines are not part of a speech; the complete reply is read later."""
_MARK_CHARS: Final = 32
"""This much of a reply shows whether it begins with reasoning."""
_MAY_THINK: Final = re.compile(r"[<\[◁]")


class Speech:
    """Parses an event stream in arbitrary chunks. Unreadable parts are skipped; the complete reply is read later."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._rest = b""
        self._held = ""
        self._begun = False

    def feed(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > _LINE_BYTES:
            self._rest = b""
        for line in lines:
            if line.startswith(b"data:"):
                self._say(_content(line[5:].strip()))

    def _say(self, text: str) -> None:
        if self._begun:
            self._tell(text)
            return
        self._held += text
        held = self._held.lstrip()
        if thought := THINKS.match(held):
            end = THOUGHT.search(held, thought.end())
            if end is None:
                return
            held = held[end.end() :]
        elif not held or (_MAY_THINK.match(held) and len(held) < _MARK_CHARS):
            return
        self._begun, self._held = True, ""
        self._tell(held)

    def _tell(self, text: str) -> None:
        if text:
            self._listener.say(text)


def _content(data: bytes) -> str:
    with suppress(msgspec.DecodeError, UnicodeDecodeError, KeyError, IndexError, TypeError):
        event: Any = decode_json(data)
        content = event["choices"][0]["delta"]["content"]
        return content if isinstance(content, str) else ""
    return ""
