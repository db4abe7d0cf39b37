"""Scores over all game types: the fit beside a plain Newton method, its interval, and who is listed."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec
import numpy as np
import pytest
from playmolt_cli.scores.fit import fit
from playmolt_cli.scores.games import FEWEST_GAMES, Fit, Game, Seat, digest_of, games_of, row_of


def _game(game_type: str, *ranks: tuple[str, int]) -> Game:
    return Game(game_type, tuple(Seat(player, rank) for player, rank in ranks))


def _season(seed: int, players: int, games: int) -> list[Game]:
    """Games between players of different strength: three of four with five seats, in which equals happen."""
    random = np.random.default_rng(seed)
    strength = random.normal(0, 1, players)
    season = []
    for number in range(games):
        seats = random.choice(players, 2 if number % 4 == 0 else 5, replace=False)
        luck = np.round(strength[seats] + random.gumbel(size=len(seats)), 1 if len(seats) == 2 else 0)
        ranks = [1 + int((luck > value).sum()) for value in luck]
        named = [(f"p{seat:02}", rank) for seat, rank in zip(seats, ranks, strict=True)]
        season.append(_game("trial" if len(seats) == 2 else "ox", *named))
    return season


def newton(games: Sequence[Game], listed: Sequence[str]) -> Mapping[str, float]:
    """The same model by Newton's method on its penalised likelihood, written without the library."""
    players = sorted({seat.player for game in games for seat in game.seats})
    place = {player: number for number, player in enumerate(players)}
    wins: dict[str, defaultdict[tuple[int, int], float]] = {}
    for game in games:
        of = wins.setdefault(game.game_type, defaultdict(float))
        for one, other in combinations(game.seats, 2):
            share = 0.5 if one.rank == other.rank else float(one.rank < other.rank)
            of[place[one.player], place[other.player]] += share
            of[place[other.player], place[one.player]] += 1 - share
    total = sum(sum(of.values()) for of in wins.values()) / len(wins)
    size = len(players) + 1
    table = np.zeros((size, size))
    for of in wins.values():
        for (one, other), share in of.items():
            table[one, other] += share * total / sum(of.values())
    table[-1, :-1] = table[:-1, -1] = 0.5
    theta = np.zeros(size)
    both = table + table.T
    for _ in range(100):
        p = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
        gradient = (table - both * p).sum(axis=1)
        curvature = both * p * (1 - p)
        hessian = np.diag(curvature.sum(axis=1)) - curvature
        step = np.append(np.linalg.solve(hessian[:-1, :-1], gradient[:-1]), 0.0)  # the average player is fixed
        theta += step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < 1e-13:
            break
    mean = np.mean([theta[place[player]] for player in listed])
    return {player: theta[place[player]] - mean for player in listed}


def _scores(found: Fit) -> dict[str, float]:
    return {score.player: score.score for score in found.scores}


@pytest.mark.parametrize(("seed", "players", "games"), [(1, 8, 60), (2, 30, 400), (3, 12, 200)])
def test_scores_are_those_of_newtons_method(seed: int, players: int, games: int) -> None:
    season = _season(seed, players, games)
    found = _scores(fit(season, draws=3))
    expected = newton(season, list(found))
    assert len(found) > players / 2
    assert found == pytest.approx(expected, abs=0.00051)
    assert np.mean(list(found.values())) == pytest.approx(0, abs=0.0005)


def test_the_same_games_give_the_same_rows() -> None:
    season = _season(4, 10, 150)
    assert fit(season, draws=50) == fit(list(season), draws=50)


def test_an_unbeaten_and_an_always_beaten_player_have_finite_scores() -> None:
    games = [_game("ox", ("best", 1), ("a", 2), ("b", 2), ("worst", 4)) for _ in range(FEWEST_GAMES)]
    games += [_game("ox", ("a", 1), ("b", 2)), _game("ox", ("a", 2), ("b", 1))]
    found = fit(games, draws=50)
    assert [score.player for score in found.scores] == ["best", "a", "b", "worst"]
    scores = _scores(found)
    assert scores["a"] == scores["b"]
    assert 3 < scores["best"] < 10
    assert scores["best"] == pytest.approx(-scores["worst"], abs=0.002)


