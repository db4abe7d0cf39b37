"""A report as lines of text: who is better and how sure that is first, then a line a player, pair and fault."""

from collections.abc import Iterator

from playmolt_cli.match.reporting.intervals import Interval
from playmolt_cli.match.reporting.report import Pair, Report


def verdict(report: Report) -> str:
    """The first sentence: who is better, or that it cannot be told yet."""
    if not report.pairs:
        return "There is nobody to compare with: a match takes two bots."
    told = [_better(pair) for pair in report.pairs if pair.better is not None]
    if not told:
        return "It cannot be told yet who is better: no difference in points is surer than 95 %. Play more games."
    return "; ".join(told) + "."


def lines(report: Report) -> Iterator[str]:
    yield verdict(report)
    if report.stopped:
        yield f"Stopped ({report.stopped}) after {report.games_played} of {report.games_planned} games."
    for player in report.players:
        for game, line in player.by_game.items():
            yield (
                f"{player.name}  {game}  {line.games} games, {line.wins} won, mean points {line.mean_points:.2f}"
                f"{_within(line.mean_points_interval)}, rating {line.rating:.1f}{_within(line.rating_interval, 1)}"
            )
    for pair in report.pairs:
        yield (
            f"{pair.a} against {pair.b}  {pair.game}  ahead {pair.ahead}, behind {pair.behind}, level {pair.level}; "
            f"points {pair.points_difference:+.2f}{_within(pair.points_interval)}; "
            f"rating {pair.rating_difference:+.1f}{_within(pair.rating_interval, 1)}"
        )
    for fault in report.faults:
        at = f" at {fault.at}" if fault.at else ""
        yield f"fault  game {fault.number}  {fault.player}  {fault.what} ({fault.kind}) × {fault.count}{at}"


def _better(pair: Pair) -> str:
    low, high = pair.points_interval or (0.0, 0.0)
    worse = pair.b if pair.better == pair.a else pair.a
    ends = sorted((abs(low), abs(high)))
    return (
        f"{pair.better} is better than {worse} at {pair.game}: "
        f"by {abs(pair.points_difference):.1f} points a game (95 %: {ends[0]:.1f} to {ends[1]:.1f})"
    )


def _within(interval: Interval | None, digits: int = 2) -> str:
    if interval is None:
        return ""
    return f" [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]"
