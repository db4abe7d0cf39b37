"""One strength for each player over all game types: a regularised Bradley–Terry fit with a bootstrap over games."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Final

import choix
import numpy as np
from numpy.typing import NDArray

from playmolt_cli.scores.games import FEWEST_GAMES, FIT_RULES, Fit, Game, Score

MOST_PLAYERS: Final = 1_000
"""Players in one fit: its time grows with the cube. If there are more, those with the most rated games take part."""
DRAWS: Final = 1_000
"""Samples of the bootstrap."""
_PRIOR_WINS: Final = 0.5
"""Wins and losses of each player against a virtual average player: a drawn pair. This regularises the fit, so that an
unbeaten player has a finite score."""
_INTERVAL: Final = (2.5, 97.5)
_POINT_TOLERANCE: Final = 1e-9
_DRAW_TOLERANCE: Final = 1e-3
"""Sum of the last changes of all scores in a bootstrap sample, far below its sampling error."""
_MOST_STEPS: Final = 10_000
_DIGITS: Final = 3

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


def fit(games: Iterable[Game], *, draws: int = DRAWS, fewest: int = FEWEST_GAMES, most: int = MOST_PLAYERS) -> Fit:
    """Score the players of some games. The result depends on the games and their order, not on anything else.

    Every pair of seats of a game is a comparison; equal ranks are half a win each. All comparisons of one game type
    have the same total weight. The mean score is 0. Without `draws` the intervals are empty.
    """
    games = list(games)
    played = _played(games)
    busiest = sorted(played, key=lambda player: (-sum(played[player].values()), player))[:most]
    pairs = _Pairs(games, sorted(busiest))
    listed = [player for player in pairs.players if sum(played[player].values()) >= fewest]
    group = _main_group(pairs, frozenset(listed))
    shown = [player for player in listed if player in group]
    if not shown:
        return Fit([], 0)
    pairs = _Pairs(games, sorted(group))
    places = np.array([pairs.players.index(player) for player in shown])
    point = pairs.strengths(np.ones(len(pairs.types), dtype=np.int64), None, _POINT_TOLERANCE)
    samples = np.array([_centred(sample, places) for sample in (point, *pairs.samples(draws, point))])
    low, high = np.percentile(samples[bool(draws) :], _INTERVAL, axis=0)
    scores = [
        # The interval of a player who always wins may lie below its score; it includes the score nevertheless.
        Score(player, _shown(score), _shown(min(least, score)), _shown(max(greatest, score)),
              sum(played[player].values()), sorted(played[player]))
        for player, score, least, greatest in zip(shown, _centred(point, places), low, high, strict=True)
    ]  # fmt: skip
    return Fit(sorted(scores, key=lambda each: (-each.score, each.player)), len(listed) - len(shown))


def _shown(value: float) -> float:
    return round(float(value), _DIGITS) + 0.0  # no -0.0


def _centred(strengths: _Floats, places: _Ints) -> _Floats:
    chosen: _Floats = strengths[places]
    centred: _Floats = chosen - chosen.mean()
    return centred


def _played(games: Iterable[Game]) -> Mapping[str, Mapping[str, int]]:
    """Rated games of each player by game type."""
    played: dict[str, dict[str, int]] = {}
    for game in games:
        for player in {seat.player for seat in game.seats}:
            of = played.setdefault(player, {})
            of[game.game_type] = of.get(game.game_type, 0) + 1
    return played


class _Pairs:
    """The comparisons between some players."""

    def __init__(self, games: Iterable[Game], players: Sequence[str]) -> None:
        self.players = players
        number = {player: place for place, player in enumerate(players)}
        size = len(players) + 1  # the last is the average player
        cells, shares, of_game, types = list[int](), list[float](), list[int](), list[str]()
        for game in games:
            compared = [(number[seat.player], seat.rank) for seat in game.seats if seat.player in number]
            before = len(cells)
            for (one, one_rank), (other, other_rank) in combinations(compared, 2):
                if one == other:
                    continue  # two agents of one model
                won = 1.0 if one_rank < other_rank else 0.0 if one_rank > other_rank else 0.5
                cells += (one * size + other, other * size + one)
                shares += (won, 1 - won)
            if len(cells) > before:
                of_game += [len(types)] * (len(cells) - before)
                types.append(game.game_type)
        self.types = np.array(types, dtype=str)
        """The game type of each game with a comparison."""
        self._size = size
        self._cells = np.array(cells, dtype=np.int32)
        self._shares = np.array(shares)
        self._of_game = np.array(of_game, dtype=np.int32)
        self._kinds = [np.flatnonzero(self.types == kind) for kind in sorted(set(types))]
        self._pairs_in = np.bincount(self._of_game, weights=self._shares, minlength=len(types))
        self._average = np.zeros((size, size))
        self._average[-1, :-1] = self._average[:-1, -1] = _PRIOR_WINS

    def linked(self) -> Iterable[tuple[int, int]]:
        """The pairs of players that were compared, by number."""
        return [divmod(int(cell), self._size) for cell in np.unique(self._cells)]

    def strengths(self, copies: _Ints, start: _Floats | None, tolerance: float) -> _Floats:
        """The strength of each player in log-odds, if each game counts as often as `copies` says."""
        weights = copies.astype(np.float64)
        total = self._pairs_in.sum() / max(len(self._kinds), 1)
        for kind in self._kinds:
            weights[kind] *= total / (weights[kind] @ self._pairs_in[kind])
        wins = np.bincount(self._cells, self._shares * weights[self._of_game], self._size**2)
        table = wins.reshape(self._size, self._size) + self._average
        found = choix.ilsr_pairwise_dense(table, initial_params=start, max_iter=_MOST_STEPS, tol=tolerance)
        return np.asarray(found)

    def samples(self, draws: int, start: _Floats) -> Iterable[_Floats]:
        """The strengths in samples of the games, drawn with replacement within each type."""
        random = np.random.default_rng(FIT_RULES)
        for _ in range(draws):
            copies = np.zeros(len(self.types), dtype=np.int64)
            for kind in self._kinds:
                copies[kind] = np.bincount(random.integers(0, len(kind), len(kind)), minlength=len(kind))
            yield self.strengths(copies, start, _DRAW_TOLERANCE)


def _main_group(pairs: _Pairs, listed: frozenset[str]) -> frozenset[str]:
    """The players connected by games with the most listed players; then with the most players, then the first name."""
    of = list(range(len(pairs.players)))

    def head(place: int) -> int:
        while of[place] != place:
            of[place] = of[of[place]]
            place = of[place]
        return place

    for one, other in pairs.linked():
        of[max(head(one), head(other))] = min(head(one), head(other))
    groups: dict[int, set[str]] = {}
    for place, player in enumerate(pairs.players):
        groups.setdefault(head(place), set()).add(player)
    by_name = sorted(groups.values(), key=min)
    return frozenset(max(by_name, key=lambda group: (len(group & listed), len(group)), default=()))
