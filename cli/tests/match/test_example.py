"""The worked plan: what its report says, computed again from nothing but the records of its games."""

import asyncio
import json
import math
import shutil
from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from openskill.models import PlackettLuce
from playmolt_cli.games import deciders
from playmolt_cli.match.entrant_factory import models_of
from playmolt_cli.match.match_run import MatchRun
from playmolt_cli.match.plan import read_plan
from playmolt_cli.match.reporting.pages import html, markdown
from playmolt_cli.match.reporting.report import Report
from playmolt_core.llm.catalogue import Catalogue
from scipy.stats import t

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "match"
PARTIES = ("PROSECUTOR", "DEFENSE")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("example")


@pytest.fixture(scope="module")
def report(out: Path) -> Report:
    folder = shutil.copytree(EXAMPLE, out / "plan")
    catalogue = Catalogue()
    running = MatchRun(
        read_plan(folder / "plan.toml", catalogue, models_of(catalogue, "")), deciders(), catalogue, out / "m"
    )
    try:
        return asyncio.run(running.play())
    finally:
        running.close()


def results(path: Path) -> list[dict[str, Any]]:
    """The results in the records of a game, those of a trial with the rank of their team."""
    last = json.loads(path.read_text("utf-8").splitlines()[-1])
    assert last["type"] == "game_end"
    rows: list[dict[str, Any]] = last["data"]["results"]
    return [row | {"rank": row.get("rank") or {True: 1, False: 2, None: None}[row.get("won")]} for row in rows]


def interval(values: list[float]) -> list[float]:
    half = t.ppf(0.975, len(values) - 1) * stdev(values) / len(values) ** 0.5
    return [fmean(values) - half, fmean(values) + half]


def offsets_of(rated: list[dict[str, Any]], before: list[Any], convictions: int, trials: int) -> list[float]:
    """By how much each mean is raised: the prosecutor's, so that it wins at the rate of those before it."""
    share = (10 + convictions) / (20 + trials)
    spread = math.sqrt(sum(one.sigma**2 for one in before) + 2 * (25 / 300) ** 2 + 2 * (25 / 6) ** 2)
    offset = spread * math.log(share / (1 - share))
    return [offset if row.get("role") == "PROSECUTOR" else 0.0 for row in rated]


def test_figures_agree_with_the_records_of_the_games(report: Report, out: Path) -> None:
    assert (report.games_played, report.stopped) == (96, None)
    for game in ("ox", "trial"):
        model, convictions = PlackettLuce(), 0
        ratings = {player.name: model.rating() for player in report.players}
        points: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        meetings: dict[tuple[str, str], list[tuple[int, int, int]]] = defaultdict(list)
        for number, line in enumerate(one for one in report.games if one.game == game):
            rows = results(out / "m" / "games" / f"{line.number}-{game}.jsonl")
            block = number // 6
            assert {row["name"] for row in rows} == set(line.seats)
            rated = sorted(
                (row for row in rows if row.get("role") is None or row["role"] in PARTIES), key=lambda row: row["rank"]
            )
            before = [ratings[row["name"]] for row in rated]
            offsets = offsets_of(rated, before, convictions, number)
            convictions += any(row.get("role") == "PROSECUTOR" and row["won"] for row in rows)
            teams = [[model.rating(one.mu + by, one.sigma)] for one, by in zip(before, offsets, strict=True)]
            after = model.rate(teams, ranks=[row["rank"] for row in rated])
            ratings |= {
                row["name"]: model.rating(one.mu - by, one.sigma)
                for row, (one,), by in zip(rated, after, offsets, strict=True)
            }
            for row in rows:
                points[row["name"]][block].append(row["points"])
            for a in rows:
                for b in rows:
                    ahead = (a["rank"] or 9) < (b["rank"] or 9) if game == "ox" else a["won"] is True is not b["won"]
                    meetings[a["name"], b["name"]].append((block, a["points"] - b["points"], int(ahead)))
        for player in report.players:
            told, blocks = player.by_game[game], points[player.name]
            assert told.points == sum(map(sum, blocks.values()))
            assert told.games == sum(map(len, blocks.values()))
            assert told.mean_points_interval == pytest.approx(interval([fmean(block) for block in blocks.values()]))
            rating, uncertainty = 1500 + 60 * (ratings[player.name].mu - 25), 60 * ratings[player.name].sigma
            assert (told.rating, told.uncertainty) == (pytest.approx(rating), pytest.approx(uncertainty))
        for pair in (one for one in report.pairs if one.game == game):
            met = meetings[pair.a, pair.b]
            blocks = sorted({block for block, _, _ in met})
            means = [fmean(less for block, less, _ in met if block == one) for one in blocks]
            assert pair.points_interval == pytest.approx(interval(means))
            low, high = interval(means)
            assert pair.better == (pair.a if low > 0 else pair.b if high < 0 else None)
            assert pair.ahead == sum(ahead for _, _, ahead in met)
            assert pair.behind == sum(ahead for _, _, ahead in meetings[pair.b, pair.a])


def test_every_call_has_its_line_in_a_transcript(report: Report, out: Path) -> None:
    texts = [path.read_text("utf-8") for path in (out / "m" / "transcripts").iterdir()]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    assert len(lines) == report.cost.calls > 0
    assert {line["player"] for line in lines} == {"small", "bold"}
    assert report.cost.money == "0"


def test_the_pages_say_first_who_is_better_and_need_no_network(report: Report) -> None:
    for page in (markdown(report), html(report)):
        assert "http" not in page
        assert "<script" not in page
        assert "games/1-ox.jsonl" in page
        assert "transcripts/1-ox.jsonl" in page
    kept = json.loads((EXAMPLE / "report.json").read_text("utf-8"))
    assert (kept["name"], kept["games_planned"]) == (report.name, report.games_planned)
    assert [player["name"] for player in kept["players"]] == [player.name for player in report.players]


def test_the_cross_table_reads_the_same_from_both_sides(report: Report) -> None:
    for pair in report.pairs:
        title = f"## Head to head, {pair.game}: points per game, row minus column\n\n"
        table = markdown(report).split(title)[1].split("\n\n")[0]
        names, _, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()]
        cells = {(row[0], name): cell for row in rows for name, cell in zip(names, row, strict=True)}
        assert pair.points_interval is not None
        low, high = pair.points_interval
        assert cells[pair.a, pair.b] == f"{pair.points_difference:+.2f} [{low:.1f}, {high:.1f}]"
        assert cells[pair.b, pair.a] == f"{-pair.points_difference:+.2f} [{-high:.1f}, {-low:.1f}]"
