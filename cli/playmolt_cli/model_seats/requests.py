"""Prompts and requests of a model's turn, and the key of each call (arena.md, "One turn of a model")."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.port import ChatMessage, ModelRequest, SamplingParameters, TurnHeader
from playmolt_core.llm.scripted.model import Cast, Said, ScriptedTurn, generic
from playmolt_schemas.api import ActionOffer
from playmolt_schemas.canonical import canonical_json, digest

Language = Literal["ko", "en", "zh"]
LONGEST_BYTES: Final = 32 * 1024
_LANGUAGES: Final = {"ko": "한국어", "en": "English", "zh": "中文"}


class InvalidPrompt(ValueError):
    """An invalid prompt; the message says why."""


class Prompt(msgspec.Struct, frozen=True):
    """A prompt template; `sha256` identifies it."""

    text: str
    sha256: str

    def filled(self, name: str, language: Language) -> str:
        """Fill in `{name}` and `{language}`."""
        parts = self.text.split("{name}")
        return name.join(part.replace("{language}", _LANGUAGES[language]) for part in parts)


@cache
def shipped(game: str, language: Language) -> Prompt:
    """The shipped prompt for a game; raises InvalidPrompt if there is none."""
    file = files("playmolt.bots").joinpath(f"prompts/{game}.{language}.md")
    if not file.is_file():
        raise InvalidPrompt(f"no shipped prompt for {game} in {language}; set a prompt file")
    return _prompt(file.read_bytes(), file.name)


def of_file(path: Path) -> Prompt:
    """Read a prompt from a file; raises InvalidPrompt."""
    try:
        return _prompt(path.read_bytes(), str(path))
    except OSError as error:
        raise InvalidPrompt(f"{path}: {error.strerror or error}") from error


def _prompt(data: bytes, name: str) -> Prompt:
    if not 1 <= len(data) <= LONGEST_BYTES:
        raise InvalidPrompt(f"{name}: {len(data)} bytes; a prompt must have 1 to {LONGEST_BYTES} bytes")
    try:
        return Prompt(data.decode(), hashlib.sha256(data).hexdigest())
    except UnicodeDecodeError as error:
        raise InvalidPrompt(f"{name}: invalid UTF-8 at byte {error.start}") from error


KINDS: Final = ("ask", "repair1", "repair2")
"""The requests of one turn, in order."""
QUOTED_CHARS: Final = 8_000
"""Characters of a rejected reply that are quoted to the model."""
MAX_TOKENS: Final = 2048
_UNSHOWN: Final = ("deadline", "seconds_left", "invite", "turn_id")
_DEMANDS: Final[Mapping[Language, str]] = {
    "ko": "직전 답변은 사용할 수 없습니다: {fault}\n`actions`의 스키마에 맞는 JSON 객체 하나로만 다시 답하십시오.",
    "en": "Your last answer cannot be used: {fault}\nAnswer again, with one JSON object that fits a schema of `actions`"
    " and nothing else.",
    "zh": "上一个回答无法使用：{fault}\n请只用一个符合`actions`中Schema的JSON对象重新回答。",
}


class TurnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One call: its key, turn, kind and request."""

    key: str
    turn: str
    kind: str
    request: ModelRequest


class RejectedReply(msgspec.Struct, frozen=True):
    """A reply without a valid action: its text and the error."""

    text: str
    fault: str


class ModelProfile(msgspec.Struct, frozen=True, kw_only=True):
    """A model's configuration in one seat: alias, system message, sampling."""

    alias: str
    system: str
    language: Language
    session: str
    sampling: SamplingParameters = SamplingParameters()
    max_tokens: int = MAX_TOKENS

    def asking(
        self, catalogue: Catalogue, turn: str, state: Mapping[str, object], offers: Sequence[ActionOffer],
        bad: Sequence[RejectedReply],
    ) -> TurnRequest:  # fmt: skip
        """The next request of a turn, after the rejected replies in `bad`."""
        shown = {
            "actions": [{"type": offer.type, "schema": without_turn_id(offer.schema)} for offer in offers],
            "state": {name: value for name, value in state.items() if name not in _UNSHOWN},
        }
        messages = [ChatMessage("system", self.system), ChatMessage("user", canonical_json(shown).decode())]
        if bad:
            quoted = bad[-1].text[:QUOTED_CHARS]
            messages += [ChatMessage("assistant", quoted)] if quoted.strip() else []
            messages.append(ChatMessage("user", _DEMANDS[self.language].format(fault=bad[-1].fault)))
        kind = KINDS[len(bad)]
        entry = catalogue.models.get(self.alias)
        named = {
            "alias": self.alias,
            "base_url": entry.base_url if entry else "",
            "decoding": (entry.decoding if entry else None) or "best",
            "kind": kind,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "model": entry.model if entry else self.alias,
            "sampling": {**msgspec.to_builtins(self.sampling), "max_tokens": self.max_tokens},
            "turn": turn,
        }
        key = digest(named)
        request = ModelRequest(
            alias=self.alias,
            messages=tuple(messages),
            turn=TurnHeader(self.session, turn, kind),
            schema_name=SCHEMA_NAME,
            schema=schema_of(offers),
            sampling=self.sampling,
            max_tokens=self.max_tokens,
            headers={"Idempotency-Key": key},
        )
        return TurnRequest(key=key, turn=turn, kind=kind, request=request)


def schema_of(offers: Sequence[ActionOffer]) -> dict[str, object]:
    """The JSON Schema of the reply: that of the offered action, or any of several."""
    schemas = [without_turn_id(offer.schema) for offer in offers]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def without_turn_id(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An action's schema without `turn_id`, which the seat fills in itself."""
    properties = {name: part for name, part in schema.get("properties", {}).items() if name != "turn_id"}
    kept = {**schema, "properties": properties} if "properties" in schema else dict(schema)
    if "required" in kept:
        kept["required"] = [name for name in kept["required"] if name != "turn_id"]
    return kept


SCHEMA_NAME = "action"
"""Name of the action schema in requests of bot games."""


def cast() -> Cast:
    """The generic scripted model; in O/X it checks whether its switch is still available."""
    whole = Cast()
    whole.add(_player, schema=SCHEMA_NAME)
    return whole


def _player(turn: ScriptedTurn) -> Said:
    reply = generic(turn)
    action = json.loads(reply.text)
    asked = next(message.content for message in turn.request.messages if message.role == "user")
    me = json.loads(asked)["state"].get("self") or {}
    if action.get("use_switch") and not me.get("switch_available", True):
        return Said(msgspec.json.encode({**action, "use_switch": False}).decode())
    return reply
