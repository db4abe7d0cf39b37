"""Old games go into files and out of the database, and nothing else goes with them."""

import gzip
import json
import os
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.pool import Connection, Pool, close, connect, open_pool
from playmolt_core.db.projections import Board, PgProjections
from playmolt_core.log import archive as archiving
from playmolt_core.log.archive import Archive, FinishedStream, NotArchived
from playmolt_core.log.copies.export import json_lines
from playmolt_core.log.copies.verifying import verify_copies
from playmolt_core.log.port import Unit
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.reading import places
from playmolt_core.log.stats import stats
from playmolt_core.log.verify import Break, Verification, verify
from playmolt_core.relay.projector import rebuild
from playmolt_schemas.canonical import canonical_json

from core.tests.log.log_contract import NOON, OVER, Game, outcome, statuses, unit
from tests.integration.log.finished import ended, ox_results, trial_results

LATER = NOON + timedelta(days=40)
NOW = NOON + timedelta(days=41)


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url)
    yield pool
    await pool.close()


@pytest.fixture
def log(pool: Pool) -> PostgresLog:
    return PostgresLog(pool)


@pytest.fixture
async def owner(database_url: str) -> AsyncIterator[Connection]:
    connection = await connect(database_url, session=archiving.SESSION)
    yield connection
    await close(connection)


def ending(game: Game, at: datetime = NOON) -> Unit:
    points = {"results": ox_results([f"of-{game.stream}"])}
    return unit(game.ends(at=at, data=canonical_json(points)))


async def fill(log: PostgresLog) -> dict[str, Game]:
    """Games that took turns in the log: two old ones, one of yesterday, one that runs, and their lobby."""
    games = {name: Game(f"ox-{name}") for name in ("old", "older", "new", "running")}
    lobby = Game("lobby-ox")
    for turn in range(3):
        await log.append([unit(lobby.adds(1, summary=None))])
        answers = {name: [outcome(f"ox-{name}", turn)] for name in games}
        await log.append([unit(game.adds(2), outcomes=answers[name]) for name, game in games.items()])
    await log.append([ending(games["older"]), ending(games["old"])])
    await log.append([unit(lobby.adds(1, summary=None)), ending(games["new"], LATER)])
    await log.append([unit(games["running"].adds(1, at=LATER))])
    return games


async def candidates(log: PostgresLog, owner: Connection, *, kept: int = 2, page: int = 1_000) -> list[FinishedStream]:
    newest = tuple([end - kept for end in await places(log)])
    since = NOW - timedelta(days=30)
    pages = archiving.finished(owner, "ox", idle_since=since, newest=newest, page=page)
    return [one async for streams in pages for one in streams]


async def archive(log: PostgresLog, owner: Connection, folder: Path) -> Archive:
    return await archiving.archive(owner, log, await candidates(log, owner), folder)


async def verified(log: PostgresLog) -> Verification:
    return await verify(log, {}, register=log.register, chunk=4)


async def test_old_games_go_and_their_results_and_all_others_stay(
    log: PostgresLog, pool: Pool, owner: Connection, tmp_path: Path
) -> None:
    games = await fill(log)
    whole = [json.loads(line) for piece in [p async for p in json_lines(log, running=True)] for line in piece.split()]
    await rebuild(pool, log)
    board = await PgProjections(pool).leaderboard(Board("ox"), 9)
    done = await archive(log, owner, tmp_path)
    assert (done.streams, done.events, done.deleted) == (2, 14, 12)

    gone = {"ox-old", "ox-older"}
    held = [json.loads(line) for line in gzip.decompress((tmp_path / done.file).read_bytes()).splitlines()]
    assert sorted(held, key=lambda record: record["position"]) == [r for r in whole if r["stream"] in gone]
    left = [json.loads(line) for piece in [p async for p in json_lines(log, running=True)] for line in piece.split()]
    assert left == [record for record in whole if record["stream"] not in gone]

    assert [entry.record.stream for entry in await log.results(0, 9)] == ["ox-older", "ox-old", "ox-new"]
    await rebuild(pool, log)
    assert await PgProjections(pool).leaderboard(Board("ox"), 9) == board

    result = await verified(log)
    assert (result.breaks, result.diverged, result.streams, result.archived) == ([], 0, 3, 2)
    counted = await stats(log, log.register)
    assert (counted.streams, counted.archived.streams, counted.archived.events) == (3, 2, 14)
    assert statuses(await log.append([unit(games["running"].adds(1))])) == ["appended"]
    assert (await verified(log)).breaks == []


