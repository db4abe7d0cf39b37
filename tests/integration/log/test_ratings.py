"""Ratings follow from the log: the same whatever the order in which games come, and made again to the last digit."""

import random
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from openskill.models import PlackettLuce
from playmolt_core.db.accounts import NewAgent, PgAccounts
from playmolt_core.db.cursors import BadCursor
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.db.projections import Board, PgProjections, Ranked
from playmolt_core.db.ratings import RatingRow
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.relay.checking import projection_breaks
from playmolt_core.relay.projector import Projector, rebuild
from playmolt_schemas.game_messages import GameSummary

from core.tests.log.log_contract import NOON, Game, opened, unit
from tests.integration.log.finished import ended, ox_results, trial_results

AGENTS = [f"agent-{letter}" for letter in "abcdefg"]
HOUSE = {agent: {"kind": "house"} for agent in AGENTS}


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url)
    yield pool
    await pool.close()


@pytest.fixture
def log(pool: Pool) -> PostgresLog:
    return PostgresLog(pool)


async def project(log: PostgresLog, pool: Pool) -> None:
    projector = Projector(log, pool)
    while await projector.step():
        pass


async def rows(pool: Pool) -> dict[str, list[tuple[Any, ...]]]:
    """All that is projected, to the last digit."""
    found = {}
    for table in ("score", "result", "rating"):
        found[table] = [tuple(row) for row in await pool.fetch(f"SELECT * FROM projection.{table} ORDER BY 1, 2, 3")]
    return found


async def line(pool: Pool, agent: str, game_type: str = "ox", version: str | None = None) -> RatingRow:
    return (await PgProjections(pool).ratings_of(agent, version))[game_type].line


async def board(pool: Pool, **wanted: Any) -> Sequence[Ranked]:
    return (await PgProjections(pool).leaderboard(Board("ox", "rating", **wanted), 100))[0]


def ladder(games: Sequence[Sequence[str]]) -> Mapping[str, tuple[float, float]]:
    """The ratings after games of so many agents, each in the order of its ranks: worked out with the library alone."""
    model = PlackettLuce()
    known = {agent: (25.0, 25.0 / 3) for game in games for agent in game}
    for game in games:
        teams = [[model.rating(mu=known[agent][0], sigma=known[agent][1])] for agent in game]
        after = model.rate(teams, ranks=[float(rank) for rank in range(1, len(game) + 1)])
        known |= {agent: (new.mu, new.sigma) for agent, (new,) in zip(game, after, strict=True)}
    return known


def moments(start: datetime = NOON) -> Iterator[datetime]:
    while True:
        yield start
        start += timedelta(seconds=1)


async def test_a_line_comes_to_what_the_library_says(log: PostgresLog, pool: Pool) -> None:
    drawn = random.Random(7)
    games = [drawn.sample(AGENTS, 5) for _ in range(12)]
    for number, (agents, at) in enumerate(zip(games, moments(), strict=False)):
        await log.append(ended(Game(f"ox-{number:02}"), ox_results(agents), at))
        if number % 3 == 0:
            await project(log, pool)
    await project(log, pool)
    expected = ladder(games)
    for agent in AGENTS:
        of = await line(pool, agent)
        assert (of.mu, of.sigma) == expected[agent]
        assert of.games == sum(agent in game for game in games)
        assert of.points == sum((200, 100, 60, 40, 20)[game.index(agent)] for game in games if agent in game)


async def test_a_trial_rates_prosecutor_and_defender_alone(log: PostgresLog, pool: Pool) -> None:
    results = trial_results("agent-a", "agent-b", AGENTS[2:6], guilty=False)
    await log.append(ended(Game("trial-1"), results))
    await project(log, pool)
    expected = ladder([["agent-b", "agent-a"]])
    for agent in ("agent-a", "agent-b"):
        of = await line(pool, agent, "trial")
        assert (of.mu, of.sigma) == expected[agent]
    projections = PgProjections(pool)
    assert await projections.ratings_of("agent-c", None) == {}
    shown = {agent: (await projections.recent(agent))[0] for agent in AGENTS[:4]}
    assert [shown[agent].rank for agent in AGENTS[:4]] == [2, 1, None, 1]
    assert all(game.rated for game in shown.values())


