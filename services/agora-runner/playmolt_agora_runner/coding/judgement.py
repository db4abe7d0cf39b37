"""What a judge is asked about a thought, and what its reply says: the labels of the lexicons, or why there are none."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Final, Literal

import msgspec
from msgspec import UNSET
from playmolt_core.llm.durable_call import StoredCall
from playmolt_schemas.instrument.laboratory import Thought
from playmolt_schemas.stored.agora.experiment import JudgeCoded
from playmolt_schemas.stored.agora.turn import Language
from playmolt_schemas.text import trimmed

from playmolt_agora_runner.turn import prompts, texts
from playmolt_agora_runner.turn.reply_parser import decoded, objects
from playmolt_agora_runner.turn.spelling import declines

JudgeCode = Literal["ok", "ok_fenced", "ok_canonicalised", "parse_error", "timeout", "refusal", "cut"]
"""How the reply was read, by the names of the ladder of turns."""
LABELS: Final = ("survival", "social")
_YES: Final = frozenset(("true", "yes", "1", "예"))
_NO: Final = frozenset(("false", "no", "0", "아니오"))


class Judgement(msgspec.Struct, frozen=True):
    """The labels of a thought; null where the reply gave none, and `code` says why."""

    code: JudgeCode
    survival: bool | None = None
    social: bool | None = None


def prompt(thought: Thought) -> prompts.Prompt:
    """The thought alone, without its author or outcome."""
    words = _words(thought.language)
    user = prompts.fill(trimmed(words["user"]), {"thought": thought.text})
    return prompts.Prompt(system=trimmed(words["system"]), user=user)


def thought_in(shown: str) -> str:
    """The thought that a judge is shown, for one that is scripted."""
    return shown.partition("<thought>\n")[2].rpartition("\n</thought>")[0]


def coded(
    thought: Thought, judge: str, prompt_hash: str, calls: Sequence[StoredCall], said: Judgement | None = None
) -> tuple[JudgeCoded, ...]:
    """The calls of a question as events; the last has what the judge said, if the question is settled."""
    return tuple(
        JudgeCoded(
            run=thought.run,
            agent=thought.agent,
            turn=thought.turn,
            judge=judge,
            prompt_hash=prompt_hash,
            raw_reply=str(call.get("reply") or ""),
            survival=said.survival if said and number == len(calls) else None,
            social=said.social if said and number == len(calls) else None,
            code=said.code if said and number == len(calls) else None,
            usage=call.get("usage"),
            cost=call.get("cost"),
            call={name: value for name, value in call.items() if name not in ("reply", "usage", "cost")},
            interview=thought.interview or UNSET,
        )
        for number, call in enumerate(calls, 1)
    )


def read(text: str) -> Judgement:
    """The labels of a reply: one object with both and nothing else, or the only labels in it."""
    whole = trimmed(text.removeprefix("\ufeff"))
    exact = decoded(_DECODER, whole, 0)
    if exact is not None and exact[1] == len(whole):
        return _judgement(exact[0], "ok")
    found = {label for label in map(_labels, objects(_DECODER, whole)) if label is not None}
    if len(found) == 1:
        return Judgement("ok_fenced", *next(iter(found)))
    return Judgement("refusal" if not found and declines(whole) else "parse_error")


def _judgement(value: object, code: JudgeCode) -> Judgement:
    labels = _labels(value)
    if labels is None:
        return Judgement("parse_error")
    as_asked = isinstance(value, dict) and all(isinstance(value.get(name), bool) for name in LABELS)
    return Judgement(code if as_asked else "ok_canonicalised", *labels)


def _labels(value: object) -> tuple[bool, bool] | None:
    """Both labels, however their names and values are spelt; None if one is missing or occurs twice."""
    if not isinstance(value, dict):
        return None
    named = [(str(name).strip().lower(), each) for name, each in value.items()]
    found = [[_label(each) for name, each in named if name == label] for label in LABELS]
    match found:
        case [[bool() as survival], [bool() as social]]:
            return survival, social
    return None


def _label(value: object) -> bool | None:
    word = str(value).strip().lower() if isinstance(value, str | bool | int) else ""
    return True if word in _YES else False if word in _NO else None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("an object has the same name twice")
    return dict(pairs)


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_once, strict=False)


@cache
def _words(language: Language) -> texts.Words:
    words: texts.Words = texts.table("judge.toml")[language]
    return words
