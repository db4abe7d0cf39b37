"""Parse a model's reply into an act: one parser for all models (agora.md, Turn).

`ok` is exactly the requested object. `ok_fenced` is one object inside other text, `ok_canonicalised` one whose
keys, action or target were spelt otherwise. A reply that is valid after a second question is `reasked`. The others,
`parse_error`, `invalid_action`, `timeout`, `refusal` and `cut` (the reply did not fit), do nothing. Ambiguity is never
guessed.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, Literal

import msgspec
from playmolt_core.llm.openai.storing import storable
from playmolt_core.llm.port import REPLY_BYTES
from playmolt_schemas.stored.agora.turn import SKILLS, Language, ParseCode
from playmolt_schemas.text import trimmed

from playmolt_agora_runner.turn import prompts, spelling, texts
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.turn.spelling import NamedAction


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """A reply as it was read. `action` is one of ACTIONS or SKILLS when `code` is valid, else None with the rest.

    `fault` says in the run's language what was wrong, for the call that asks again.
    """

    code: ParseCode
    thought: str | None = None
    action: str | None = None
    target: str | None = None
    content: str | None = None
    fault: str = ""

    @property
    def valid(self) -> bool:
        """Whether the turn acts."""
        return self.action is not None


FailedCode = Literal["refusal", "timeout", "cut"]
"""Why a question has no reply that could be read."""
THOUGHT_CHARS: Final = 4000
CONTENT_CHARS: Final = 2000
TARGET_CHARS: Final = 200
_OPENINGS: Final = 64
"""How many braces of a reply are tried as the beginning of its object."""
_QUOTED_CHARS: Final = 60
_KEYS: Final = ("thought", "action", "target", "content")


class _Number(str):
    """A number or truth value as it was spelt: no string, but as good as one."""

    __slots__ = ()


UnreadCode = Literal["parse_error", "invalid_action", "refusal", "timeout", "cut"]


class Unread(Exception):
    """Why a reply cannot be read as an act or an answer: its code, and the name of the words for it."""

    def __init__(self, code: UnreadCode, fault: str = "", **slots: object) -> None:
        super().__init__(code, fault)
        self.code: UnreadCode = code
        self.fault = fault or code
        self.slots = slots


class Pairs(list[tuple[str, Any]]):
    """An object as pairs, since a key may occur twice; numbers are texts."""


HasKey = Callable[[str], bool]
"""Whether a key is the one that makes an object a reply."""


def read(text: str | None, scene: Scene, *, failed: FailedCode | None = None, reask: bool = False) -> Parsed:
    """Parse a reply for the agent of a scene, unless its question `failed`. `reask`: it answers a second question.

    Thought and content are trimmed, made storable and cut to THOUGHT_CHARS and CONTENT_CHARS; the caller stores the
    raw text.
    """
    try:
        return _parsed(text or "", scene, failed, reask=reask)
    except Unread as unread:
        words = texts.of(scene.language).own["faults"].get(unread.fault, "")
        return Parsed(code=unread.code, fault=prompts.fill(words, unread.slots))


def reask_message(parsed: Parsed, language: Language) -> str:
    """Ask again, saying what was wrong with the reply."""
    return prompts.fill(texts.of(language).own["reask"]["message"], {"fault": parsed.fault})


def reply_schema(scene: Scene) -> dict[str, object]:
    """The JSON Schema of the reply for servers that bind or check it; the skills are the architect's alone."""
    properties: dict[str, Any] = {
        "thought": {"type": "string"},
        "action": {"type": "string", "enum": list(scene.actions)},
        "target": {"type": ["string", "null"]},
        "content": {"type": ["string", "null"]},
    }
    return {"type": "object", "properties": properties, "required": list(_KEYS), "additionalProperties": False}


def _parsed(text: str, scene: Scene, failed: FailedCode | None, *, reask: bool) -> Parsed:
    if failed is not None:
        raise Unread(failed)
    pairs, alone = find_object(text[:REPLY_BYTES], lambda key: spelling.key(key) == "action")
    fields, respelt = _fields(pairs)
    act = _act(fields, scene)
    thought, cut = _kept(fields["thought"], THOUGHT_CHARS)
    content, content_cut = _kept(act.content, CONTENT_CHARS)
    changed = act.action != fields["action"] or (act.target or "") != (fields["target"] or "")
    canonicalised = respelt or changed or cut or content_cut
    code: ParseCode = "ok_canonicalised" if canonicalised else "ok" if alone else "ok_fenced"
    return Parsed(
        code="reasked" if reask else code, thought=thought, action=act.action, target=act.target, content=content
    )


