"""Ratings of one match: everybody begins anew, every seat that competes is rated (arena.md, "Rating")."""

from collections.abc import Iterable, Mapping

from openskill.models import PlackettLuce

from playmolt_cli.match.tournament import Played


class Ratings:
    """Takes games in the order of their numbers; ratings are those of a game type, not rounded."""

    def __init__(self, players: Iterable[str]) -> None:
        self._model = PlackettLuce()
        self._ratings = {player: self._model.rating() for player in players}

    def take(self, game: Played) -> None:
        competing = sorted(
            (result for result in game.results if result.player in game.rated),
            key=lambda result: result.rank or 0,
        )
        if len(competing) < 2:
            return
        rated = self._model.rate(
            [[self._ratings[result.player]] for result in competing],
            ranks=[float(result.rank or 0) for result in competing],
        )
        for result, (rating,) in zip(competing, rated, strict=True):
            self._ratings[result.player] = rating

    @property
    def shown(self) -> Mapping[str, tuple[float, float]]:
        """Player → rating and uncertainty on the platform's scale."""
        return {player: (1500 + 60 * (rating.mu - 25), 60 * rating.sigma) for player, rating in self._ratings.items()}
