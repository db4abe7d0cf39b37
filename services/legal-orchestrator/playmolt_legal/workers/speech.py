"""Streams a role's reply to the session's owner; pieces may be lost, the complete turn follows."""

import asyncio
import re
from collections.abc import Callable
from typing import Final, cast

import msgspec
from playmolt_core.llm.port import Listener, TurnHeader
from playmolt_schemas.games.legal import SpeakingMessage
from playmolt_schemas.stored.legal import Kind
from typing_extensions import override

SECONDS: Final = 0.1
"""Minimum seconds between two pieces: tokens arrive faster than a person reads."""
_UNSAID: Final = frozenset(
    ("basis", "issue", "answers", "evidence", "GateStatus", "SteeringCompliance", "SteeringComplianceCheck")
)
"""Fields that hold ids and codes."""
_ESCAPE: Final = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])')
_PLAIN: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")

Speak = Callable[[str, bytes], None]
"""Sends a message that is not an event to the readers of a session."""


class JsonTextExtractor:
    """Extracts texts from streamed JSON: values, one per line, without keys, ids and braces."""

    def __init__(self) -> None:
        self._begun = self._in_text = self._said = False
        self._raw = self._key = self._escaped = self._high = ""
        self._keys: list[str] = []
        self._value = False

    def feed(self, piece: str) -> str:
        out: list[str] = []
        for char in piece:
            if self._in_text:
                self._inside(char, out)
            else:
                self._outside(char)
        return "".join(out)

    @property
    def _shown(self) -> bool:
        return self._value and self._key not in _UNSAID

    def _outside(self, char: str) -> None:
        match char:
            case "{":
                self._begun = True
                self._keys.append(self._key)
                self._value = False
            case "}":
                self._key = self._keys.pop() if self._keys else ""
                self._value = True
            case "," if self._keys:
                self._value = self._listing()
            case ":":
                self._value = True
            case "[":
                self._keys.append("[")
                self._value = True
            case "]":
                if self._keys:
                    self._keys.pop()
            case '"' if self._begun:
                self._in_text, self._raw, self._said = True, "", False

    def _listing(self) -> bool:
        return self._keys[-1] == "["

    def _inside(self, char: str, out: list[str]) -> None:
        if self._escaped:
            self._escaped += char
            if _ESCAPE.fullmatch(self._escaped) or len(self._escaped) > len("\\uXXXX"):
                self._take(_unescaped(self._escaped), out)
                self._escaped = ""
        elif char == "\\":
            self._escaped = char
        elif char == '"':
            self._end(out)
        else:
            self._take(char, out)

    def _take(self, char: str, out: list[str]) -> None:
        char = self._high + char
        self._high = char if len(char) == 1 and "\ud800" <= char <= "\udbff" else ""
        if self._high:
            return
        char = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), char)
        if self._shown:
            out.append(char)
        elif not self._value:
            self._raw += char

    def _end(self, out: list[str]) -> None:
        self._in_text, self._high = False, ""
        if self._shown:
            out.append("\n")
        elif not self._value:
            self._key = self._raw


def _unescaped(escape: str) -> str:
    if escape.startswith("\\u"):
        return chr(int(escape[2:6], 16))
    return _PLAIN.get(escape[1:2], escape[1:2])


class ReplyForwarder(Listener):
    """Forwards the reply to one request; a repeated attempt starts from the beginning."""

    def __init__(self, speak: Speak, turn: TurnHeader) -> None:
        self._speak, self._turn = speak, turn
        self.begin()

    @override
    def begin(self) -> None:
        self._texts, self._waiting, self._n = JsonTextExtractor(), "", 0
        self._sent_at = 0.0

    @override
    def say(self, text: str) -> None:
        self._waiting += self._texts.feed(text)
        now = asyncio.get_running_loop().time()
        if self._waiting and now - self._sent_at >= SECONDS:
            self._sent_at = now
            self.end()

    @override
    def end(self) -> None:
        delta, self._waiting = self._waiting.encode("utf-8", "replace").decode(), ""
        if not delta:
            return
        self._n += 1
        message = SpeakingMessage(
            session_id=self._turn.session,
            phase=self._turn.name,
            kind=cast("Kind", self._turn.kind),
            n=self._n,
            delta=delta,
        )
        self._speak(self._turn.session, msgspec.json.encode(message))