async def test_archived_trials_count_for_the_role_as_before(
    log: PostgresLog, pool: Pool, owner: Connection, tmp_path: Path
) -> None:
    agents = [f"agent-{letter}" for letter in "abcdef"]
    for number, guilty in enumerate((True, True, False)):
        game = Game(f"trial-{number}")
        await log.append([unit(game.adds(2))])
        results = trial_results(agents[0], agents[1], agents[2:], guilty=guilty)
        await log.append(ended(game, results, NOON + timedelta(minutes=number)))
    await log.append([unit(Game("ox-running").adds(3, at=LATER))])

    async def rated() -> list[Any]:
        await rebuild(pool, log)
        rates = await PgProjections(pool).role_rates("trial")
        return [*rates, *await pool.fetch("SELECT * FROM projection.rating ORDER BY agent_id")]

    before = await rated()
    assert (before[0].count.games, before[0].count.wins) == (3, 2)
    newest = tuple([end - 2 for end in await places(log)])
    pages = archiving.finished(owner, "trial", idle_since=NOW - timedelta(days=30), newest=newest, page=9)
    done = await archiving.archive(owner, log, [one async for streams in pages for one in streams], tmp_path)
    assert (done.streams, done.deleted) == (3, 6)
    assert await rated() == before


async def test_a_file_is_checked_without_the_database(log: PostgresLog, owner: Connection, tmp_path: Path) -> None:
    await fill(log)
    done = await archive(log, owner, tmp_path)
    result = verify_copies([tmp_path / done.file], {})
    assert (result.streams, result.events, result.breaks) == (2, 14, [])


async def test_what_is_new_runs_or_may_be_published_again_stays(log: PostgresLog, owner: Connection) -> None:
    await fill(log)
    assert {ended.stream for ended in await candidates(log, owner)} == {"ox-old", "ox-older"}
    # The end of ox-old is five positions before the log's.
    assert {ended.stream for ended in await candidates(log, owner, kept=4)} == {"ox-older"}
    assert await candidates(log, owner, kept=99) == []


async def test_a_session_that_waits_for_the_world_stays(log: PostgresLog, owner: Connection) -> None:
    waits, open_ = Game("ox-waits"), Game("ox-open")
    await log.append([unit(waits.adds(1, kind="game_end", closes=True, summary=OVER, due=NOON))])
    await log.append([unit(open_.adds(1, summary=OVER))])  # over, and its feed was never closed
    await log.append([unit(Game("ox-other").adds(3))])
    assert await candidates(log, owner) == []


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _edited(path: Path) -> None:
    with gzip.open(path) as file:
        lines = file.read().replace(b'"version":2', b'"version":7', 1)
    path.write_bytes(gzip.compress(lines))


def _without_the_last(path: Path) -> None:
    with gzip.open(path) as file:
        lines = file.readlines()
    path.write_bytes(gzip.compress(b"".join(lines[:-1])))


@pytest.mark.parametrize("harm", [_cut, _edited, _without_the_last])
async def test_a_file_that_is_not_what_the_log_holds_deletes_nothing(
    log: PostgresLog, owner: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Path], None]
) -> None:
    await fill(log)
    check = archiving.check

    def harmed(path: Path, streams: Any) -> None:
        harm(path)
        check(path, streams)

    monkeypatch.setattr(archiving, "check", harmed)
    with pytest.raises(NotArchived):
        await archive(log, owner, tmp_path)
    assert os.listdir(tmp_path) == []
    result = await verified(log)
    assert (result.breaks, result.archived, result.streams) == ([], 0, 5)


