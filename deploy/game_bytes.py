"""Measures the bytes that one game, session or run of each kind takes in Postgres.

`python -m deploy.game_bytes` plays some of each and prints the figures of the table "Bytes a game" of
docs/operating.md. Bots, models and overseers are scripted.
"""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import psycopg
from playmolt_cli.local.folder import Run
from playmolt_cli.local.stack import Stack

from bench.games import games
from bench.servers import folder

TIMES: Final = {"O/X": 20, "mock trial": 20, "legal session": 6, "432 turns of Agora": 1, "AI jury": 4}
"""How many of each kind are played: enough that the empty pages of an index hardly count."""
_COUNTED: Final = """
WITH stored AS (
  SELECT s.game, s.stream, r.tableoid AS part, pg_column_size(r) AS size
  FROM log.record AS r JOIN log.stream AS s USING (number, shard)
  UNION ALL
  SELECT s.game, '', o.tableoid, pg_column_size(o) FROM log.outcome AS o JOIN log.stream AS s USING (stream, shard)
  UNION ALL
  SELECT coalesce(split_part(t.stream, '-', 1), 'agora'), '', t.tableoid, pg_column_size(t) FROM blob.text AS t
), indexed AS (
  SELECT part, pg_indexes_size(part) / count(*) AS each FROM stored GROUP BY part
)
SELECT game, count(DISTINCT stream) FILTER (WHERE stream <> ''), count(*) FILTER (WHERE stream <> ''),
  sum(size + 4 + each)
FROM stored JOIN indexed USING (part) GROUP BY game
"""
"""Per type of game: its streams, its events, and the bytes of its rows. The bytes of a row are its compressed size, its
4-byte entry in the page, and an equal share of the indexes of its table."""
_KINDS: Final = {
    "ox": "O/X, five bots",
    "trial": "mock trial",
    "legal": "legal session, to its report",
    "agora": "Agora run of 36 turns, with its prompts",
    "jury": "AI jury, to its verdict",
}


class Size(NamedTuple):
    """Average events and bytes of one game."""

    events: float
    size: float


async def _play(run: Run, data: Path) -> None:
    kinds = games(run, data)
    for (name, times), (game, label) in zip(TIMES.items(), _KINDS.items(), strict=True):
        for _ in range(times):
            await kinds[name][1]()
        found = counted(run.database_url)[game]
        sys.stdout.write(f"{label}: {found.events:.0f} events, {found.size:,.0f} bytes\n")
        sys.stdout.flush()


def counted(database_url: str) -> Mapping[str, Size]:
    """Average size of one game in a database, by type of game."""
    with psycopg.connect(database_url, autocommit=True) as database:
        rows = database.execute(_COUNTED).fetchall()
    return {game: Size(events / streams, float(size) / streams) for game, streams, events, size in rows if streams}


def main() -> None:
    with folder() as data, Stack(data) as stack:
        asyncio.run(_play(stack.run, data))


if __name__ == "__main__":
    main()
