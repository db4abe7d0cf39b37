"""What a picture says in its headline, and that what tells one from another is not cut."""

from typing import Any

import pytest
from playmolt_gateway.pictures import jury, legal
from playmolt_gateway.pictures.scene import WIDE, PictureTexts, person
from playmolt_gateway.pictures.svg import fitted, shortened
from playmolt_schemas.skill import page_texts

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
