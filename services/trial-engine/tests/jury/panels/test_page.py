"""The report's page in the language of its panel."""

import re
from html import unescape

import pytest
from msgspec.structs import replace
from playmolt_core.llm.catalogue import Catalogue
from playmolt_jury import rules
from playmolt_jury.panels import plan as plans
from playmolt_jury.panels.page import page, panel_texts
from playmolt_jury.panels.preview import varies, warnings
from playmolt_jury.panels.report import ReportSource
from playmolt_schemas.games.jury_panels import PanelStopView
from playmolt_schemas.stored.jury import Language
from playmolt_schemas.stored.panels import JuryPlayed, PanelPlan, PanelSpent, StanceMove, StoppedBy

JURY = rules.jury()
STEP = '[[scripts.{name}]]\njuror = "radical"\nevidence = "E1"\n'
LANGUAGES: tuple[Language, ...] = ("en", "ko", "zh")


def source(language: Language, keys: str = "", stopped: StoppedBy | None = None) -> ReportSource:
    text = f'language = "{language}"\nn = 2\n{keys}' + STEP.format(name="A") + STEP.format(name="B")
    plan = plans.read(text, JURY.cases.named, ("scripted",))
    assert isinstance(plan, PanelPlan), plan
    material = JURY.cases.shipped.materials[language]
    juries = tuple(
        JuryPlayed(
            script=script, number=number, session=f"jury-{script}{number}", outcome="guilty", votes={},
            course=f"{script}{number}", moves=(StanceMove(1, 1, "evidence", "radical", 70, 79),),
            spent=PanelSpent(money="0", tokens=10, calls=1),
        )
        for script in "AB" for number in (1, 2)
    )  # fmt: skip
    return ReportSource(
        panel="panel-1", plan=plan, title=material.title, titles={each.id: each.title for each in material.evidence},
        names={each.id: each.name for each in material.jurors}, varies=varies(plan),
        warnings=tuple(warnings(plan, Catalogue({}), language)), spent=PanelSpent(money="0", tokens=10, calls=1),
        stopped=PanelStopView(by=stopped, detail="The words of a server.") if stopped else None, juries=juries,
    )  # fmt: skip


def said(found: ReportSource) -> str:
    """The texts of the page."""
    return unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", page(found)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_in_every_language(language: Language) -> None:
    own, english = (panel_texts(each)._texts for each in (language, "en"))
    assert own.keys() == english.keys()
    for key, text in english.items():
        assert sorted(re.findall(r"\{\w+\}", own[key])) == sorted(re.findall(r"\{\w+\}", text)), key


@pytest.mark.parametrize("language", ["ko", "zh"])
@pytest.mark.parametrize("stopped", ["budget", "owner", "model"])
def test_a_report_speaks_the_language_of_its_panel(language: Language, stopped: StoppedBy) -> None:
    text = said(source(language, "temperature = 0\n", stopped))
    text = re.sub(r"compare = .*?\]|stances\.parquet|panel-1|silent-robin|scripted|[0-9a-f]{64}", " ", text)
    words = set(re.findall(r"[A-Za-z]{2,}", text))
    assert words == ({"The", "words", "of", "server"} if stopped != "owner" else set())
    assert " %" not in text
    assert {"ko": "한국어", "zh": "中文"}[language] in text
    if language == "zh":
        assert not re.search(r"。 \w", text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_report_is_marked_with_its_language_and_a_servers_words_with_theirs(language: Language) -> None:
    assert re.findall(r"<(\w+)[^>]* lang=\"([^\"]*)\"", page(source(language))) == [("html", language)]
    stopped = page(source(language, stopped="model"))
    assert re.findall(r"<(\w+)[^>]* lang=\"([^\"]*)\"", stopped) == [("html", language), ("p", "en")]
    assert '<p class="notice" lang="en">The words of a server.</p>' in stopped


def test_a_report_warns_of_what_was_not_compared_and_what_cannot_differ() -> None:
    text = said(source("ko", "temperature = 0\n"))
    assert "비교하는 대본이 없습니다" in text
    assert "온도가 0이어서" in text
    compared = source("ko", 'compare = ["A", "B"]\n')
    assert compared.warnings == ()
    assert said(replace(compared, juries=()))
