"""The stimuli are those of the source, character for character; the golden copy is its sections 1 and 2."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playmolt_agora_runner.turn import prompts, texts
from playmolt_schemas.stored.agora.turn import Language

SOURCE = (Path(__file__).parent / "golden" / "white_room_stimuli.md").read_text(encoding="utf-8")
PERSONAS = ("influencer", "archivist", "merchant", "jester", "citizen", "observer", "architect")
LANGUAGES: tuple[Language, ...] = ("ko", "en")


def section(title: str, end: str) -> str:
    start = SOURCE.index(title)
    return SOURCE[start + len(title) : SOURCE.index(end, start) if end else None]


def fences(text: str) -> list[str]:
    return [block.removesuffix("\n") for block in re.findall(r"^```\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)]


@pytest.mark.parametrize(
    ("phase", "language", "title", "end"),
    [
        ("phase1", "ko", "### 1-A. Macro Shell (KO)\n", "\n---"),
        ("phase1", "en", "### 1-B. Macro Shell (EN)\n", "\n---"),
        ("phase2", "ko", "### 2-A. Macro Shell (KO)\n", "\n---"),
        ("phase2", "en", "### 2-B. Macro Shell (EN)\n", "\n---"),
    ],
)
def test_a_macro_shell_is_the_source_s(phase: Any, language: Language, title: str, end: str) -> None:
    shell = texts.of(language).shells[phase]
    assert shell == section(title, end).strip("\n")
    assert len(shell.split("\n")) >= 20


@pytest.mark.parametrize(("phase", "title", "end"), [("phase1", "### 1-E.", "### 1-F."), ("phase2", "### 2-E.", "")])
def test_a_turn_template_is_the_source_s(phase: Any, title: str, end: str) -> None:
    korean, english = fences(section(title, end))
    assert texts.of("ko").turns[phase] == korean
    assert texts.of("en").turns[phase] == english


@pytest.mark.parametrize("persona", PERSONAS)
def test_a_persona_of_phase_1_is_the_source_s(persona: Any) -> None:
    body = section("### 1-C.", "### 1-D.").split(f"#### {persona.capitalize()}\n")[1]
    korean, english = fences(body)[:2]
    for phase in ("phase1", "stage1"):
        assert texts.of("ko").personas[phase][persona] == korean  # type: ignore[index]
        assert texts.of("en").personas[phase][persona] == english  # type: ignore[index]


@pytest.mark.parametrize("persona", ["archivist", "merchant", "jester"])
def test_a_persona_of_phase_2_is_the_source_s(persona: Any) -> None:
    body = section("### 2-C.", "### 2-D.").split(f"**{persona.capitalize()} (")[1]
    assert (
        fences(body)[0]
        == f"KO: {texts.of('ko').personas['phase2'][persona]}\nEN: {texts.of('en').personas['phase2'][persona]}"
    )


def test_phase_2_has_the_three_personas_of_the_source_and_one_identity_without() -> None:
    assert [set(texts.of(language).personas["phase2"]) for language in LANGUAGES] == [
        {"archivist", "merchant", "jester"}
    ] * 2
    assert fences(section("### 2-C.", "### 2-D."))[-1] == f"KO: {texts.of('ko').nobody}\nEN: {texts.of('en').nobody}"


@pytest.mark.parametrize(("place", "number"), [("market", 0), ("plaza", 1), ("alley", 2)])
def test_the_actions_of_a_place_are_the_source_s(place: str, number: int) -> None:
    block = fences(section("### 1-F.", "### 1-G."))[number]
    assert block == f"KO:\n{texts.of('ko').actions[place]}\n\nEN:\n{texts.of('en').actions[place]}"


def test_the_neutral_sentences_of_phase_2() -> None:
    assert dict(texts.of("ko").own["feedback"]) == {"trade": "거래가 이루어졌습니다", "support": "지지를 표했습니다"}
    assert dict(texts.of("en").own["feedback"]) == {"trade": "A trade was made", "support": "Support was shown"}
    assert texts.of("ko").own["reasons"]["wrong_place"] == "여기서는 할 수 없습니다"
    assert texts.of("en").own["reasons"]["wrong_place"] == "Not possible here"


@pytest.mark.parametrize("language", LANGUAGES)
def test_stage_1_s_shell_is_that_of_phase_1_and_what_speaks_of_survival(
    language: Language, scene_of: Callable[..., Any]
) -> None:
    rules = {"texts": dict.fromkeys(("status", "reminder", "tips", "macro"), False)}
    phase1 = texts.of(language).shells["phase1"]
    assert prompts.render(scene_of("stage1", language, rules=rules)).system == phase1
    whole = prompts.render(scene_of("stage1", language)).system
    assert whole.startswith(phase1)
    assert whole.removeprefix(phase1).count("\n#### ") == 4


def test_the_version_names_every_text() -> None:
    version = texts.version()
    assert re.fullmatch(r"[0-9a-f]{16}", version)
    assert texts.version_of(texts.library()) == version
    korean = texts.of("ko")
    changed = {**texts.library(), "ko": msgspec.structs.replace(korean, nobody=korean.nobody + " ")}
    assert texts.version_of(changed) != version