async def test_a_crash_between_file_and_database_loses_nothing_and_a_repeat_ends_it(
    log: PostgresLog, owner: Connection, tmp_path: Path
) -> None:
    await fill(log)
    streams = await candidates(log, owner)
    path, sha256, _ = await archiving.written(log, streams, tmp_path)
    assert (await verified(log)).archived == 0
    done = await archiving.archive(owner, log, streams, tmp_path)
    assert (done.file, done.sha256) == (path.name, sha256)
    assert os.listdir(tmp_path) == [path.name]
    assert await candidates(log, owner) == []
    with pytest.raises(NotArchived, match="another process"):
        await archiving.archive(owner, log, streams, tmp_path)
    assert (await verified(log)).breaks == []


@pytest.mark.parametrize("changes", [{"version": 6}, {"hash": "ab" * 32}, {"stream": "ox-running"}, {"stream": "ox-1"}])
async def test_the_database_itself_refuses_what_is_not_its_end(
    log: PostgresLog, owner: Connection, changes: dict[str, Any]
) -> None:
    games = await fill(log)
    right = [{"stream": g.stream, "version": g.version, "hash": g.hash} for g in (games["old"], games["older"])]
    with pytest.raises(Exception, match="is not finished at the version and hash"):
        await owner.fetchval(
            "SELECT log.prune($1, 'a file', $2)", json.dumps([right[0], right[1] | changes]), bytes(32)
        )
    result = await verified(log)
    assert (result.breaks, result.archived, result.streams) == ([], 0, 5)


async def test_a_page_ends_where_the_next_begins(log: PostgresLog, owner: Connection) -> None:
    await fill(log)
    whole = await candidates(log, owner)
    assert await candidates(log, owner, page=1) == whole
    assert [len(batch) for batch in archiving.batches(whole, events=10)] == [1, 1]


async def _tamper(owner: Connection, statement: str) -> None:
    await owner.execute("SET session_replication_role = replica")  # what only a superuser can
    await owner.execute(statement)
    await owner.execute("SET session_replication_role = origin")


OF = "number = (SELECT number FROM log.stream WHERE stream = '{}')"


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (f"DELETE FROM log.record WHERE version = 1 AND {OF.format('ox-running')}", "follows"),
        (f"DELETE FROM log.record WHERE {OF.format('ox-old')}", "follows"),
        ("DELETE FROM log.archived WHERE stream = 'ox-old'", "follows"),
        ("UPDATE log.archived SET hash = sha256('')", "differs from the end of its archived stream"),
        (f"UPDATE log.record SET data = '{{}}' WHERE {OF.format('ox-old')}", "the hash does not match"),
        (
            "INSERT INTO log.archived SELECT 'ox-new', 7, sha256(''), '{}', 'f', sha256(''), now(), 0",
            "it still exists",
        ),
    ],
)
async def test_verify_finds_what_was_done_behind_the_register(
    log: PostgresLog, owner: Connection, tmp_path: Path, statement: str, found: str
) -> None:
    await fill(log)
    await archive(log, owner, tmp_path)
    await _tamper(owner, statement)
    problems = [fault.problem for fault in (await verified(log)).breaks]
    assert any(found in problem for problem in problems), problems


async def test_without_the_register_what_was_archived_is_missing(
    log: PostgresLog, owner: Connection, tmp_path: Path
) -> None:
    await fill(log)
    await archive(log, owner, tmp_path)
    assert Break("", 0, "position 6 follows 1") in (await verify(log, {})).breaks


async def test_the_services_may_not_archive(owner: Connection) -> None:
    assert await archiving.permitted(owner)
    for role in ("engine", "relay", "reader"):
        await owner.execute(f"SET ROLE playmolt_{role}")
        assert not await archiving.permitted(owner)
        await owner.execute("RESET ROLE")


async def test_a_database_without_the_migrations_says_so(empty_database_url: str) -> None:
    connection = await connect(empty_database_url)
    with pytest.raises(LogUnavailable, match="playmolt migrate"):
        await archiving.permitted(connection)
    await close(connection)
