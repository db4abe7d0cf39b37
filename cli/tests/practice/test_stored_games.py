"""A stored game asked again: a bot on its turns, another bot in one of its seats."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from playmolt_cli.log.stored_game import finished_games, rules_of, seat_of
from playmolt_cli.main import cli
from playmolt_cli.practice.branch import Branch
from playmolt_cli.practice.what_if import _courses

BOTS = """
def keep(choice, turn):
    if turn.actions[0].type == "first_choice":
        return {"type": "first_choice", "choice": choice, "comment": choice}
    return {"type": "switch", "use_switch": False, "comment": ""}


def bot(turn):
    return keep("O", turn)


def other(turn):
    return keep("X", turn)


def talks(turn):
    return bot(turn) | {"comment": "another word"}


def oops(turn):
    return {}["oops"]


def rude(turn):
    return {"type": "dance"}
"""
OOPS = 1 + BOTS.splitlines().index('    return {}["oops"]')


class Stored:
    """A game of `bots.py:bot` and four house bots, in a file."""

    def __init__(self, folder: Path) -> None:
        (folder / "bots.py").write_text(BOTS)
        self.bots = str(folder / "bots.py")
        self.report = self.json("match", self.bots, "house:mixed", "--n", "1", "--out", str(folder / "match"))
        (game,) = self.report["games"]
        self.id, self.file = game["game_id"], folder / "match" / game["log"]
        self.versions = len(self.file.read_text().splitlines())

    def json(self, *words: str, status: int = 0) -> Any:
        done = CliRunner().invoke(cli, [*words, "--json"])
        assert done.exit_code == status, done.output
        return json.loads(done.stdout)

    def tested(self, bot: str, *words: str, status: int) -> Any:
        return self.json("bots", "replay-test", bot, self.id, "--log", str(self.file), *words, status=status)

    def what_if(self, at: int, bot: str, *words: str) -> Any:
        own = ("--at", str(at), "--seat", self.bots, "--bot", bot, "--log", str(self.file))
        return self.json("what-if", self.id, *own, *words)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return Stored(tmp_path_factory.mktemp("stored"))


@pytest.mark.parametrize("name", ["bot", "talks"])
def test_a_bot_that_decides_as_it_did_differs_nowhere(stored: Stored, name: str) -> None:
    told = stored.tested(f"{stored.bots}:{name}", "--seat", stored.bots, status=0)
    assert (told["decisions"], told["same"], told["games"][0]["differs"]) == (10, 10, [])


def test_each_turn_that_a_bot_decides_otherwise_is_listed(stored: Stored) -> None:
    told = stored.tested(f"{stored.bots}:other", "--seat", stored.bots, status=1)
    (game,) = told["games"]
    assert (told["decisions"], told["same"]) == (10, 5)
    assert [(one["phase"], one["round"]) for one in game["differs"]] == [("first_choice", n) for n in range(1, 6)]
    assert {(one["stored"]["choice"], one["given"]["choice"]) for one in game["differs"]} == {("O", "X")}


@pytest.mark.parametrize(
    ("name", "fault"), [("oops", f"crash at bots.py:{OOPS}"), ("rude", "refused: Fix the action and retry")]
)
def test_a_turn_without_an_action_says_why(stored: Stored, name: str, fault: str) -> None:
    told = stored.tested(f"{stored.bots}:{name}", "--seat", stored.bots, status=1)
    assert told["same"] == 0
    assert {one["given"] for one in told["games"][0]["differs"]} == {None}
    assert all(one["fault"].startswith(fault) for one in told["games"][0]["differs"])


def test_without_a_seat_the_turns_of_all_are_asked(stored: Stored) -> None:
    assert stored.tested(stored.bots, status=1)["decisions"] == 50


@pytest.mark.parametrize("share", [0.2, 0.35, 0.5, 0.8])
def test_the_same_bot_from_any_event_on_changes_nothing(stored: Stored, share: float) -> None:
    told = stored.what_if(int(stored.versions * share), f"{stored.bots}:talks")
    (course,) = told["runs"]
    assert (course["results"], course["decisions"], course["house"]) == (told["stored"], [], 0)


def test_another_bot_changes_its_own_decisions_and_the_others_keep_theirs(stored: Stored) -> None:
    told = stored.what_if(8, f"{stored.bots}:other", "--n", "3")
    assert len(told["runs"]) == told["n"] == 3
    for course in told["runs"]:
        assert [one["played"]["choice"] for one in course["decisions"]] == ["X"] * 5
        assert (course["kept"], course["house"]) == (40, 0)
    assert told["mean_points"] == next(
        row["points"] for row in told["runs"][0]["results"] if row["name"] == stored.bots
    )


def test_where_a_stored_decision_is_not_in_order_any_more_a_house_bot_decides(stored: Stored) -> None:
    decider, records = rules_of(stored.id), finished_games([stored.id], None, stored.file)[stored.id]
    branch = Branch(decider, records, 8, seat_of(decider, stored.id, records, stored.bots))
    others = [place for place, one in enumerate(branch._stored) if one.question.agent_id != branch._agent_id]
    wrong, absent = others[:2]
    branch._stored = [
        replace(one, action={"type": "dance"}) if place == wrong else one
        for place, one in enumerate(branch._stored)
        if place != absent
    ]
    (course,) = asyncio.run(_courses(branch, f"{stored.bots}:bot", "ox", stored.id, 1, "seed"))
    assert (course.kept, course.house) == (len(others) - 2, 2)
    assert len(course.results) == 5


def test_it_is_reported_in_lines(stored: Stored) -> None:
    words = ["--at", "8", "--seat", stored.bots, "--bot", f"{stored.bots}:other", "--log", str(stored.file)]
    done = CliRunner().invoke(cli, ["what-if", stored.id, *words])
    assert "round 1, first_choice: choice 'O', comment 'O' → choice 'X', comment 'X'" in done.stdout
    assert "decisions of the others: 40 as stored, 0 by house bots" in done.stdout


@pytest.mark.parametrize(
    ("at", "seat", "bot", "told"),
    [
        (1000, "", "house:random", "nothing is left to play"),
        (2, "", "house:random", "is in phase waiting after event 2"),
        (20, "nobody", "house:random", "'nobody' does not match exactly one seat of"),
        (20, "", "house:nobody", "no policy 'nobody'"),
    ],
)
def test_what_cannot_be_played_is_said(stored: Stored, at: int, seat: str, bot: str, told: str) -> None:
    words = ["--at", str(at), "--seat", seat or stored.bots, "--bot", bot, "--log", str(stored.file)]
    done = CliRunner().invoke(cli, ["what-if", stored.id, *words])
    assert done.exit_code == 2
    assert told in done.output
