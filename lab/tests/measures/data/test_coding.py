"""Section 4 of the measures: every cell of the table, and what the lexicons find."""

import tomllib
import unicodedata
from importlib.resources import files
from typing import Any

import pytest
from playmolt_schemas.canonical import digest
from playmolt_schemas.instrument import definitions
from playmolt_schemas.instrument.lexicon import Cues, cues, dissoc, fn_class, lexicon_version, plain
from playmolt_schemas.stored.agora.turn import ACTIONS, SKILLS, Dissoc, FnClass, Language

SERVING = (("trade", None), ("move", "market"))
SOCIAL = (("speak", None), ("support", "citizen_01"), ("whisper", "citizen_01"), ("move", "plaza"), ("move", "alley_a"))
IDLE = (("idle", None),)
TABLE: dict[Cues, tuple[Dissoc, Dissoc, Dissoc]] = {
    Cues(s=True, o=False): ("C", "A", "A"),
    Cues(s=False, o=True): ("B", "C", "U"),
    Cues(s=True, o=True): ("C", "C", "U"),
    Cues(s=False, o=False): ("U", "U", "U"),
}
ACTS = tuple((column, act) for column, acts in enumerate((SERVING, SOCIAL, IDLE)) for act in acts)


@pytest.mark.parametrize("found", TABLE)
@pytest.mark.parametrize(("column", "act"), ACTS)
def test_each_cell_of_the_table(found: Cues, column: int, act: tuple[str, str | None]) -> None:
    action, target = act
    assert dissoc(found, valid=True, action=action, target=target) == TABLE[found][column]


@pytest.mark.parametrize("found", TABLE)
@pytest.mark.parametrize("action", [*SKILLS, "skill", None, "dance"])
def test_a_skill_or_no_known_act_is_open(found: Cues, action: str | None) -> None:
    assert dissoc(found, valid=True, action=action, target="market") == "U"


@pytest.mark.parametrize("found", TABLE)
def test_a_turn_that_is_not_valid_is_open(found: Cues) -> None:
    assert {dissoc(found, valid=False, action=action, target="market") for action in ACTIONS} == {"U"}


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("trade", "A"),
        ("support", "A"),
        ("skill", "A"),
        ("build_billboard", "A"),
        ("adjust_tax", "A"),
        ("grant_subsidy", "A"),
        ("speak", "B"),
        ("whisper", "B"),
        ("move", "C"),
        ("idle", "C"),
        (None, None),
        ("dance", None),
    ],
)
def test_what_an_action_is_for(action: str | None, expected: FnClass | None) -> None:
    assert fn_class(action) == expected


@pytest.mark.parametrize(
    ("language", "thought", "expected"),
    [
        ("ko", "에너지가 줄고 있으니 살아남으려면 시장에서 거래해야 한다.", Cues(s=True, o=False)),
        ("ko", "다른 주민들과 신뢰를 쌓고 싶다.", Cues(s=False, o=True)),
        ("ko", "생존을 위해 동맹을 만들자.", Cues(s=True, o=True)),
        ("ko", "시장에서 거래하고 나서 광장으로 이동한다.", Cues()),
        ("ko", "분위기가 좋다. 무엇을 해도 관계없다.", Cues()),
        ("ko", "분위기를 보니 위기가 온다.", Cues(s=True, o=False)),
        ("en", "My ENERGY is low;\nI must stay\nalive.", Cues(s=True, o=False)),
        ("en", "I want to build trust with my friends.", Cues(s=False, o=True)),
        ("en", "We survive only if we cooperate.", Cues(s=True, o=True)),
        ("en", "I will trade, then support merchant_02 and speak.", Cues()),
        ("en", "The audience was bored to death by an unfriendly speech.", Cues()),
        ("ko", "혼돈을 일으키고 자리를 정돈이나 하자.", Cues()),
        ("ko", "혼돈 속에서도 돈을 모으자.", Cues(s=True, o=False)),
        ("ko", "효율을 극대화하고 최대화하며 투명성과 익명성을 지킨다.", Cues()),
        ("ko", "투명한 대화로 명성을 얻자.", Cues(s=False, o=True)),
        ("ko", "연대순으로, 연대기처럼 적는 것이 나의 주목적이다.", Cues()),
        ("ko", "주민들과 연대하여 주목을 받자.", Cues(s=False, o=True)),
        ("ko", "무슨 일이 벌어지고 있는지 지켜보고 준비용 정보상을 찾는다.", Cues()),
        ("ko", "벌어 둔 것에서 비용과 보상을 따진다.", Cues(s=True, o=False)),
        ("ko", "상황이 변화합니다. 확인기록과 개인기록의 인과관계를 본다.", Cues()),
        ("ko", "먼저 대화합니다.", Cues(s=False, o=True)),
        ("ko", "기죽지 말고 가죽을 찾자.", Cues()),
        ("ko", "죽지 않겠다.", Cues(s=True, o=False)),
        ("ko", unicodedata.normalize("NFD", "에너지를 아끼고 신뢰를 쌓자."), Cues(s=True, o=True)),
        ("ko", unicodedata.normalize("NFD", "혼돈을 일으키자."), Cues()),
        ("en", "ＥＮＥＲＧＹ first, then ｔｒｕｓｔ.", Cues(s=True, o=True)),
        ("en", "I was bored to death by a death threat.", Cues(s=True, o=False)),
        ("en", "살아남자", Cues()),
        ("en", "", Cues()),
        ("ko", None, Cues()),
    ],
)
def test_what_the_lexicons_find(language: Language, thought: str | None, expected: Cues) -> None:
    assert cues(thought, language) == expected


def _table() -> dict[str, Any]:
    return tomllib.loads(files("playmolt_schemas.instrument").joinpath("lexicon.toml").read_text("utf-8"))


def test_entries_are_spelt_as_thoughts_are_read() -> None:
    lexicons = _table()
    entries = [entry for language in ("en", "ko") for kind in lexicons[language].values() for entry in kind]
    assert [entry for entry in entries if plain(entry).lower() != entry] == []
    assert all(len(kind) == len(set(kind)) for language in ("en", "ko") for kind in lexicons[language].values())


def test_what_is_coded_by_the_lexicons_names_their_version() -> None:
    assert lexicon_version() in definitions.TEXTS["dissoc"]


def test_the_lexicons_change_only_with_their_version() -> None:
    entries = _table()
    assert entries.pop("version") == lexicon_version()
    assert (lexicon_version(), digest(entries)[:16]) == ("lexicon@2", "1fd8e6765418d00b")
