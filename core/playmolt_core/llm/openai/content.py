"""Separates the reply in a message from the model's reasoning."""

import json
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from playmolt_core.llm.openai.storing import json_text

_TAG: Final = r"(?:\w+:)?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)"
THOUGHT = re.compile(rf"</\s*{_TAG}\s*>|\[/THINK\]|◁/think▷|<\|channel\|>final[^<]*<\|message\|>", re.IGNORECASE)
"""The end markers of reasoning of different vendors."""
THINKS = re.compile(
    rf"<\s*{_TAG}(?:\s[^<>]*)?>|\[THINK\]|◁think▷|<\|channel\|>(?:analysis|commentary)[^<]*<\|message\|>", re.IGNORECASE
)
_REASONING_PARTS: Final = frozenset({"thinking", "reasoning", "reasoning.text", "redacted_thinking", "summary_text"})
_TEXT_PARTS: Final = frozenset({"text", "output_text", "input_text", "markdown"})
_REASONING_FIELDS: Final = (
    "reasoning_content", "reasoning", "reasoning_details", "reasoning_text", "thinking", "thinking_content", "thoughts",
)  # fmt: skip


class Content(NamedTuple):
    """`text` is the reply; `reasoning` is separate from it, None if the model returned none, and lay in these fields of
    the message."""

    text: str
    reasoning: str | None
    refusal: str
    reasoning_fields: tuple[str, ...] = ()


def content_of(message: Mapping[str, object]) -> Content:
    """The parts of a message. Raises ValueError if its content is unreadable."""
    parts, thought, refused = _parts(message.get("content"))
    text, spoken = _split("".join(parts))
    known: dict[str, str] = {}
    for field in _REASONING_FIELDS:
        words = _words(message.get(field))
        if words.strip():
            known.setdefault(words, field)
    inside = [*thought, *([spoken] if spoken.strip() else [])]
    fields = (*known.values(), *(["content"] if inside else []))
    refusal = message.get("refusal")
    refusal = refusal if isinstance(refusal, str) else refused
    return Content(text, "\n".join([*known, *inside]) or None, refusal, fields)


def _parts(content: object) -> tuple[list[str], list[str], str]:
    match content:
        case None:
            return [], [], ""
        case str():
            return [content], [], ""
        case dict() if "type" in content or "text" in content:
            return _parts([content])
        case dict():  # the server parsed the JSON of the reply itself
            return [json_text(content)], [], ""
        case list():
            said: list[str] = []
            thought: list[str] = []
            refusal = ""
            for part in content:
                if isinstance(part, str):
                    said.append(part)
                elif isinstance(part, dict) and part.get("type") in _REASONING_PARTS:
                    thought.append(_words(part))
                elif isinstance(part, dict) and part.get("type") == "refusal":
                    refusal += _words(part.get("refusal"))
                elif isinstance(part, dict) and str(part.get("type", "text")).lower() in _TEXT_PARTS:
                    said.append(_words(part.get("text") or part.get("content")))
            return said, [each for each in thought if each.strip()], refusal
    raise ValueError(f"the content of its message is a {type(content).__name__}")


def _words(part: object) -> str:
    """The text of a part, however deep it lies."""
    match part:
        case str():
            return part
        case list():
            return "".join(map(_words, part))
        case dict():
            names = ("thinking", "reasoning", "text", "summary", "content", "value")
            return next((words for name in names if (words := _words(part.get(name)))), "")
    return ""


def _split(text: str) -> tuple[str, str]:
    """Split into (reply, reasoning): text before the end marker is reasoning, also if the marker is missing.

    A complete object is the reply, even if its texts contain such markers.
    """
    if text.lstrip().startswith("{") and _is_object(text):
        return text, ""
    ends = list(THOUGHT.finditer(text))
    thought, rest = (text[: ends[-1].start()], text[ends[-1].end() :].lstrip()) if ends else ("", text)
    begun = THINKS.search(rest)
    if begun:
        thought, rest = f"{thought}\n{rest[begun.end() :]}" if thought else rest[begun.end() :], rest[: begun.start()]
    opened = THINKS.match(thought.lstrip())
    return rest, (thought.lstrip()[opened.end() :] if opened else thought).strip()


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