async def test_games_are_rated_in_the_order_of_their_ends_whatever_comes_first(log: PostgresLog, pool: Pool) -> None:
    drawn = random.Random(11)
    games = {f"ox-{number:02}": drawn.sample(AGENTS, 5) for number in range(20)}
    ends = {game: NOON + timedelta(seconds=number // 2) for number, game in enumerate(games)}  # two at a time: by id
    for game in drawn.sample(sorted(games), len(games)):
        await log.append(ended(Game(game), ox_results(games[game]), ends[game]))
        await project(log, pool)
    expected = ladder([games[game] for game in sorted(games)])
    for agent in AGENTS:
        of = await line(pool, agent)
        assert (of.mu, of.sigma) == expected[agent]
    before = await rows(pool)
    assert await rebuild(pool, log) == (20,)
    assert await rows(pool) == before


async def test_what_was_changed_or_lost_is_made_again_equal(log: PostgresLog, pool: Pool) -> None:
    for number, at in zip(range(4), moments(), strict=False):
        await log.append(ended(Game(f"ox-{number}"), ox_results(AGENTS[:5]), at))
    await project(log, pool)
    before = await rows(pool)
    await pool.value("UPDATE projection.rating SET mu = mu + 1")
    await pool.value("DELETE FROM projection.result WHERE game_id = 'ox-2'")
    await pool.value("INSERT INTO projection.score VALUES ('agent-x', 'ox', 5, 1)")
    await rebuild(pool, log)
    assert await rows(pool) == before


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE projection.score SET points = points + 1 WHERE agent_id = 'agent-a' AND game_type = 'ox'",
        "UPDATE projection.score SET games = games + 1 WHERE agent_id = 'agent-b' AND game_type = ''",
        "DELETE FROM projection.score WHERE agent_id = 'agent-c' AND game_type = 'ox'",
        "INSERT INTO projection.score VALUES ('agent-x', 'ox', 5, 1)",
        "UPDATE projection.score SET agent_id = 'agent-y' WHERE agent_id = 'agent-d' AND game_type = 'ox'",
        "UPDATE projection.rating SET mu = mu + 1e-12 WHERE agent_id = 'agent-a'",
        "UPDATE projection.rating SET merit = merit + 1 WHERE agent_id = 'agent-a'",
        "UPDATE projection.rating SET games = games + 1 WHERE agent_id = 'agent-b'",
        "UPDATE projection.rating SET version = '9' WHERE agent_id = 'agent-b'",
        "DELETE FROM projection.rating WHERE agent_id = 'agent-e'",
        "UPDATE projection.rating SET agent_id = 'agent-z' WHERE agent_id = 'agent-c'",
        "UPDATE projection.result SET sigma = sigma * 1.001 WHERE game_id = 'ox-1' AND agent_id = 'agent-a'",
        "UPDATE projection.result SET mu = NULL, sigma = NULL WHERE game_id = 'ox-1' AND agent_id = 'agent-a'",
        "UPDATE projection.result SET rank = 4 WHERE game_id = 'ox-1' AND agent_id = 'agent-a'",
        "UPDATE projection.result SET ended_at = ended_at + interval '1 day' WHERE game_id = 'ox-1'",
        "UPDATE projection.result SET rated = false WHERE game_id = 'ox-2'",
        "DELETE FROM projection.result WHERE game_id = 'ox-2'",
        "UPDATE projection.result SET game_id = 'ox-99' WHERE game_id = 'ox-2'",
        "UPDATE projection.progress SET position = 99",
    ],
)
async def test_a_row_that_the_log_does_not_say_is_found(log: PostgresLog, pool: Pool, change: str) -> None:
    for number, at in zip(range(3), moments(), strict=False):
        await log.append(ended(Game(f"ox-{number}"), ox_results(AGENTS[:5]), at))
    assert await projection_breaks(pool, log) == [], "what nobody has made yet is not wrong"
    await project(log, pool)
    await log.append(ended(Game("ox-8"), ox_results(AGENTS[:5]), NOON + timedelta(hours=1)))
    assert await projection_breaks(pool, log) == [], "nor what comes later"
    await pool.value(change)
    assert await projection_breaks(pool, log)
    await rebuild(pool, log)
    assert await projection_breaks(pool, log) == []


