"""The report of a match, computed from its games only."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from statistics import fmean, stdev
from typing import Any, Final, Literal

import msgspec
from openskill.models import PlackettLuce
from playmolt_schemas.rating import role_offset, role_rate
from playmolt_schemas.text import decimal_text

from playmolt_cli.match.entrants import Entrant, EntrantKind
from playmolt_cli.match.tournament import FinishedGame, PlayerFault, SeatResult
from playmolt_cli.model_seats.calls import Calls, FinishedCall

Interval = tuple[float, float]
_UPPER: Final = 0.975
_NORMAL: Final = 1.96


def of_mean(values: Sequence[float]) -> Interval | None:
    """95 % interval of the mean by Student's t; None for fewer than two values."""
    if len(values) < 2:
        return None
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # noqa: PLC0415 -- slow import, needed for reports only

    half = float(stdtrit(len(values) - 1, _UPPER)) * stdev(values) / len(values) ** 0.5
    mean = fmean(values)
    return (mean - half, mean + half)


def of_rating(rating: float, uncertainty: float) -> Interval:
    return (rating - _NORMAL * uncertainty, rating + _NORMAL * uncertainty)


Stopped = Literal["budget", "interrupted"]


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """Usage of model calls. `cost` sums the known costs; calls without price or usage count in `unknown_calls`."""

    calls: int = 0
    lost_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: str | None = None
    unknown_calls: int = 0


class PlayerGameRow(msgspec.Struct, frozen=True, kw_only=True):
    """A player in the games of one type."""

    games: int
    wins: int
    rated_games: int
    points: int
    mean_points: float
    mean_points_interval: Interval | None
    rating: float
    uncertainty: float
    rating_interval: Interval


class PlayerRow(msgspec.Struct, frozen=True, kw_only=True):
    """A player over the whole match."""

    name: str
    kind: EntrantKind
    model: str | None
    prompts: Mapping[str, str] | None
    by_game: Mapping[str, PlayerGameRow]
    faults: Mapping[str, int]
    calls: int
    input_tokens: int
    output_tokens: int
    cost: str | None
    unknown_calls: int


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two players in the games of one type that both played."""

    game: str
    a: str
    b: str
    blocks: int
    ahead: int
    behind: int
    level: int
    points_difference: float
    points_interval: Interval | None
    rating_difference: float
    rating_interval: Interval
    better: str | None


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of all models together."""

    calls: int
    lost_calls: int
    input_tokens: int
    output_tokens: int
    money: str | None
    unknown_calls: int
    budget: Mapping[str, Any] | None


class GameRow(msgspec.Struct, frozen=True, kw_only=True):
    """A game; `log` and `transcript` are paths in the match folder."""

    number: int
    game: str
    game_id: str
    block: int
    seats: tuple[str, ...]
    results: tuple[SeatResult, ...]
    log: str | None
    transcript: str | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON document `report.json`."""

    name: str
    seed: str
    plan_hash: str
    versions: Mapping[str, Any]
    stopped: Stopped | None
    games_planned: int
    games_played: int
    players: tuple[PlayerRow, ...]
    pairs: tuple[Pair, ...]
    faults: tuple[PlayerFault, ...]
    cost: Cost
    games: tuple[GameRow, ...]


class MatchInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Properties of a match for its report."""

    name: str
    seed: str
    plan_hash: str
    versions: Mapping[str, Any]
    games_planned: int
    stopped: Stopped | None = None
    budget: Mapping[str, Any] | None = None
    kept: bool = False
    """Whether games are stored in files."""


