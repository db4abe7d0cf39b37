"""`playmolt scores` on a real log: what it stores, who may, and that the same results give the same rows."""

import hashlib
import json
import os
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from playmolt_cli.log.scores import score_breaks
from playmolt_core.db.accounts import NewAgent, PgAccounts
from playmolt_core.db.cursors import BadCursor
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.db.projections import PgProjections
from playmolt_core.db.scores import PgScores, RankedScore
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.relay.projector import Projector, rebuild

from core.tests.log.log_contract import NOON, Game
from tests import platforms
from tests.integration.log.finished import ended, ox_results, trial_results

AGENTS = [f"agent-{letter}" for letter in "abcdefg"]
UNCONNECTED = ["agent-y", "agent-z"]


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url)
    yield pool
    await pool.close()


async def _project(pool: Pool) -> None:
    projector = Projector(PostgresLog(pool), pool)
    while await projector.step():
        pass


async def _season(pool: Pool) -> None:
    """Two models of three agents of the house and four bots play; two more bots play trials between themselves."""
    accounts = PgAccounts(pool)
    for number, agent in enumerate([*AGENTS, *UNCONNECTED]):
        model = {0: "small", 1: "small", 2: "large"}.get(number)
        new = NewAgent(f"Player {agent[-1]}", "house" if model else "bot", None, None, model)
        await accounts.create_agent(agent, new, hashlib.sha256(agent.encode()).hexdigest())
    identities = {agent: {"kind": "house", "model": "m"} for agent in AGENTS[:3]}
    log = PostgresLog(pool)
    for number in range(30):
        seats = [AGENTS[(number * 3 + place * 2) % 7] for place in range(5)]
        game = ended(Game(f"ox-{number:02}"), ox_results(sorted(seats), identities), NOON + timedelta(seconds=number))
        await log.append(game)
        results = trial_results(*(UNCONNECTED if number % 3 else UNCONNECTED[::-1]), ["agent-j"], guilty=True)
        await log.append(ended(Game(f"trial-{number:02}"), results, NOON))
    await _project(pool)


