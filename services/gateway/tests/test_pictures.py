"""What a picture says in its headline, and that what tells one from another is not cut."""

from typing import Any

import pytest
from playmolt_gateway.pictures import jury, legal, trial
from playmolt_gateway.pictures.letters import CLOSING, FONT_FILES, OPENING, graphemes, legible, legible_text
from playmolt_gateway.pictures.png import FONT
from playmolt_gateway.pictures.png_program import render
from playmolt_gateway.pictures.scene import WIDE, PictureTexts, person
from playmolt_gateway.pictures.svg import fitted, shortened, wrapped
from playmolt_schemas.skill import PAGE_LANGUAGES, PageLanguage, page_texts

WORDS = PictureTexts(page_texts("en"))


def session(low: int, high: int) -> dict[str, Any]:
    return {
        "title": "A deposit", "phase": "FINALIZE_DONE", "range": "part of it", "reported": True,
        "issues": [], "gates": [],
        "sides": {"claimant": "Plaintiff's counsel", "opposing": "Defendant's counsel"},
        "likelihood": {"side": "claimant", "low": low, "high": high},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (50, 70, "Plaintiff's counsel is likely to win: 50–70%"),
        (20, 50, "Plaintiff's counsel is likely to lose: 20–50% to win"),
        (40, 60, "Too close to call: Plaintiff's counsel has a 40–60% chance"),
    ],
)
def test_a_report_says_who_is_ahead(low: int, high: int, said: str) -> None:
    assert legal.draw(session(low, high), WORDS, WIDE).title == said


def test_a_side_that_has_said_nothing_is_shown_so() -> None:
    state = session(40, 60) | {"issues": [{"issue": "the deposit", "claimant": "It was paid.", "opposing": None}]}
    drawn = legal.draw(state, WORDS, WIDE).svg()
    assert ">It was paid.</text>" in drawn
    assert ">No response.</text>" in drawn


@pytest.mark.parametrize(
    ("verdict", "guilty", "not_guilty", "said"),
    [
        ("GUILTY", 2, 1, "Guilty, 2 to 1: Prosecutor wins"),
        ("NOT_GUILTY", 1, 1, "Not guilty, 1 to 1: Defence wins"),
        ("NOT_GUILTY", 1, 0, "Not guilty, 0 to 1: Defence wins"),
    ],
)
def test_a_verdict_counts_the_votes_for_it_first_also_where_jurors_abstained(
    verdict: str, guilty: int, not_guilty: int, said: str
) -> None:
    state = {"verdict": verdict, "tally": {"GUILTY": guilty, "NOT_GUILTY": not_guilty}}
    assert trial._title(state, WORDS) == said


def test_the_jurors_who_carried_the_verdict_are_marked() -> None:
    votes = ("guilty", "not_guilty", "not_guilty")
    jurors = [
        {"id": f"j{n}", "name": f"Juror {n}", "band": "undecided", "vote": vote, "tx_hash": "0x" + "a" * 64}
        for n, vote in enumerate(votes)
    ]
    verdict = {"verdict": "not_guilty", "guilty": 1, "not_guilty": 2}
    state = {
        "title": "A case", "phase": "ended", "jurors": jurors, "verdict": verdict, "ending": "Dawn", "moved": None,
        "lines": [],
    }  # fmt: skip
    drawn = jury.draw(state, WORDS, WIDE)
    assert drawn.title == "The jury's verdict: Not guilty, 2 votes to 1 · the story ends with “Dawn”"
    assert drawn.svg().count("p-minority") == votes.count("not_guilty")


def test_a_name_takes_a_second_line_before_its_end_is_cut() -> None:
    drawn = person("agent-1", "house mixed 1", 0, 0, width=110).markup()
    assert ">house mixed</text>" in drawn
    assert ">1</text>" in drawn


@pytest.mark.parametrize("name", ["influencer_01", "house mixed 3", "WWWW", "Ада", "시험"])
def test_what_is_made_to_fit_is_not_cut(name: str) -> None:
    size = fitted(name, 20, 90, least=1)
    assert shortened(name, size, 90 * 0.88) == name


@pytest.mark.parametrize("language", PAGE_LANGUAGES)
def test_the_shipped_fonts_draw_every_text_of_every_language(language: PageLanguage) -> None:
    texts = "".join(page_texts(language).values())
    assert [letter for letter in {*texts} if legible_text(letter) != letter] == []


def drawn_text(text: str) -> bytes:
    drawn = f'<text y="40" font-size="40">{text}</text>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="60" height="60">{drawn}</svg>'
    return render(svg, 60, 60, FONT, FONT_FILES)


def test_letters_are_drawn_without_any_font_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FONTCONFIG_FILE", "/nonexistent")
    shapes = [drawn_text(letter) for letter in ("", "审", "团", "證", "诉", "각", "é", "ж", "か")]
    assert len({*shapes}) == len(shapes), "boxes are all alike"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("สวัสดี", "swasdii"), ("مرحبا", "mrhba"), ("שלום", "slvm"), ("👍 ok", ":thumbs up sign: ok"), ("🇰🇷", "KR"),
        ("Ἀθῆναι", "Αθηναι"), ("Ada 審團 각", "Ada 審團 각"), ("\U0010fffd", "U+10FFFD"),
    ],
)  # fmt: skip
def test_what_no_shipped_font_draws_is_read(text: str, read: str) -> None:
    assert legible_text(text) == read
    assert legible({"a": [text, 1, None], "b": True}) == {"a": [read, 1, None], "b": True}


CHINESE = "他说：（这是真的吗？）我们认为，审判团应当（在今天）作出裁决，因为“证据”不足。" * 3


@pytest.mark.parametrize("width", range(80, 400, 20))
def test_no_line_begins_or_ends_with_the_wrong_sign(width: int) -> None:
    lines = wrapped(CHINESE, 20, width, 99)
    assert "".join(lines) == CHINESE
    assert [line for line in lines if line[0] in CLOSING or line[-1] in OPENING] == []


FAMILY = "👩\u200d👩\u200d👧"


@pytest.mark.parametrize(
    "letters", [[FAMILY] * 9, ["e\u0301"] * 30, ["🇰🇷"] * 20, ["\u1112\u1161\u11ab"] * 20, ["ก้"] * 30]
)
@pytest.mark.parametrize("width", [50, 73, 101, 160])
def test_a_text_is_cut_between_what_is_seen_as_one_letter(letters: list[str], width: int) -> None:
    text = "".join(letters)
    assert list(graphemes(text)) == letters
    kept = shortened(text, 20, width).removesuffix("…")
    assert kept == letters[0] * (len(kept) // len(letters[0]))
    assert all(not line or set(graphemes(line)) == {letters[0]} for line in wrapped(text, 20, width, 99))