def report_of(
    match: MatchInfo,
    entrants: Sequence[Entrant],
    played: Iterable[FinishedGame],
    spent: Mapping[str, Spend] | None = None,
) -> Report:
    """Make the report of the finished games; `spent` is by player."""
    games = sorted(played, key=lambda one: one.deal.number)
    types = tuple(dict.fromkeys(one.deal.game for one in games))
    tables = {game: _Results([one for one in games if one.deal.game == game], entrants) for game in types}
    spent = spent or {}
    return Report(
        name=match.name,
        seed=match.seed,
        plan_hash=match.plan_hash,
        versions=match.versions,
        stopped=match.stopped,
        games_planned=match.games_planned,
        games_played=len(games),
        players=tuple(_player(entrant, tables, games, spent.get(entrant.name, Spend())) for entrant in entrants),
        pairs=tuple(
            pair
            for game in types
            for a, b in combinations([one.name for one in entrants if one.kind != "fill"], 2)
            if (pair := tables[game].pair(game, a, b)) is not None
        ),
        faults=tuple(fault for one in games for fault in one.faults),
        cost=_cost(spent, match.budget),
        games=tuple(_line(one, entrants, kept=match.kept) for one in games),
    )


class _Results:
    """The results of the games of one type."""

    def __init__(self, games: Sequence[FinishedGame], entrants: Sequence[Entrant]) -> None:
        ratings = Ratings(entrant.name for entrant in entrants)
        self._rows: list[tuple[FinishedGame, Mapping[str, SeatResult]]] = []
        for game in games:
            ratings.take(game)
            self._rows.append((game, {result.player: result for result in game.results}))
        self._ratings = ratings.shown

    def line(self, player: str) -> PlayerGameRow | None:
        rows = [(game, results[player]) for game, results in self._rows if player in results]
        if not rows:
            return None
        points = [result.points for _, result in rows]
        blocks = defaultdict(list)
        for game, result in rows:
            if game.deal.complete:
                blocks[game.deal.block].append(result.points)
        rating, uncertainty = self._ratings[player]
        return PlayerGameRow(
            games=len(rows),
            wins=sum(result.wins for _, result in rows),
            rated_games=sum(player in game.rated for game, _ in rows),
            points=sum(points),
            mean_points=fmean(points),
            mean_points_interval=of_mean([fmean(block) for block in blocks.values()]),
            rating=rating,
            uncertainty=uncertainty,
            rating_interval=of_rating(rating, uncertainty),
        )

    def pair(self, game: str, a: str, b: str) -> Pair | None:
        rows = [(one, results[a], results[b]) for one, results in self._rows if a in results and b in results]
        if not rows:
            return None
        ahead = sum(_ahead(mine, other) for _, mine, other in rows)
        behind = sum(_ahead(other, mine) for _, mine, other in rows)
        blocks = defaultdict(list)
        for one, mine, other in rows:
            blocks[one.deal.block].append((mine.points, other.points))
        whole = {one.deal.block for one, _, _ in rows if one.deal.complete} or set(blocks)
        differences = [fmean(mine for mine, _ in blocks[n]) - fmean(other for _, other in blocks[n]) for n in whole]
        interval = of_mean(differences)
        (ra, ua), (rb, ub) = self._ratings[a], self._ratings[b]
        return Pair(
            game=game,
            a=a,
            b=b,
            blocks=len(whole),
            ahead=ahead,
            behind=behind,
            level=len(rows) - ahead - behind,
            points_difference=fmean(differences),
            points_interval=interval,
            rating_difference=ra - rb,
            rating_interval=of_rating(ra - rb, (ua**2 + ub**2) ** 0.5),
            better=_better(a, b, interval),
        )


def _ahead(mine: SeatResult, other: SeatResult) -> bool:
    if mine.won is not msgspec.UNSET or other.won is not msgspec.UNSET:
        return mine.won is True and other.won is not True
    return mine.rank is not None and other.rank is not None and mine.rank < other.rank


def _better(a: str, b: str, interval: Interval | None) -> str | None:
    if interval is None or interval[0] <= 0 <= interval[1]:
        return None
    return a if interval[0] > 0 else b


def _player(entrant: Entrant, tables: Mapping[str, _Results], games: Sequence[FinishedGame], spent: Spend) -> PlayerRow:
    lines = {game: line for game, table in tables.items() if (line := table.line(entrant.name)) is not None}
    faults = dict.fromkeys(("bot", "operator", "platform", "provider"), 0)
    for fault in (fault for one in games for fault in one.faults if fault.player == entrant.name):
        faults[fault.kind] += fault.count
    return PlayerRow(
        name=entrant.name,
        kind=entrant.kind,
        model=entrant.model,
        prompts=entrant.prompts,
        by_game=lines,
        faults=faults,
        calls=spent.calls,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cost=spent.cost,
        unknown_calls=spent.unknown_calls,
    )