async def test_rows_that_other_rules_have_made_are_made_anew(log: PostgresLog, pool: Pool) -> None:
    await log.append(ended(Game("ox-1"), ox_results(AGENTS[:5])))
    await project(log, pool)
    await log.append(ended(Game("ox-2"), ox_results(AGENTS[:5]), NOON + timedelta(seconds=1)))
    await pool.value("UPDATE projection.score SET points = points + 200, games = games + 1")
    await pool.value("UPDATE projection.progress SET rules = rules + 1")
    await project(log, pool)
    assert (await line(pool, "agent-a")).games == 2
    assert (await PgProjections(pool).points_of("agent-b")).points == 200
    await pool.value("UPDATE projection.progress SET rules = 0")
    await pool.value("DELETE FROM projection.rating")
    await project(log, pool)
    assert (await line(pool, "agent-a")).games == 2


async def test_rated_are_public_games_of_two_who_are_not_house(log: PostgresLog, pool: Pool) -> None:
    ends = moments()
    one = {agent: identity for agent, identity in HOUSE.items() if agent != "agent-a"}
    await log.append(ended(Game("ox-1"), ox_results(AGENTS[:5], one), next(ends)))
    private = Game("ox-2")
    await log.append([unit(opened(private, GameSummary("waiting", 0, 1, 5, invite="f" * 64)))])
    await log.append(ended(private, ox_results(AGENTS[:5]), next(ends)))
    await project(log, pool)
    projections = PgProjections(pool)
    assert await projections.ratings_of("agent-a", None) == {}
    assert [(game.game_id, game.rated) for game in await projections.recent("agent-a")] == [
        ("ox-2", False),
        ("ox-1", False),
    ]
    points = await projections.points_of("agent-a")
    assert (points.points, points.games) == (200, {"ox": 1}), "a private game pays nothing and counts nowhere"

    two = {agent: identity for agent, identity in one.items() if agent != "agent-b"}
    await log.append(ended(Game("ox-3"), ox_results(AGENTS[:5], two), next(ends)))
    await project(log, pool)
    assert (await line(pool, "agent-c")).games == 1, "house agents have ratings of their own"


async def test_slow_games_have_ratings_of_their_own(log: PostgresLog, pool: Pool) -> None:
    ends = moments()
    slow = Game("ox-1")
    await log.append([unit(opened(slow, GameSummary("waiting", 0, 1, 5, pace="slow")))])
    await log.append(ended(slow, ox_results(AGENTS[:5]), next(ends)))
    await log.append(ended(Game("ox-2"), ox_results(AGENTS[4::-1]), next(ends)))
    await project(log, pool)
    ratings = await PgProjections(pool).ratings_of("agent-a", None)
    assert {ladder: rating.line.games for ladder, rating in ratings.items()} == {"ox": 1, "ox_slow": 1}
    assert ratings["ox"].line.rating < 1500 < ratings["ox_slow"].line.rating
    [best, *_], _ = await PgProjections(pool).leaderboard(Board("ox_slow", "rating"), 100)
    assert best.id == "agent-a"
    assert {game.game_type for game in await PgProjections(pool).recent("agent-a")} == {"ox"}
    assert (await PgProjections(pool).points_of("agent-a")).games == {"ox": 2}


