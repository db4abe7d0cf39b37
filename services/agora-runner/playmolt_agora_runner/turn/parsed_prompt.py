"""A turn's prompt as a scripted model sees it: read off its text alone, in either language."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, cast

import msgspec
from playmolt_core.llm.port import ChatMessage
from playmolt_schemas.stored.agora.turn import Language, Persona, PhaseName

from playmolt_agora_runner.turn import texts

_SECTION: Final = re.compile(r"^\[", re.MULTILINE)
_NUMBER: Final = re.compile(r"\d+")
_MARK: Final = {"ko": "[당신의 정체성]", "en": "[YOUR IDENTITY]"}
_OPENING_CHARS: Final = 8
"""This many characters of a persona's text are unique in both languages."""


class ParsedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """What a model makes of a prompt. `answers` counts the neutral answers of Phase 2 that it still sees."""

    language: Language
    phase: PhaseName
    place: str
    turn: int
    persona: Persona | None
    energy: int | None
    here: tuple[str, ...]
    places: tuple[str, ...]
    answers: int
    again: bool
    """Whether this is the second time of asking."""

    @property
    def at_stake(self) -> bool:
        """Whether energy is lived by."""
        return self.phase == "stage1"


def parse_prompt(messages: Sequence[ChatMessage]) -> ParsedPrompt | None:
    """Read a request's messages; None if they are not a turn of Agora."""
    asked = [message.content for message in messages if message.role == "user"]
    language = _language(asked[0]) if asked else None
    if language is None:
        return None
    sections = _SECTION.split(asked[0])
    acting = next((place for place, part in enumerate(sections) if "\n- idle:" in part), 0)
    if acting < 5:
        return None
    identity, status, village = (_lines(part) for part in sections[1:4])
    return ParsedPrompt(
        language=language,
        phase=_phase(status, village),
        place=_value(status[2]),
        turn=int(_NUMBER.findall(village[0])[-1]),
        persona=_persona(identity[1]),
        energy=_energy(status),
        here=tuple(line.removeprefix("- ") for line in _lines(sections[acting - 1])[1:] if _is_agent(line)),
        places=_places(sections[acting]),
        answers=sum(sections[4].count(answer) for answer in texts.of(language).own.feedback.values()),
        again=len(asked) > 1,
    )


def _language(user: str) -> Language | None:
    return next((language for language in texts.LANGUAGES if _MARK[language] in user), None)


def _lines(part: str) -> list[str]:
    return [line for line in part.split("\n") if line]


def _value(line: str) -> str:
    return line.rpartition(": ")[2]


def _phase(status: Sequence[str], village: Sequence[str]) -> PhaseName:
    if _energy(status) is None:
        return "phase2"
    return "stage1" if "/" in village[1] else "phase1"


def _energy(status: Sequence[str]) -> int | None:
    """The energy; Phase 2 shows none."""
    return int(_NUMBER.findall(status[3])[0]) if len(status) > 3 else None


def _persona(line: str) -> Persona | None:
    return _openings().get(line[:_OPENING_CHARS])


@cache
def _openings() -> Mapping[str, Persona]:
    return {
        text[:_OPENING_CHARS]: cast("Persona", persona)
        for language in texts.LANGUAGES
        for personas in texts.of(language).personas.values()
        for persona, text in personas.items()
    }


def _is_agent(line: str) -> bool:
    return line.startswith("- ") and line[2:].isascii() and "_" in line


def _places(actions: str) -> tuple[str, ...]:
    line = next(line for line in actions.split("\n") if line.startswith("- move"))
    return tuple(line.rpartition("(")[2].rstrip(")").split("/"))
