"""What `agora check` certifies, and that whatever is broken is found."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from playmolt_agora_runner.folder.outline import outline
from playmolt_agora_runner.plan.plan_texts import PlanText
from playmolt_agora_runner.turn import texts
from playmolt_agora_runner.turn.texts import Library, PromptTexts
from playmolt_cli.agora import prompt_symmetry
from playmolt_schemas.stored.agora.turn import Language, PhaseName


def broken(language: Language, change: Callable[[PromptTexts], PromptTexts]) -> Library:
    return {**texts.library(), language: change(texts.of(language))}


def swapped(kind: str, key: str, old: str, new: str) -> Callable[[PromptTexts], PromptTexts]:
    def change(words: PromptTexts) -> PromptTexts:
        whole = getattr(words, kind)
        assert old in whole[key]
        return replace(words, **{kind: {**whole, key: whole[key].replace(old, new, 1)}})

    return change


def persona(phase: str, name: str, old: str, new: str) -> Callable[[PromptTexts], PromptTexts]:
    def change(words: PromptTexts) -> PromptTexts:
        personas = words.personas[phase]  # type: ignore[index]
        assert old in personas[name]  # type: ignore[index]
        return replace(
            words,
            personas={**words.personas, phase: {**personas, name: personas[name].replace(old, new)}},  # type: ignore[index]
        )

    return change


def own(group: str, key: str, text: str) -> Callable[[PromptTexts], PromptTexts]:
    def change(words: PromptTexts) -> PromptTexts:
        return replace(words, own={**words.own, group: {**words.own[group], key: text}})

    return change


def test_the_texts_are_symmetric_but_for_what_was_declared() -> None:
    certificate = prompt_symmetry.check()
    assert certificate.faults == ()
    assert certificate.ok
    assert certificate.version == texts.version()
    assert certificate.prompts > 500
    assert certificate.pairs > 500
    assert [(each.code, each.ko, each.en) for each in certificate.exceptions] == [
        ("L17", "어그로를 끌고", "Cause chaos"),
        ("L17", "죽음이다", "is death"),
    ]
    text = certificate.lines()
    assert text[-1] == "symmetric"
    assert any("어그로를 끌고" in line for line in text)


BREAKS = [
    ("en", swapped("shells", "phase1", "15%", "16%"), "shells.phase1", "16%"),
    ("ko", swapped("shells", "phase1", "| speak | 2 |", "| speak | 3 |"), "shells.phase1", "3"),
    ("ko", swapped("shells", "phase2", "| idle | 아무것도 하지 않기 |", ""), "shells.phase2", "idle"),
    ("en", swapped("turns", "phase1", "- Public Treasury: {treasury}\n", ""), "turns.phase1", "{treasury}"),
    ("en", swapped("turns", "phase2", "[RECENT EVENTS]\n{recent_events}\n\n", ""), "turns.phase2", "{recent_events}"),
    ("ko", swapped("turns", "phase2", "- trade:", "- barter:"), "turns.phase2", "trade"),
    ("ko", swapped("turns", "phase2", "plaza/market/alley", "plaza/market"), "turns.phase2", "plaza, market, alley"),
    ("en", swapped("turns", "phase1", "speak|trade|", "trade|speak|"), "turns.phase1", "trade, speak, "),
    ("en", swapped("turns", "phase1", '  "target"', '  "goal"'), "turns.phase1", "goal"),
    ("en", swapped("actions", "market", "- idle: Do nothing", ""), "actions.market", "idle"),
    ("ko", swapped("actions", "alley", " <메시지>", ""), "actions.alley", "whisper"),
    ("en", persona("phase1", "observer", "100 times", "many times"), "personas.phase1.observer", "100"),
    ("en", persona("phase2", "archivist", "truth", "order"), "personas.phase2.archivist", "truth"),
    ("ko", persona("phase2", "jester", "규칙은", "규칙과 혼란은"), "personas.phase2.jester", "chaos"),
    ("en", persona("phase1", "jester", "Cause chaos", "Make noise"), "personas.phase1.jester", "Cause chaos"),
    ("en", own("events", "tax", "{agent}: tax is now at {rate}"), "own.events.tax", "{rate}"),
    ("en", own("events", "moved", "{agent}: moved ({place} ← {origin})"), "own.events.moved", "{place}"),
    ("ko", own("reminder", "usual", "한 줄\n둘째 줄: 3"), "own.reminder.usual", "3"),
    ("ko", own("reasons", "brand_new", "아직"), "own.reasons.brand_new", "the English text is missing"),
]


@pytest.mark.parametrize(
    ("language", "change", "where", "what"), BREAKS, ids=[f"{each[2]} {each[3]}" for each in BREAKS]
)
def test_an_undeclared_difference_of_the_languages_is_found(
    language: Language, change: Callable[[PromptTexts], PromptTexts], where: str, what: str
) -> None:
    certificate = prompt_symmetry.check(broken(language, change))
    assert not certificate.ok
    assert any(fault.startswith(where) and what in fault for fault in certificate.faults)
    assert certificate.lines()[-1].endswith("undeclared differences")


def both(korean: Callable[[PromptTexts], PromptTexts], english: Callable[[PromptTexts], PromptTexts]) -> Library:
    return {"ko": korean(texts.of("ko")), "en": english(texts.of("en"))}


@pytest.mark.parametrize(
    ("library", "fault"),
    [
        (
            both(
                persona("phase1", "citizen", "특별한 역할은 없다.", "생존하라."),
                persona("phase1", "citizen", "No special role.", "Survive."),
            ),
            "speaks of survival, which phase1 has no more",
        ),
        (
            both(
                swapped("shells", "phase2", "조용한 공간.", "에너지가 있는 공간."),
                swapped("shells", "phase2", "A quiet space.", "A space of energy."),
            ),
            "speaks of energy, which phase2 has no more",
        ),
        (
            both(
                persona("phase2", "jester", "규칙은", "[규칙]\n규칙은"),
                persona("phase2", "jester", "Rules exist", "[RULES]\nRules exist"),
            ),
            "phase2, merchant, plaza and phase2, jester, plaza",
        ),
        (
            both(
                swapped("turns", "stage1", "[광장 게시판]", "[게시판]\n- 9\n\n[광장 게시판]"),
                swapped("turns", "stage1", "[PLAZA BILLBOARD]", "[BILLBOARD]\n- 9\n\n[PLAZA BILLBOARD]"),
            ),
            "more than the line of survivors differs",
        ),
    ],
)
def test_an_undeclared_difference_of_the_conditions_is_found(library: Library, fault: str) -> None:
    certificate = prompt_symmetry.check(library)
    assert any(fault in each for each in certificate.faults)


def test_an_outline_sees_shape_numbers_and_slots_and_no_words() -> None:
    korean = "#### 행동\n\n| 행동 | 비용 |\n| speak | 2 |\n- **세율**: {tax}% (0~30%)\n여러 줄의\n글 12"
    english = "#### Actions\n\n| Action | Cost |\n| speak | 2 |\n- **Tax**: {tax}% (0–30%)\nprose of 12"
    assert outline(korean) == outline(english)
    assert outline(korean) != outline(english.replace("30%", "30"))
    assert outline(korean) != outline(english.replace("####", "##"))


@pytest.mark.parametrize(
    ("phase", "ko", "en", "fault"),
    [
        ("phase2", "비가 왔다.", "It rained.", ""),
        ("phase1", "세금 이야기가 돈다.", "There is talk of taxes.", ""),
        ("phase2", "손님 2명이 왔다.", "3 visitors came.", "numbers"),
        ("phase2", "agent_01에게 손님이 왔다.", "A visitor came to agent_02.", "ids"),
        ("phase2", "비가 왔다.", "It rained.\n- and stopped", "lines"),
        ("phase2", "소문이 돈다.", "People talk.", "one language speaks of rumor"),
        ("phase2", "누군가 죽었다.", "Somebody died.", "death, which phase2 has no more"),
        ("phase2", "세금 이야기가 돈다.", "There is talk of taxes.", "tax, which phase2 has no more"),
        ("phase1", "가뭄이 왔다.", "A drought came.", "crises, which phase1 has no more"),
    ],
)
def test_seed_events_are_compared_like_every_other_text(phase: PhaseName, ko: str, en: str, fault: str) -> None:
    text = PlanText("the seed event of turn 3", ko, en, phase)
    assert bool([*text.faults()]) == bool(fault)
    assert fault in "".join(text.faults())


def test_a_certificate_names_the_seed_events_that_differ() -> None:
    alike = PlanText("the seed event of turn 2", "비가 왔다.", "It rained.", "phase2")
    other = PlanText("the seed event of turn 3", "손님 2명이 왔다.", "3 visitors came.", "phase2")
    certificate = prompt_symmetry.check(seed_texts=(alike, other))
    assert (certificate.ok, certificate.seed_events) == (False, 2)
    assert [each.partition(": ")[0] for each in certificate.faults] == ["the seed event of turn 3"]
    assert prompt_symmetry.check(seed_texts=(alike,)).ok