async def test_a_new_version_begins_where_the_one_before_was_and_an_old_one_goes_on(
    log: PostgresLog, pool: Pool
) -> None:
    ends = moments()

    async def play(number: int, version: str | None) -> None:
        said = {"agent-a": {"version": version}} if version else {}
        await log.append(ended(Game(f"ox-{number}"), ox_results(AGENTS[:5], said), next(ends)))
        await project(log, pool)

    await play(1, None)
    unnamed = await line(pool, "agent-a")
    assert await line(pool, "agent-a", version="2") == RatingRow(unnamed.mu, 25 / 3), "before its first rated game"
    await play(2, "2")
    second = await line(pool, "agent-a", version="2")
    assert (second.games, second.points) == (1, 200)
    model = PlackettLuce()
    others = [await line(pool, agent) for agent in AGENTS[1:5]]
    assert [of.games for of in others] == [2] * 4
    await play(3, None)
    again = await line(pool, "agent-a")
    assert again.games == 2
    assert again.sigma < unnamed.sigma
    assert await line(pool, "agent-a", version="2") == second
    assert model.sigma == 25 / 3
    assert await line(pool, "agent-a", version="3") == RatingRow(again.mu, 25 / 3)
    before = await rows(pool)
    await rebuild(pool, log)
    assert await rows(pool) == before


async def test_the_board_shows_lines_by_merit_and_whom_it_is_asked_for(log: PostgresLog, pool: Pool) -> None:
    accounts, ends = PgAccounts(pool), moments()
    for number, agent in enumerate(AGENTS[:5]):
        new = NewAgent(agent, "house" if agent == "agent-e" else "bot", version="1")
        await accounts.create_agent(agent, new, f"{number:064x}")
    said = {agent: {"version": "1", "kind": "house" if agent == "agent-e" else "bot"} for agent in AGENTS[:5]}
    await log.append(ended(Game("ox-1"), ox_results(AGENTS[:5], said), next(ends)))
    await log.append(ended(Game("ox-2"), ox_results(AGENTS[:5], said | {"agent-a": {"version": "2"}}), next(ends)))
    await project(log, pool)

    async def shown(**wanted: Any) -> list[tuple[str, str | None]]:
        lines = await board(pool, **wanted)
        merits = [row.line.merit for row in lines if row.line]
        assert merits == sorted(merits, reverse=True)
        return [(row.id[-1], row.version) for row in lines]

    assert await shown(kind="bot") == [("b", "1"), ("a", "1"), ("c", "1"), ("d", "1")]
    assert await shown(kind="house") == [("e", "1")]
    assert ("e", "1") in await shown(kind="all")
    assert {("a", "1"), ("a", "2")} < {*await shown(kind="bot", versions="all")}
    await accounts.update_agent("agent-a", "3", None)
    assert [agent for agent, _ in await shown(kind="bot")] == ["b", "c", "d"], "no rated game of its present version"

    projections, whole = PgProjections(pool), await board(pool, kind="all", versions="all")
    pages, cursor = list[Ranked](), None
    while True:
        page, cursor = await projections.leaderboard(Board("ox", "rating", "all", "all"), 2, cursor)
        pages += page
        if cursor is None:
            break
    assert pages == list(whole)
    _, cursor = await projections.leaderboard(Board("ox", "rating", "all", "all"), 2)
    with pytest.raises(BadCursor):
        await projections.leaderboard(Board("ox", "rating", "all"), 2, cursor)


async def test_points_are_shown_of_whom_it_is_asked_for(log: PostgresLog, pool: Pool) -> None:
    for number, agent in enumerate(AGENTS[:5]):
        kind = ("person", "bot", "house", "bot", "house")[number]
        await PgAccounts(pool).create_agent(agent, NewAgent(agent, kind), f"{number:064x}")
    await log.append(ended(Game("ox-1"), ox_results(AGENTS[:5])))
    await project(log, pool)

    async def shown(kind: Any) -> list[tuple[int, str]]:
        found, cursor = list[tuple[int, str]](), None
        while True:
            page, cursor = await PgProjections(pool).leaderboard(Board("ox", kind=kind), 1, cursor)
            found += [(row.rank, row.id[-1]) for row in page]
            if cursor is None:
                return found

    assert await shown("bot") == [(1, "a"), (2, "b"), (3, "d")]
    assert await shown("house") == [(1, "c"), (2, "e")]
    assert await shown("all") == [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")]
