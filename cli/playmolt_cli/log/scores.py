"""`playmolt scores`: computes the leaderboards over all rated game types."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, get_args

import click
import msgspec
from msgspec.structs import replace
from playmolt_core.db.pool import Pool
from playmolt_core.db.scores import FittedScore, PgScores
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.verify import Break
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.identity import ScoreBoard

from playmolt_cli.log.reading import with_database
from playmolt_cli.scores.games import Game, digest_of, games_of, rated_games, row_of
from playmolt_cli.scores.program import fitted
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.options import data_option, echo_json, json_option

_SHOWN: Final = 10


class BoardReport(msgspec.Struct, frozen=True):
    """A leaderboard as it is now stored. `computed` is false if no result had changed."""

    as_of: datetime
    computed: bool
    games: int
    unconnected: int
    scores: Sequence[FittedScore]


@click.command()
@data_option
@json_option
def scores(data: Path | None, as_json: bool) -> None:
    """Compute one score for each agent over all rated game types, and for each model.

    Stores the rows of `GET /api/leaderboard?by=overall` and `by=model`: a Bradley-Terry fit over the pairs of places of
    all rated games, with 95 % intervals. If no result has changed, it stores only the time. `up` runs this command
    every PLAYMOLT_SCORES_SECONDS.

    Example: playmolt scores
    """

    async def work(_: PostgresLog, pool: Pool) -> Mapping[ScoreBoard, BoardReport]:
        stored = PgScores(pool)
        games, models = await rated_games(stored), await stored.models()
        boards: tuple[ScoreBoard, ...] = get_args(ScoreBoard)
        return await _renewed(stored, {board: games_of(board, games, models) for board in boards})

    reports = with_database(data, work)
    if as_json:
        echo_json(reports)
        return
    for board, report in reports.items():
        click.echo(
            f"{board}: {len(report.scores)} players, {report.games} rated games, as of {rfc3339(report.as_of)}"
            + (f"; {report.unconnected} not connected to the others" if report.unconnected else "")
        )
        for row in report.scores[:_SHOWN]:
            click.echo(f"  {row.score:>7.3f} ({row.low:.3f} to {row.high:.3f})  {printable(row.id)}")


async def score_breaks(pool: Pool) -> list[Break]:
    """Compare the stored scores with the results that they were computed from, unless there are newer results.

    Intervals are compared with their scores alone: to sample the games again takes a thousand times as long.
    """
    stored, breaks = PgScores(pool), list[Break]()
    boards: tuple[ScoreBoard, ...] = get_args(ScoreBoard)
    found = {board: fit for board in boards if (fit := await stored.stored(board))}
    if not found:
        return []
    games, models = await rated_games(stored), await stored.models()
    of_boards = {board: games_of(board, games, models) for board in found}
    current = [board for board, kept in found.items() if kept.digest == digest_of(of_boards[board])]
    for board, made in zip(current, fitted([of_boards[board] for board in current], intervals=False), strict=True):
        kept = found[board]
        expected = {(row.id, row.model): row for row in map(row_of, made.scores)}
        if kept.unconnected != made.unconnected or expected.keys() != {(row.id, row.model) for row in kept.scores}:
            breaks.append(Break("", 0, f"the players of the scores {board} are not those of the results"))
        breaks += [
            Break("", 0, f"the score {board} of {row.id} does not follow from the results")
            for row in kept.scores
            if (one := expected.get((row.id, row.model))) and not _follows(row, one)
        ]
    return breaks


def _follows(row: FittedScore, expected: FittedScore) -> bool:
    same = replace(row, low=expected.low, high=expected.high) == expected
    return same and row.low <= row.score <= row.high


async def _renewed(stored: PgScores, games: Mapping[ScoreBoard, Sequence[Game]]) -> Mapping[ScoreBoard, BoardReport]:
    """Compute the boards whose results have changed, and store them."""
    digests = {board: digest_of(of_board) for board, of_board in games.items()}
    changed = [board for board, digest in digests.items() if not await stored.confirm(board, digest)]
    for board, fit in zip(changed, fitted([games[board] for board in changed]), strict=True):
        await stored.store(board, digests[board], [row_of(score) for score in fit.scores], fit.unconnected)
    reports = dict[ScoreBoard, BoardReport]()
    for board, of_board in games.items():
        found = await stored.stored(board)
        assert found is not None  # noqa: S101 -- stored above
        reports[board] = BoardReport(found.as_of, board in changed, len(of_board), found.unconnected, found.scores)
    return reports
