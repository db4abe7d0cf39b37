"""All that agents read, as data files: the source's stimuli to the character, and the project's own words beside them.

The stimuli are `shells/` (1-A, 1-B, 2-A, 2-B), `turns/` (1-E, 2-E), `personas.toml` (1-C, 2-C) and `actions.toml`
(1-F); what Stage 1 adds, and every text that the source names but does not word, is ours (`texts.toml`, `survival_*`).
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.agora.turn import Language, PhaseName

_DATA: Final = files("playmolt_agora_runner").joinpath("data")
LANGUAGES: Final[tuple[Language, ...]] = ("ko", "en")
PHASES: Final[tuple[PhaseName, ...]] = ("stage1", "phase1", "phase2")

Words = Mapping[str, str]
Tables = Mapping[str, Words]
"""Tables of words by name."""


class PromptTexts(msgspec.Struct, frozen=True, kw_only=True):
    """All texts of one language.

    `shells` and `turns` by phase, `survival` what Stage 1 adds to its shell, `personas` by phase (Stage 1 has those of
    Phase 1) and persona, `nobody` the identity of who has none, `actions` by place (an alley is `alley`), `own` the
    project's own words.
    """

    shells: Mapping[PhaseName, str]
    survival: str
    turns: Mapping[PhaseName, str]
    personas: Mapping[PhaseName, Mapping[str, str]]
    nobody: str
    actions: Words
    own: Tables


Library = Mapping[Language, PromptTexts]


def data(name: str) -> str:
    return _DATA.joinpath(name).read_text(encoding="utf-8")


def table(name: str) -> dict[str, Any]:
    parsed: dict[str, object] = msgspec.toml.decode(data(name))
    return parsed


@cache
def library() -> Library:
    return {language: _read(language) for language in LANGUAGES}


def of(language: Language) -> PromptTexts:
    return library()[language]


@cache
def of_rooms(language: Language) -> Tables:
    """The words of worlds of a plan's folder."""
    words: Tables = table("rooms.toml")[language]
    return words


@cache
def version() -> str:
    return version_of(library())


def version_of(texts: Library) -> str:
    """Name all stimuli and texts, and the synonyms by which replies are read: another name when any of them changes."""
    return digest([texts, data("synonyms.toml")])[:16]


def _read(language: Language) -> PromptTexts:
    personas, actions = table("personas.toml"), table("actions.toml")
    by_phase = {phase: _in_language(personas[phase], language) for phase in ("phase1", "phase2")}
    return PromptTexts(
        shells={phase: _block(f"shells/{phase}_{language}.md") for phase in PHASES},
        survival=_block(f"shells/survival_{language}.md"),
        turns={phase: _block(f"turns/{phase}_{language}.txt") for phase in PHASES},
        personas=msgspec.convert({"stage1": by_phase["phase1"], **by_phase}, dict[PhaseName, dict[str, str]]),
        nobody=personas["nobody"][language],
        actions=_in_language(actions, language),
        own=table("texts.toml")[language],
    )


def _block(name: str) -> str:
    return data(name).removesuffix("\n")


def _in_language(both: Mapping[str, Mapping[str, str]], language: Language) -> dict[str, str]:
    return {name: texts[language].removesuffix("\n") for name, texts in both.items()}
