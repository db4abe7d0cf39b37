"""A question asked aside: its prompt, the form of its answer, and how a reply is read.

The ladder is that of turns (`reply_parser`): `ok`, `ok_fenced`, `ok_canonicalised`, `reasked`, and four codes without
an answer.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Final, cast

import msgspec
from playmolt_core.llm.openai.storing import storable
from playmolt_core.llm.port import REPLY_BYTES
from playmolt_schemas.stored.agora.turn import ANSWER_CHARS, AnswerCode, Interview, InterviewScale, Language
from playmolt_schemas.text import trimmed

from playmolt_agora_runner.turn import prompts, texts
from playmolt_agora_runner.turn.prompts import Prompt
from playmolt_agora_runner.turn.reply_parser import FailedCode, Unread, find_object
from playmolt_agora_runner.turn.scene import Scene

SCHEMA: Final = "interview"
"""The schema name of an answer."""
_KEY: Final = "answer"
_WHOLE: Final = re.compile(r"[+-]?\d{1,9}(?:\.0+)?")
_NUMBERED: Final = re.compile(r"(\d{1,3})\s*[.):]?\s*(.*)", re.DOTALL)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer as it was read; `fault` says in the run's language what was wrong, for the call that asks again."""

    code: AnswerCode
    value: int | None = None
    choice: int | None = None
    text: str | None = None
    fault: str = ""


class _Phrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of one language (`interview.toml`)."""

    prompt: str
    scale: str
    choices: str
    text: str
    number: str
    words: str
    keys: tuple[str, ...]
    reask: str
    faults: Mapping[str, str]


def render(scene: Scene, question: Interview) -> Prompt:
    """The scene with the question in the place of the request for an action."""
    said = _phrases(scene.language)
    slots = {"ask": trimmed(question.ask.of(scene.language)), "form": _form(question, scene.language)}
    slots["sample"] = _sample(question, said)
    return prompts.render(scene, aside=prompts.filled(trimmed(said.prompt), slots))


def answer_schema(question: Interview, language: Language) -> dict[str, object]:
    """The JSON Schema of the answer. Numbers are listed, because not every server knows bounds of numbers."""
    numbers = ends(question, language)
    if numbers is None:
        kind: dict[str, object] = {"type": "string"}
    else:
        kind = {"type": "integer", "enum": list(range(numbers.from_, numbers.to + 1))}
    return {"type": "object", "properties": {_KEY: kind}, "required": [_KEY], "additionalProperties": False}


def read(
    text: str | None,
    question: Interview,
    language: Language,
    *,
    failed: FailedCode | None = None,
    reask: bool = False,
) -> Answer:
    """Read a reply, unless its question `failed`. `reask`: it answers a second question."""
    try:
        return _read((text or "")[:REPLY_BYTES], question, language, failed, reask=reask)
    except Unread as unread:
        words = _phrases(language).faults.get(unread.fault, "")
        code = cast("AnswerCode", unread.code)  # no answer is an action
        return Answer(code=code, fault=prompts.filled(words, unread.slots))


def reask_message(answer: Answer, question: Interview, language: Language) -> str:
    """Ask again, saying what was wrong with the reply."""
    said = _phrases(language)
    return prompts.filled(said.reask, {"fault": answer.fault, "sample": _sample(question, said)})


def _form(question: Interview, language: Language) -> str:
    said, choices = _phrases(language), question.choices_in(language)
    if isinstance(question.scale, InterviewScale):
        return prompts.filled(said.scale, {"least": question.scale.from_, "most": question.scale.to})
    if choices:
        listed = "\n".join(f"{number}. {prompts.one_line(text)}" for number, text in enumerate(choices, 1))
        return prompts.filled(said.choices, {"listed": listed, "most": len(choices)})
    return said.text


def _sample(question: Interview, said: _Phrases) -> str:
    return said.words if question.text else said.number


def ends(question: Interview, language: Language) -> InterviewScale | None:
    """The least and the largest number that answers; None for an answer in words."""
    if isinstance(question.scale, InterviewScale):
        return question.scale
    choices = question.choices_in(language)
    return InterviewScale(from_=1, to=len(choices)) if choices else None


def _read(text: str, question: Interview, language: Language, failed: FailedCode | None, *, reask: bool) -> Answer:
    if failed is not None:
        raise Unread(failed)
    pairs, alone = find_object(text, lambda key: _means_answer(key, language))
    named = [pair for pair in pairs if pair[0] == _KEY]
    meant = named or [pair for pair in pairs if _means_answer(pair[0], language)]
    if len(meant) > 1:
        raise Unread("parse_error", "duplicate", key=_KEY)
    if not meant or meant[0][1] is None:
        raise Unread("parse_error", "no_answer")
    spelt, value = meant[0]
    answer, as_asked = _answer(value, question, language)
    canonical = not as_asked or spelt != _KEY
    code: AnswerCode = "ok_canonicalised" if canonical else "ok" if alone else "ok_fenced"
    return msgspec.structs.replace(answer, code="reasked" if reask else code)


def _means_answer(key: str, language: Language) -> bool:
    plain = _plain(key)
    return plain == _KEY or plain in _phrases(language).keys


def _answer(value: object, question: Interview, language: Language) -> tuple[Answer, bool]:
    """The answer, and whether it has the requested form."""
    numbers = ends(question, language)
    if numbers is None:
        return _words(value)
    choices = question.choices_in(language)
    number, as_asked = _number(value, choices)
    if number is None or not numbers.from_ <= number <= numbers.to:
        raise Unread("parse_error", "not_number", least=numbers.from_, most=numbers.to)
    return (Answer(code="ok", choice=number) if choices else Answer(code="ok", value=number)), as_asked


def _words(value: object) -> tuple[Answer, bool]:
    if not isinstance(value, str):
        raise Unread("parse_error", "not_text")
    plain = trimmed(storable(str(value), None).replace("\r\n", "\n").replace("\r", "\n"))
    if not plain:
        raise Unread("parse_error", "no_answer")
    as_asked = type(value) is str and len(plain) <= ANSWER_CHARS
    return Answer(code="ok", text=trimmed(plain[:ANSWER_CHARS])), as_asked


def _number(value: object, choices: tuple[str, ...]) -> tuple[int | None, bool]:
    """The number that a value says, and whether it is a plain number. A choice may be named by its words."""
    if isinstance(value, list) and len(value) == 1:
        return _number(value[0], choices)[0], False
    if not isinstance(value, str):
        return None, False
    spelt = trimmed(value)
    if _WHOLE.fullmatch(spelt):
        # A JSON number is read as a subclass of str, a JSON text as str itself.
        return int(spelt.partition(".")[0]), type(value) is not str and "." not in spelt
    named = [number for number, text in enumerate(choices, 1) if _plain(text) == _plain(spelt)]
    if len(named) == 1:
        return named[0], False
    numbered = _NUMBERED.fullmatch(spelt)
    if numbered and (int(numbered[1]), _plain(numbered[2])) in enumerate(map(_plain, choices), 1):
        return int(numbered[1]), False
    return None, False


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(" .\"'“”‘’")


@cache
def _phrases(language: Language) -> _Phrases:
    return msgspec.convert(texts.table("interview.toml")[language], _Phrases)