def _cost(spent: Mapping[str, Spend], budget: Mapping[str, object] | None) -> Cost:
    known = [Decimal(one.cost) for one in spent.values() if one.cost is not None]
    return Cost(
        calls=sum(one.calls for one in spent.values()),
        lost_calls=sum(one.lost_calls for one in spent.values()),
        input_tokens=sum(one.input_tokens for one in spent.values()),
        output_tokens=sum(one.output_tokens for one in spent.values()),
        money=decimal_text(sum(known, Decimal(0))) if known else None,
        unknown_calls=sum(one.unknown_calls for one in spent.values()),
        budget=budget,
    )


def _line(game: FinishedGame, entrants: Sequence[Entrant], *, kept: bool) -> GameRow:
    deal = game.deal
    seats = tuple(entrants[place].name for place in deal.seats)
    calls = any(entrants[place].model for place in deal.seats)
    return GameRow(
        number=deal.number,
        game=deal.game,
        game_id=deal.game_id,
        block=deal.block,
        seats=seats,
        results=game.results,
        log=f"games/{deal.number}-{deal.game}.jsonl" if kept else None,
        transcript=f"transcripts/{deal.number}-{deal.game}.jsonl" if kept and calls else None,
    )


class Ratings:
    """Ratings within one match, unrounded (docs/ratings.md). Feed it the games of one type in order.

    A match has one content version and no time in which anyone rests.
    """

    def __init__(self, players: Iterable[str]) -> None:
        self._model = PlackettLuce()
        self._ratings = {player: self._model.rating() for player in players}
        self._measured_games = self._measured_wins = 0

    def take(self, game: FinishedGame) -> None:
        competing = sorted(
            (result for result in game.results if result.player in game.rated),
            key=lambda result: result.rank or 0,
        )
        if len(competing) < 2:
            return
        before = [self._ratings[result.player] for result in competing]
        raised = self._offset([rating.sigma for rating in before]) if game.measured else 0.0
        offsets = [raised if result.player == game.measured else 0.0 for result in competing]
        rated = self._model.rate(
            [
                [self._model.rating(mu=rating.mu + offset, sigma=rating.sigma)]
                for rating, offset in zip(before, offsets, strict=True)
            ],
            ranks=[float(result.rank or 0) for result in competing],
        )
        for result, offset, (rating,) in zip(competing, offsets, rated, strict=True):
            self._ratings[result.player] = self._model.rating(mu=rating.mu - offset, sigma=rating.sigma)
            if result.player == game.measured:
                self._measured_games += 1
                self._measured_wins += result.rank == 1

    def _offset(self, sigmas: Sequence[float]) -> float:
        return role_offset(role_rate(self._measured_wins, self._measured_games), sigmas)

    @property
    def shown(self) -> Mapping[str, tuple[float, float]]:
        """Player → rating and uncertainty on the platform's scale."""
        return {player: (1500 + 60 * (rating.mu - 25), 60 * rating.sigma) for player, rating in self._ratings.items()}


def spend_by_player(calls: Calls) -> Mapping[str, Spend]:
    lost = calls.lost_by_player
    ended: dict[str, list[FinishedCall]] = {player: [] for player in lost}
    for key, call in calls.ended.items():
        ended[calls.begun[key].player].append(call)
    return {player: _of(found, lost[player]) for player, found in ended.items()}


def _of(ended: list[FinishedCall], lost: int) -> Spend:
    usages = [call.usage or {} for call in ended]
    return Spend(
        calls=len(ended),
        lost_calls=lost,
        input_tokens=sum(usage.get("prompt_tokens") or 0 for usage in usages),
        output_tokens=sum(usage.get("completion_tokens") or 0 for usage in usages),
        cost=decimal_text(sum((Decimal(call.cost) for call in ended if call.cost is not None), Decimal(0))),
        unknown_calls=sum(call.cost is None for call in ended),
    )
