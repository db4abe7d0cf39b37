"""Replies of the model: their JSON Schemas, their parsing, and the tools a juror may call."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, get_args

import msgspec
from playmolt_core.llm.parsing import Unparsed, parse_object
from playmolt_core.llm.port import Tool
from playmolt_schemas.games.jury import Classification, SpeechReply
from playmolt_schemas.stored.jury import Impact, TopicImpact
from playmolt_schemas.text import composed_text, trimmed, unstorable

TOPICS_KEPT: Final = 3
LOOKUP: Final = "lookup_evidence"
CAST: Final = "cast_vote"
CHAT_HISTORY: Final = "chat_history"
IMPACTS: Final[tuple[Impact, ...]] = get_args(Impact)
_IDS: Final = 32
_OBJECT: Final = re.compile(r'(?:```\w*\s*)?[{[]\s*[{[]?\s*"\w+"\s*:')
"""The beginning of JSON, in a code fence or not: small models write tool calls that no parser takes."""


class InvalidReply(ValueError):
    """An unusable answer; the message can be sent back to the model."""


def kept(topics: Iterable[TopicImpact], allowed: Collection[str]) -> tuple[TopicImpact, ...]:
    """The first three distinct allowed topics."""
    first: dict[str, TopicImpact] = {}
    for each in topics:
        if each.topic in allowed:
            first.setdefault(each.topic, each)
    return tuple(first.values())[:TOPICS_KEPT]


def read_text(reply: str) -> str:
    """Parses a plain answer; InvalidReply if it is empty or cannot be stored."""
    text = composed_text(trimmed(reply))
    if not text:
        raise InvalidReply("the answer is empty: say something")
    if unstorable(text):
        raise InvalidReply("the answer holds NUL or half of a surrogate pair: leave it out")
    return text


def read_words(reply: str) -> str:
    """Parses a juror's answer in words; InvalidReply also if it is a broken tool call or another object."""
    text = read_text(reply)
    if _OBJECT.match(text):
        raise InvalidReply("the answer is JSON, or a tool call that cannot be read: answer in words alone")
    return text


def read_topics(reply: str, allowed: Collection[str]) -> tuple[TopicImpact, ...]:
    """The reply of a `classify` turn; InvalidReply if it is invalid."""
    return kept(_read(reply, Classification).topics, allowed)


def read_speech(reply: str, allowed: Collection[str]) -> tuple[str, tuple[TopicImpact, ...]]:
    """The reply of a `speech` turn; InvalidReply if it is invalid."""
    speech = _read(reply, SpeechReply)
    return read_text(speech.text), kept(speech.topics, allowed)


def topics_schema(allowed: Collection[str]) -> dict[str, object]:
    item = {
        "type": "object",
        "properties": {"topic": {"enum": list(allowed)}, "impact": {"enum": list(IMPACTS)}},
        "required": ["topic", "impact"],
        "additionalProperties": False,
    }
    return {"type": "array", "items": item}


def classify_schema(allowed: Collection[str]) -> dict[str, object]:
    return _object({"topics": topics_schema(allowed)})


def speech_schema(allowed: Collection[str]) -> dict[str, object]:
    return _object({"text": {"type": "string"}, "topics": topics_schema(allowed)})


LOOKUP_PARAMETERS: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {
        "evidence_ids": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": _IDS},
    },
    "required": ["evidence_ids"],
    "additionalProperties": False,
}
CAST_PARAMETERS: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {"guilty": {"type": "boolean"}},
    "required": ["guilty"],
    "additionalProperties": False,
}


def lookup_tool(description: str) -> Tool:
    return Tool(LOOKUP, description, LOOKUP_PARAMETERS)


def cast_tool(description: str) -> Tool:
    return Tool(CAST, description, CAST_PARAMETERS)


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _read(reply: str, kind: type[object]) -> Any:
    parsed = parse_object(reply)
    if isinstance(parsed, Unparsed):
        raise InvalidReply(parsed.detail)
    try:
        return msgspec.convert(parsed.value, kind)
    except msgspec.ValidationError as error:
        raise InvalidReply(str(error)) from None
