"""The shipped case reads as jury.md asks, and files that do not fit are refused with every fault named."""

import math
from typing import get_args

import msgspec
import pytest
from playmolt_jury.content import pack
from playmolt_jury.content.content import Structure
from playmolt_jury.content.material import TOPICS, Found, Language, Material
from playmolt_schemas.stored.jury import VerdictName

LANGUAGES = get_args(Language)


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> Language:
    found: Language = request.param
    return found


@pytest.fixture
def case(language: Language) -> Material:
    return pack.shipped().materials[language]


@pytest.fixture
def structure() -> Structure:
    return pack.shipped().structure


def test_a_case_has_fifteen_items_of_which_some_are_locked(case: Material) -> None:
    assert [each.id for each in case.evidence] == [f"E{number}" for number in range(1, 16)]
    assert [each.id for each in case.evidence if each.locked] == [f"E{number}" for number in range(9, 16)]


def test_three_witnesses_hold_every_locked_item_between_them(case: Material) -> None:
    held = [item for witness in case.witnesses for item in witness.unlocks]
    assert len(case.witnesses) == 3
    assert sorted(held) == sorted(each.id for each in case.evidence if each.locked)


def test_five_jurors_have_the_biases_of_the_table(case: Material) -> None:
    stances = {juror.id: juror.initial_stance for juror in case.jurors}
    assert list(stances) == ["ophiuchus", "radical", "sympathizer", "opportunist", "philosopher"]
    assert stances["ophiuchus"] == 65
    assert stances["radical"] >= 60
    assert stances["sympathizer"] <= 40
    assert 41 <= stances["opportunist"] <= 59
    assert 41 <= stances["philosopher"] <= 59


def test_ophiuchus_has_the_weights_of_the_source(case: Material) -> None:
    juror = case.jurors[0]
    sample = {"technical_responsibility": 8, "ai_autonomy": -5, "emotional_appeal": -3}
    assert juror.topic_weights.items() >= sample.items()
    assert juror.speaker_power == "0.6"


def test_the_first_item_is_the_system_log(case: Material) -> None:
    assert case.evidence[0].stem == "system_log"


def test_chinese_has_the_keywords_of_the_source() -> None:
    assert {"系统漏洞", "程序缺陷"} <= set(pack.shipped().materials["zh"].jurors[0].weakness.trigger_keywords)


def test_blake_speaks_in_the_prologue(case: Material) -> None:
    blake = {"en": "Blake", "zh": "布莱克", "ko": "블레이크"}[case.language]
    assert sum(line.speaker == blake for line in case.prologue) > len(case.prologue) / 3


def test_there_is_an_ending_for_every_verdict_and_depth(case: Material) -> None:
    wanted = {(verdict, when) for verdict in get_args(VerdictName) for when in get_args(Found)}
    assert {(each.verdict, each.when) for each in case.endings} == wanted
    assert len(case.endings) == len(wanted)


def test_topics_are_reported_in_the_order_of_the_contract(case: Material) -> None:
    assert tuple(topic.id for topic in case.topics) == TOPICS


def test_what_enters_a_log_holds_no_float(case: Material) -> None:
    def floats(value: object) -> bool:
        if isinstance(value, dict):
            return any(map(floats, value.values()))
        if isinstance(value, list):
            return any(map(floats, value))
        return isinstance(value, float)

    assert floats([math.pi])
    assert not floats(msgspec.json.decode(msgspec.json.encode(case)))


def test_languages_differ_in_words_alone() -> None:
    def numbers(case: Material) -> object:
        return (
            [(each.id, each.stem, each.locked, each.topics) for each in case.evidence],
            [(each.id, each.initial_stance, each.speaker_power, each.topic_weights) for each in case.jurors],
            [(each.id, each.threshold, each.unlocks, each.evidence) for each in case.witnesses],
            [
                (name, node.ends, node.evidence, [(c.id, c.goto, c.pressure, c.when) for c in node.choices])
                for each in case.witnesses
                for name, node in each.nodes.items()
            ],
        )

    english, chinese = pack.shipped().materials["en"], pack.shipped().materials["zh"]
    assert numbers(english) == numbers(chinese)
    assert not {each.text for each in english.evidence} & {each.text for each in chinese.evidence}


def test_chinese_is_written_in_chinese() -> None:
    def han(text: str) -> float:
        return sum("\u4e00" <= char <= "\u9fff" for char in text) / len(text)

    case = pack.shipped().materials["zh"]
    texts = [case.dossier.text, *(each.text for each in case.endings), *(each.role_prompt for each in case.jurors)]
    texts += [node.text for witness in case.witnesses for node in witness.nodes.values()]
    assert min(map(han, texts)) > 0.6


def test_after_the_break_shown_evidence_is_answered_from_after_it(structure: Structure) -> None:
    case = pack.shipped().materials["en"]
    for frame, witness in zip(structure.witnesses, case.witnesses, strict=True):
        for name, node in frame.nodes.items():
            told = {item: each.goto for item, each in witness.nodes[name].evidence.items()}
            assert told == ({item: each.goto for item, each in frame.afterwards.items()} if node.afterwards else {})


def test_the_version_names_the_content() -> None:
    assert len(pack.content_version()) == 16
    assert int(pack.content_version(), 16) >= 0