def test_equals_are_half_a_win_each() -> None:
    draws = [_game("ox", ("a", 1), ("b", 1)) for _ in range(30)]
    assert _scores(fit(draws, draws=5)) == {"a": 0.0, "b": 0.0}
    halves = [_game("ox", ("a", 1), ("b", 2)), _game("ox", ("a", 2), ("b", 1))] * 15
    assert _scores(fit(halves, draws=5)) == {"a": 0.0, "b": 0.0}


def test_every_game_type_has_the_same_total_weight() -> None:
    """One beats the other in 300 games of one type and loses 20 of another: together they are equal."""
    games = [_game("ox", ("a", 1), ("b", 2)) for _ in range(300)]
    games += [_game("trial", ("b", 1), ("a", 2)) for _ in range(20)]
    found = fit(games, draws=5)
    assert _scores(found) == {"a": 0.0, "b": 0.0}
    assert [(score.games, score.types) for score in found.scores] == [(320, ["ox", "trial"])] * 2


def test_players_are_listed_from_twenty_games_on_and_others_count_as_opponents() -> None:
    games = [_game("ox", ("a", 1), ("b", 2)) for _ in range(FEWEST_GAMES - 1)]
    assert fit(games, draws=3) == Fit([], 0)
    games += [_game("ox", ("a", 1), ("c", 2)), _game("ox", ("b", 2), ("c", 1))]
    found = fit(games, draws=3)
    assert {score.player: score.games for score in found.scores} == {"a": FEWEST_GAMES, "b": FEWEST_GAMES}
    assert _scores(found) == pytest.approx(newton(games, ["a", "b"]), abs=0.00051)


def test_players_who_are_not_connected_are_left_out() -> None:
    many = [_game("ox", ("a", 1), ("b", 2), ("c", 3)) for _ in range(25)]
    few = [_game("trial", ("x", 1), ("y", 2)) for _ in range(25)]
    newcomers = [_game("ox", *[(f"n{number}", number) for number in range(5)])] * 3
    found = fit([*many, *few, *newcomers], draws=3)
    assert {score.player for score in found.scores} == {"a", "b", "c"}
    assert found.unconnected == 2
    joined = fit([*many, *few, _game("ox", ("a", 1), ("n0", 2)), _game("ox", ("x", 1), ("n0", 2))], draws=3)
    assert {score.player for score in joined.scores} == {"a", "b", "c", "x", "y"}
    assert joined.unconnected == 0


def test_the_interval_covers_the_true_difference_about_as_often_as_it_says() -> None:
    """Two players of equal strength play 60 games: their difference is twice a score, and 0 in truth."""
    covered = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        games = [_game("ox", ("a", 1 + int(won)), ("b", 2 - int(won))) for won in random.random(60) < 0.5]
        first = fit(games, draws=100).scores[0]
        assert first.low <= first.score <= first.high
        covered += first.low <= 0 <= first.high
    assert covered >= 51  # 57 expected; 51 or fewer would have a probability below 2 %


def test_a_fit_of_too_many_players_takes_those_with_the_most_games() -> None:
    games = [_game("ox", ("a", 1), ("b", 2), ("c", 3)) for _ in range(30)]
    games += [_game("ox", ("c", 1), ("d", 2)) for _ in range(20)]
    assert {score.player for score in fit(games, draws=3, most=3).scores} == {"a", "b", "c"}


def test_all_agents_of_a_model_are_one_player() -> None:
    models = {"agent-1": "small", "agent-2": "small", "agent-3": "large"}
    games = [_game("ox", ("agent-1", 1), ("agent-2", 2), ("agent-3", 3), ("agent-4", 4))] * 12
    games += [_game("ox", ("agent-2", 2), ("agent-3", 1))] * 12
    found = fit(games_of("model", games, models), draws=3)
    rows = [row_of(score) for score in found.scores]
    assert {(row.id, row.model, row.games) for row in rows} == {("small", "small", 24), ("large", "large", 24)}
    assert games_of("overall", games, models) is games


def test_the_digest_names_games_and_their_results() -> None:
    season = _season(5, 6, 10)
    assert digest_of(season) == digest_of([msgspec.structs.replace(game) for game in season])
    assert digest_of(season) != digest_of(season[1:])
    assert digest_of(season) != digest_of([_game("ox", ("p0", 1)), *season[1:]])