def _scores(database_url: str) -> dict[str, Any]:
    environment = {**os.environ, "DATABASE_URL": database_url}
    done = platforms.playmolt("scores", "--json", environment=environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


async def _rows(pool: Pool, board: Any, kind: Any = "all") -> Sequence[RankedScore]:
    return (await PgProjections(pool).scores(board, kind, 100)).rows


async def _check_models(pool: Pool) -> None:
    """All agents of a model are one player, of the house; bots remain themselves."""
    rows = await _rows(pool, "model")
    houses = [(row.id, row.handle, row.name, row.kind, row.model) for row in rows if row.kind == "house"]
    assert houses == [(model, model, model, "house", model) for model in ("small", "large")]
    assert {row.id for row in rows if row.kind == "bot"} == set(AGENTS[3:])
    small = next(row for row in rows if row.id == "small")
    assert small.games == 30 - sum(
        not {AGENTS[0], AGENTS[1]} & {AGENTS[(number * 3 + place * 2) % 7] for place in range(5)}
        for number in range(30)
    )


async def _check_pages(pool: Pool) -> None:
    """A board is read by kind and page."""
    bots = await _rows(pool, "overall", "bot")
    assert [(row.rank, row.id) for row in bots] == list(enumerate(AGENTS[3:], 1))
    assert [row.id for row in await _rows(pool, "overall", "house")] == AGENTS[:3]
    projections, found, cursor = PgProjections(pool), list[RankedScore](), None
    for _ in range(4):
        page = await projections.scores("overall", "all", 2, cursor)
        assert page.as_of is not None
        found += page.rows
        cursor = page.cursor
    assert cursor is None
    assert found == await _rows(pool, "overall")
    other = (await projections.scores("overall", "all", 2)).cursor
    with pytest.raises(BadCursor):
        await projections.scores("overall", "bot", 2, other)


async def _check_verification(database_url: str, pool: Pool) -> None:
    """`log verify` sees a score, a player and an interval that do not follow from the results."""
    reader = await open_pool(database_url, role="playmolt_reader")
    try:
        assert await score_breaks(reader) == []
        for changes, problems in (
            (
                (
                    "DELETE FROM projection.fitted_score WHERE board = 'overall' AND id = 'agent-d'",
                    "UPDATE projection.fitted_score SET score = score + 0.001 WHERE id = 'small'",
                ),
                ("the players of the scores overall", "the score model of small"),
            ),
            (
                (
                    "UPDATE projection.fitted_score SET low = high + 1 WHERE board = 'overall'",
                    "UPDATE projection.score_fit SET unconnected = 9 WHERE board = 'model'",
                ),
                ("the score overall of", "the players of the scores model"),
            ),
        ):
            kept = [await pool.fetch(f"SELECT * FROM projection.{table}") for table in ("score_fit", "fitted_score")]
            async with pool.transaction() as connection:
                for change in changes:
                    await connection.execute(change)
            found = [each.problem for each in await score_breaks(reader)]
            for problem in problems:
                assert any(each.startswith(problem) for each in found), problem
            async with pool.transaction() as connection:
                await connection.execute("DELETE FROM projection.fitted_score")
                await connection.execute("DELETE FROM projection.score_fit")
                for table, rows in zip(("score_fit", "fitted_score"), kept, strict=True):
                    for row in rows:
                        marks = ", ".join(f"${number}" for number in range(1, len(row) + 1))
                        await connection.execute(f"INSERT INTO projection.{table} VALUES ({marks})", *row)
        assert await score_breaks(reader) == []
    finally:
        await reader.close()


async def test_scores_are_stored_with_their_time_and_computed_again_when_a_result_changed(
    database_url: str, pool: Pool
) -> None:
    await _season(pool)
    first = _scores(database_url)
    assert first["overall"]["computed"] is True
    assert (first["overall"]["games"], first["overall"]["unconnected"]) == (60, 2)
    rows = await _rows(pool, "overall")
    assert [(row.rank, row.id) for row in rows] == list(enumerate(AGENTS, 1))
    assert all(row.low <= row.score <= row.high for row in rows)
    assert sum(row.score for row in rows) == pytest.approx(0, abs=0.004)
    assert [(row.name, row.kind, row.types) for row in rows][2:4] == [
        ("Player c", "house", ["ox"]),
        ("Player d", "bot", ["ox"]),
    ]
    await _check_models(pool)
    await _check_pages(pool)
    await _check_verification(database_url, pool)
    again = _scores(database_url)
    assert again["overall"]["computed"] is False
    assert again["overall"]["as_of"] > first["overall"]["as_of"]
    assert again["overall"]["scores"] == first["overall"]["scores"]
    await PostgresLog(pool).append(ended(Game("ox-99"), ox_results(AGENTS[::-1][:5]), NOON))
    await _project(pool)
    later = _scores(database_url)
    assert later["overall"]["computed"] is True
    assert later["overall"]["scores"] != first["overall"]["scores"]


async def test_the_same_results_give_the_same_rows_after_a_rebuild(database_url: str, pool: Pool) -> None:
    await _season(pool)
    before = {board: report["scores"] for board, report in _scores(database_url).items()}
    await rebuild(pool, PostgresLog(pool))
    async with pool.transaction() as connection:
        await connection.execute("DELETE FROM projection.fitted_score")
        await connection.execute("DELETE FROM projection.score_fit")
    after = _scores(database_url)
    assert {board: report["scores"] for board, report in after.items()} == before
    assert after["overall"]["computed"] is True


async def test_the_role_of_the_relay_may_compute_scores_and_the_gateway_may_read_them(
    database_url: str, pool: Pool
) -> None:
    await _season(pool)
    job = await open_pool(database_url, role="playmolt_relay")
    reader = await open_pool(database_url, role="playmolt_gateway")
    try:
        scores = PgScores(job)
        assert sum([len(seats) async for seats in scores.seats()]) == 30 * 5 + 30 * 2
        assert set(await scores.models()) == set(AGENTS[:3])
        await scores.store("overall", b"digest", [], 0)
        assert await scores.confirm("overall", b"digest")
        assert not await scores.confirm("overall", b"other")
        assert (await PgScores(reader).page("overall", "all", 10)).as_of is not None
    finally:
        await job.close()
        await reader.close()


async def test_the_newest_finished_games_are_those_that_have_a_page(database_url: str, pool: Pool) -> None:
    await _season(pool)
    reader = await open_pool(database_url, role="playmolt_gateway")
    try:
        found = await PgProjections(reader).newest_finished(3)
        assert [(page.game_id, page.ended_at) for page in found] == [
            (f"ox-{number}", NOON + timedelta(seconds=number)) for number in (29, 28, 27)
        ]
        async with pool.transaction() as connection:
            await connection.execute("UPDATE log.stream SET archived = true WHERE stream = 'ox-28'")
        assert [page.game_id for page in await PgProjections(reader).newest_finished(3)] == ["ox-29", "ox-27"]
        assert len(await PgProjections(reader).newest_finished(1000)) == 59
    finally:
        await reader.close()
