"""`playmolt tournament simulate`."""

from itertools import combinations
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from playmolt_cli.main import cli


def simulated(*options: str) -> Any:
    result = CliRunner().invoke(cli, ["tournament", "simulate", *options, "--json"])
    assert result.exit_code == 0, result.output
    return msgspec.json.decode(result.output)


@pytest.mark.parametrize(("kind", "game"), [("swiss", "ox"), ("round_robin", "trial"), ("arena", "ox")])
def test_every_round_has_its_time_and_its_tables(kind: str, game: str) -> None:
    document = simulated("--format", kind, "--game", game, "--entrants", "23", "--rounds", "3")
    assert len(document["rounds"]) == 3
    for each in document["rounds"]:
        assert each["pairing_ms"] >= 0
        seated = [name for table in each["tables"] for name in table]
        assert sorted(seated) == sorted(row["id"] for row in document["standings"])
        assert max(map(len, each["tables"])) - min(map(len, each["tables"])) <= 1
        assert ("roles" in each) is (game == "trial")
    assert document["standings"][0]["rank"] == 1


def test_no_two_meet_twice_where_that_is_promised() -> None:
    document = simulated("--format", "swiss", "--game", "ox", "--entrants", "50", "--rounds", "6", "--seed", "4")
    pairs = [pair for each in document["rounds"] for table in each["tables"] for pair in combinations(sorted(table), 2)]
    assert document["repeats"] == 0
    assert len(pairs) == len(set(pairs))


def test_the_same_seed_gives_the_same_document() -> None:
    options = ("--format", "swiss", "--game", "ox", "--entrants", "30", "--rounds", "4")
    documents = [simulated(*options, "--seed", seed) for seed in ("1", "1", "2")]
    for document in documents:
        for each in document["rounds"]:
            del each["pairing_ms"]
    assert documents[0] == documents[1] != documents[2]


def test_text_shows_rounds_repeats_and_standings() -> None:
    words = ["tournament", "simulate", "--format", "round_robin", "--game", "ox", "--entrants", "25", "--rounds", "6"]
    text = CliRunner().invoke(cli, words).output
    assert "round   6:     5 tables" in text
    assert "meetings of two: 1 to 1" in text
    assert "and 5 more" in text


@pytest.mark.parametrize("wrong", [["--entrants", "0"], ["--rounds", "0"], ["--format", "season"], ["--game", "go"]])
def test_wrong_options_are_refused(wrong: list[str]) -> None:
    words = ["tournament", "simulate", "--game", "ox", "--entrants", "9", "--rounds", "2", *wrong]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert wrong[0] in result.output