def find_object(text: str, has_key: HasKey) -> tuple[Pairs, bool]:
    """The one object of a reply, with text around it or inside another object; whether it is alone. Raises Unread."""
    whole = trimmed(text.removeprefix("\ufeff"))
    if not whole:
        raise Unread("parse_error", "empty")
    exact = decoded(_EXACT, whole, 0)
    if exact is not None and exact[1] == len(whole) and isinstance(exact[0], Pairs):
        inner = _unwrapped(exact[0], has_key)
        return inner, inner is exact[0]
    # Objects without the key are braces in prose; without another object, the first shows what is missing.
    inside = [_unwrapped(found, has_key) for found in objects(_LENIENT, whole) if isinstance(found, Pairs)]
    keyed = [pairs for pairs in inside if _has(pairs, has_key)]
    if not inside:
        raise Unread("refusal") if spelling.declines(whole) else Unread("parse_error", "no_object")
    if any(pairs != keyed[0] for pairs in keyed):
        raise Unread("parse_error", "several")
    return (keyed or inside)[0], False


def _has(pairs: Pairs, has_key: HasKey) -> bool:
    return any(has_key(key) for key, _ in pairs)


def _unwrapped(pairs: Pairs, has_key: HasKey) -> Pairs:
    """Take a reply out of an object that holds nothing else: `{"reply": {...}}`."""
    match pairs:
        case [(_, Pairs() as inner)] if not _has(pairs, has_key) and _has(inner, has_key):
            return inner
    return pairs


def objects(decoder: json.JSONDecoder, text: str) -> Iterator[object]:
    """The objects inside a text, outermost first; braces in prose and in strings are passed over."""
    start = -1
    for _ in range(_OPENINGS):
        start = text.find("{", start + 1)
        if start < 0:
            return
        found = decoded(decoder, text, start)
        if found is not None:
            yield found[0]
            start = found[1] - 1


def decoded(decoder: json.JSONDecoder, text: str, start: int) -> tuple[object, int] | None:
    """What begins at a place, and where it ends; None if that is not JSON."""
    try:
        return decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_decoder = partial(
    json.JSONDecoder,
    object_pairs_hook=Pairs, parse_float=_Number, parse_int=_Number, parse_constant=_no_constant,
)  # fmt: skip
_EXACT: Final = _decoder()
# Many models write line ends inside strings, which JSON forbids.
_LENIENT: Final = _decoder(strict=False)


def _fields(pairs: Pairs) -> tuple[Mapping[str, str | None], bool]:
    """The four fields as texts, and whether any had to be read into shape. Keys that mean nothing are left out.

    A synonym counts only if the field itself is missing.
    """
    fields: dict[str, str | None] = {}
    respelt = False
    for key in _KEYS:
        meant = [pair for pair in pairs if spelling.key(pair[0]) == key]
        named = [pair for pair in meant if spelling.is_field(pair[0])] or meant
        if len(named) > 1:
            raise Unread("parse_error", "duplicate", key=key)
        spelt, value = named[0] if named else (key, None)
        fields[key] = _text(key, value)
        respelt = respelt or spelt != key or (value is not None and type(value) is not str)
    if fields["action"] is None:
        raise Unread("parse_error", "no_action")
    return fields, respelt


def _text(key: str, value: object) -> str | None:
    match value:
        case _Number() if key == "action":
            raise Unread("parse_error", "not_text", key=key)
        case None | str():
            return value
        case bool() if key != "action":
            return str(value).lower()
        case [str(only)]:
            return only
    raise Unread("parse_error", "not_text", key=key)


def _act(fields: Mapping[str, str | None], scene: Scene) -> NamedAction:
    """The action, with the fields joined with what followed its name; two different targets are a fault."""
    spelt = fields["action"] or ""
    named, possible = spelling.action_in(spelt, scene), ", ".join(scene.actions)
    if named is not None and named.action in SKILLS and named.action not in scene.actions:
        raise Unread("invalid_action", "foreign_skill", action=named.action, actions=possible)
    if named is None or named.action not in scene.actions:
        raise Unread("invalid_action", "unknown_action", action=_quoted(spelt), actions=possible)
    action = named.action
    target, behind = (_target(each, action, scene) for each in (fields["target"], named.target))
    if target is not None and behind is not None and behind != target:
        raise Unread("invalid_action", "two_targets", first=_quoted(behind), second=_quoted(target))
    return NamedAction(action, target or behind, fields["content"] or named.content)


def _target(spelt: str | None, action: str, scene: Scene) -> str | None:
    if spelt is None:
        return None
    plain = _cut(storable(trimmed(spelt)), TARGET_CHARS)
    if not plain or spelling.is_nothing(plain):
        return None
    if plain in scene.agents or not spelling.is_aimed(action, scene):
        return plain
    return spelling.target_in(plain, scene)


def _kept(text: str | None, limit: int) -> tuple[str | None, bool]:
    plain = trimmed(storable(text, None)) if text is not None else ""
    return _cut(plain, limit) or None, len(plain) > limit


def _cut(text: str, limit: int) -> str:
    return trimmed(text[:limit])


def _quoted(text: str) -> str:
    line = prompts.one_line(text)
    return line if len(line) <= _QUOTED_CHARS else f"{line[:_QUOTED_CHARS]}…"
