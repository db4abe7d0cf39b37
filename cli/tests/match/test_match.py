"""Matches in this process: who sits where, what is counted against whom, and what the report says of it."""

import json
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from click.testing import CliRunner
from openskill.models import PlackettLuce
from playmolt_cli.games import deciders
from playmolt_cli.main import cli
from playmolt_cli.match.entrants import deals, house, python
from playmolt_cli.match.playing import Watchdog
from playmolt_cli.match.tournament import Tournament
from scipy.stats import t

PLAIN = """
def bot(turn):
    if turn.actions[0].type == "first_choice":
        return {"type": "first_choice", "choice": "O", "comment": "O"}
    return {"type": "switch", "use_switch": False, "comment": ""}


def oops(turn):
    return {}["oops"]


def rude(turn):
    return {"type": "first_choice", "choice": "Z"}


def slow(turn):
    while True:
        pass


class Learns:
    def __init__(self):
        self.refused = []

    def act(self, state, actions):
        if not self.refused:
            self.refused.append(state["version"])
            return {1, 2}
        return {"type": "speak", "text": "?"} if False else bot(type("T", (), {"actions": actions}))
"""


@pytest.fixture
def bots(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(PLAIN)
    return str(tmp_path / "mine.py")


def report(*words: str) -> dict[str, Any]:
    answer = CliRunner().invoke(cli, ["match", *words, "--json"])
    assert answer.exit_code == 0, answer.output
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def test_everybody_sits_in_every_seat_once_a_block_and_a_block_has_one_deal() -> None:
    dealt = list(deals("m", "s", [("ox", 14, 5)], 7))
    for block in (dealt[:7], dealt[7:]):
        assert len({deal.seed for deal in block}) == 1
        for seat in range(5):
            assert sorted(deal.seats[seat] for deal in block) == list(range(7))
    assert dealt[0].seed != dealt[7].seed
    assert [deal.number for deal in dealt] == list(range(1, 15))
    assert all(len(set(deal.seats)) == 5 for deal in dealt)


def test_the_same_seed_gives_the_same_report() -> None:
    words = ("house:contrarian", "house:random", "--n", "10", "--seed", "a")
    first, again = report(*words), report(*words)
    assert first == again
    assert first["games"] != report(*words[:-1], "b")["games"]


def test_a_report_agrees_with_its_own_games() -> None:
    found = report("house:contrarian", "house:table_reader", "--n", "25")
    assert found["games_played"] == found["games_planned"] == 25
    firsts = sum(row["rank"] == 1 for game in found["games"] for row in game["results"])
    assert sum(line["by_game"]["ox"]["wins"] for line in found["players"]) == firsts > 25
    points: dict[str, dict[int, list[int]]] = {}
    model = PlackettLuce()
    ratings = {line["name"]: model.rating() for line in found["players"]}
    for game in found["games"]:
        assert game["seats"] == [row["player"] for row in sorted(game["results"], key=lambda row: row["seat"])]
        ranked = sorted(game["results"], key=lambda row: row["rank"])
        rated = model.rate([[ratings[row["player"]]] for row in ranked], ranks=[row["rank"] for row in ranked])
        ratings |= {row["player"]: rating for row, (rating,) in zip(ranked, rated, strict=True)}
        for row in game["results"]:
            points.setdefault(row["player"], {}).setdefault(game["block"], []).append(row["points"])
    for line in found["players"]:
        ox, blocks = line["by_game"]["ox"], [fmean(block) for block in points[line["name"]].values()]
        half = t.ppf(0.975, len(blocks) - 1) * stdev(blocks) / len(blocks) ** 0.5
        assert ox["mean_points_interval"] == pytest.approx([fmean(blocks) - half, fmean(blocks) + half])
        assert ox["rating"] == pytest.approx(1500 + 60 * (ratings[line["name"]].mu - 25))
        assert ox["uncertainty"] == pytest.approx(60 * ratings[line["name"]].sigma)
    (pair,) = found["pairs"]
    assert (pair["a"], pair["b"], pair["blocks"]) == ("house:contrarian", "house:table_reader", 5)
    assert pair["ahead"] + pair["behind"] + pair["level"] == 25


def test_a_crash_names_the_deepest_line_of_the_bots_file(bots: str) -> None:
    found = report(f"{bots}:oops", f"{bots}:bot", "--n", "5")
    at = 1 + PLAIN.splitlines().index('    return {}["oops"]')
    assert {(fault["player"], fault["what"], fault["at"], fault["count"]) for fault in found["faults"]} == {
        (f"{bots}:oops", "crash", f"mine.py:{at}", 10)
    }
    assert [line["faults"]["bot"] for line in found["players"]][:2] == [50, 0]


def test_the_third_refusal_in_a_row_is_a_submission_let_go(bots: str) -> None:
    found = report(f"{bots}:rude", "house:mixed", "--n", "5")
    assert [(fault["what"], fault["count"]) for fault in found["faults"]] == [("refused", 30)] * 5


def test_what_json_cannot_hold_is_refused_and_asked_again(bots: str) -> None:
    found = report(f"{bots}:Learns", "house:mixed", "--n", "5")
    assert [(fault["what"], fault["count"]) for fault in found["faults"]] == [("refused", 1)] * 5


async def test_a_bot_that_does_not_come_back_lets_its_submissions_go(bots: str) -> None:
    watchdog, seed = Watchdog(seconds=0.05), "s"
    entrants = [python("slow", f"{bots}:slow", Path()), *(house(f"h{n}", {}, "random", seed) for n in range(4))]
    tournament = Tournament(deciders(), entrants, watchdog)
    with watchdog.on_guard():
        (played,) = [one async for one in tournament.play(deals("m", seed, [("ox", 1, 5)], 5))]
    faults = [fault for fault in played.faults if fault.player == "slow"]
    assert {fault.what for fault in faults} == {"timeout"}
    assert sum(fault.count for fault in faults) == 10
    assert all((fault.at or "").startswith("mine.py:") for fault in faults)


def test_a_trial_rates_its_two_parties_and_ranks_its_teams() -> None:
    found = report("house:in_role", "house:in_role", "--game", "trial", "--n", "6")
    for game in found["games"]:
        for row in game["results"]:
            assert row["rank"] == {True: 1, False: 2, None: None}[row["won"]]
    assert sum(line["by_game"]["trial"]["rated_games"] for line in found["players"]) == 12


def test_every_fault_of_the_words_is_reported_at_once(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import nothing_of_that_name\n")
    answer = CliRunner().invoke(cli, ["match", "house:nobody", "mine", f"{tmp_path}/broken.py", "none.py"])
    assert answer.exit_code == 2
    faults = "no policy 'nobody'", "mine.py: no such file", "broken.py:1: ModuleNotFoundError", "none.py: no such file"
    for found in faults:
        assert found in answer.output
