"""Ratings follow from the log: the same whatever the order in which games come, and made again to the last digit."""

import base64
import math
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
from openskill.models import PlackettLuce
from playmolt_core.db.accounts import NewAgent, PgAccounts
from playmolt_core.db.cursors import BadCursor
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.db.projections import Board, PgProjections, Ranked
from playmolt_core.db.ratings import RatingRow
from playmolt_core.log.postgres import PostgresLog, log_of
from playmolt_core.relay.checking import projection_breaks
from playmolt_core.relay.projector import Projector, rebuild
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.rating import last_midnight, rested_sigma

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
    for table in ("score", "result", "rating", "role_game", "role_rate"):
        found[table] = [tuple(row) for row in await pool.fetch(f"SELECT * FROM projection.{table} ORDER BY 1, 2, 3")]
    return found


async def line(pool: Pool, agent: str, game_type: str = "ox", version: str | None = None) -> RatingRow:
    return (await projections_at(pool, NOON).ratings_of(agent, version))[game_type].line


def projections_at(pool: Pool, now: datetime) -> PgProjections:
    """The projections as they are shown at a time."""
    return PgProjections(pool, lambda: now)


async def board(pool: Pool, now: datetime = NOON, **wanted: Any) -> Sequence[Ranked]:
    return (await projections_at(pool, now).leaderboard(Board("ox", "rating", **wanted), 100))[0]


class Played(NamedTuple):
    """A rated game as the rule sees it: ranks of agents in a version, and in a trial the prosecutor and the content."""

    at: datetime
    ranks: Mapping[tuple[str, str], int]
    prosecutor: tuple[str, str] | None = None
    content: str = ""
    ladder: str = ""


def rated(games: Sequence[Played]) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Mean and deviation by ladder, agent and version after games in order: the rule with the library alone."""
    model = PlackettLuce()
    lines: dict[tuple[str, str, str], tuple[float, float, datetime]] = {}
    newest: dict[tuple[str, str], float] = {}
    trials: Counter[str] = Counter()
    convictions: Counter[str] = Counter()
    for game in games:
        before = {}
        for agent, version in game.ranks:
            mu, sigma, since = lines.get(
                (game.ladder, agent, version), (newest.get((game.ladder, agent), 25.0), 25 / 3, game.at)
            )
            days = (game.at - since) / timedelta(days=1)
            before[agent, version] = mu, min(25 / 3, math.sqrt(sigma**2 + days / 12))
        offset = 0.0
        if game.prosecutor:
            r = (10 + convictions[game.content]) / (20 + trials[game.content])
            spread = sum(sigma**2 for _, sigma in before.values()) + 2 * (25 / 300) ** 2 + 2 * (25 / 6) ** 2
            offset = math.sqrt(spread) * math.log(r / (1 - r))
            trials[game.content] += 1
            convictions[game.content] += game.ranks[game.prosecutor] == 1
        raised = {seat: offset if seat == game.prosecutor else 0.0 for seat in before}
        after = model.rate(
            [[model.rating(mu=mu + raised[seat], sigma=sigma)] for seat, (mu, sigma) in before.items()],
            ranks=[float(rank) for rank in game.ranks.values()],
        )
        for seat, (new,) in zip(before, after, strict=True):
            lines[game.ladder, *seat] = new.mu - raised[seat], new.sigma, game.at
            newest[game.ladder, seat[0]] = new.mu - raised[seat]
    return {key: (mu, sigma) for key, (mu, sigma, _) in lines.items()}


def ladder(games: Sequence[Sequence[str]], start: datetime = NOON) -> Mapping[str, tuple[float, float]]:
    """The ratings after games a second apart of so many agents, each in the order of its ranks."""
    played = [
        Played(at, {(agent, ""): rank for rank, agent in enumerate(game, 1)})
        for game, at in zip(games, moments(start), strict=False)
    ]
    return {agent: line for (_, agent, _), line in rated(played).items()}


async def lines(pool: Pool) -> dict[tuple[str, str, str], tuple[float, float]]:
    """The stored mean and deviation by ladder, agent and version."""
    rows = await pool.fetch("SELECT ladder, agent_id, version, mu, sigma FROM projection.rating")
    return {(of, agent, version): (mu, sigma) for of, agent, version, mu, sigma in rows}


async def stored(pool: Pool, game_type: str = "ox") -> dict[str, tuple[float, float]]:
    """The same by agent, on one ladder without versions."""
    return {agent: line for (of, agent, _), line in (await lines(pool)).items() if of == game_type}


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
    assert await stored(pool) == ladder(games)
    for agent in AGENTS:
        of = await line(pool, agent)
        assert of.games == sum(agent in game for game in games)
        assert of.points == sum((200, 100, 60, 40, 20)[game.index(agent)] for game in games if agent in game)


async def test_a_trial_rates_prosecutor_and_defender_alone(log: PostgresLog, pool: Pool) -> None:
    results = trial_results("agent-a", "agent-b", AGENTS[2:6], guilty=False)
    await log.append(ended(Game("trial-1"), results))
    await project(log, pool)
    assert await stored(pool, "trial") == ladder([["agent-b", "agent-a"]])
    projections = PgProjections(pool)
    assert await projections.ratings_of("agent-c", None) == {}
    shown = {agent: (await projections.recent(agent))[0] for agent in AGENTS[:4]}
    assert [shown[agent].rank for agent in AGENTS[:4]] == [2, 1, None, 1]
    assert all(game.rated for game in shown.values())


async def test_games_are_rated_in_the_order_of_their_ends_whatever_comes_first(log: PostgresLog, pool: Pool) -> None:
    drawn = random.Random(11)
    games = {f"ox-{number:02}": drawn.sample(AGENTS, 5) for number in range(20)}
    ends = {game: NOON + timedelta(days=number // 2) for number, game in enumerate(games)}  # two at a time: by id
    for game in drawn.sample(sorted(games), len(games)):
        await log.append(ended(Game(game), ox_results(games[game]), ends[game]))
        await project(log, pool)
    played = [
        Played(ends[game], {(a, ""): rank for rank, a in enumerate(games[game], 1)}, ladder="ox") for game in games
    ]
    assert await lines(pool) == rated(played)
    before = await rows(pool)
    assert await rebuild(pool, log) == (20,)
    assert await rows(pool) == before


@pytest.mark.parametrize("seed", range(4))
async def test_every_kind_of_game_is_rated_by_the_rule_whatever_comes_first(
    log: PostgresLog, pool: Pool, seed: int
) -> None:
    """Shared ranks, trials of two content versions, two paces, versions, days of rest, and games that come late."""
    drawn = random.Random(seed)
    played: list[tuple[str, Any, Played, str]] = []
    at = NOON
    for number in range(30):
        at += timedelta(seconds=drawn.choice([0, 1, 3_600, 500_000, 5_000_000]))
        versions = {agent: drawn.choice(["", "", "2"]) for agent in AGENTS}
        identities = {agent: {"version": version or None} for agent, version in versions.items()}
        pace, content = drawn.choice(["quick", "quick", "slow"]), drawn.choice(["cases", "pack"])
        suffix = "_slow" if pace == "slow" else ""
        agents = drawn.sample(AGENTS, 6)
        seats = [(agent, versions[agent]) for agent in agents]
        if drawn.random() < 0.5:
            guilty = drawn.random() < 0.8
            results = trial_results(agents[0], agents[1], agents[2:], guilty=guilty, identities=identities)
            ranks = {seats[0]: 1 if guilty else 2, seats[1]: 2 if guilty else 1}
            ranks = dict(sorted(ranks.items(), key=lambda item: item[1]))
            game = Played(at, ranks, seats[0], content, f"trial{suffix}")
            played.append((f"trial-{number:02}", results, game, content))
        else:
            shared = drawn.choice([(1, 2, 3, 4, 5), (1, 1, 3, 4, 4), (1, 1, 1, 1, 1), (1, 2, 2, 2, 5)])
            results = ox_results(agents[:5], identities, shared)
            game = Played(at, dict(zip(seats, shared, strict=False)), ladder=f"ox{suffix}")
            played.append((f"ox-{number:02}", results, game, content))
    for name, results, game, content in drawn.sample(played, len(played)):
        stream = Game(name)
        if game.ladder.endswith("_slow"):
            await log.append([unit(opened(stream, GameSummary("waiting", 0, 1, 5, pace="slow")))])
        await log.append(ended(stream, results, game.at, content))
        if drawn.random() < 0.5:
            await project(log, pool)
    await project(log, pool)
    in_order = [game for name, _, game, _ in sorted(played, key=lambda one: (one[2].at, one[0]))]
    assert await lines(pool) == rated(in_order)
    for content in ("cases", "pack"):
        trials = [game for game in in_order if game.prosecutor and game.content == content]
        convictions = sum(game.ranks[game.prosecutor or ("", "")] == 1 for game in trials)
        (found,) = [rate for rate in await PgProjections(pool).role_rates("trial") if rate.content == content]
        assert (found.count.games, found.count.wins) == (len(trials), convictions)
        assert found.count.rate == (10 + convictions) / (20 + len(trials))
    assert await projection_breaks(pool, log) == []
    before = await rows(pool)
    for together in (1, 1_000):
        await rebuild(pool, log, together=together)
        assert await rows(pool) == before
    assert max(sigma for _, sigma in (await lines(pool)).values()) < 25 / 3


async def test_the_shards_of_a_log_are_rated_as_one(sharded_url: str) -> None:
    pool = await open_pool(sharded_url)
    log, drawn, played = await log_of(pool), random.Random(2), list[Played]()
    for number in range(24):
        agents, at = drawn.sample(AGENTS, 5), NOON + timedelta(days=number // 2)
        await log.append(ended(Game(f"ox-{number:02}"), ox_results(agents), at))
        played.append(Played(at, {(agent, ""): rank for rank, agent in enumerate(agents, 1)}, ladder="ox"))
    await project(log, pool)
    before = await rows(pool)
    assert await lines(pool) == rated(played)
    for together in (1, 5, 1_000):
        await rebuild(pool, log, together=together)
        assert await rows(pool) == before
    await pool.close()


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
        "UPDATE projection.rating SET sigma = sigma * 1.001 WHERE agent_id = 'agent-a'",
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
        "UPDATE projection.role_game SET won = NOT won WHERE game_id = 'trial-0'",
        "UPDATE projection.role_game SET wins = wins + 1 WHERE game_id = 'trial-1'",
        "UPDATE projection.role_game SET content = 'other' WHERE game_id = 'trial-2'",
        "DELETE FROM projection.role_game WHERE game_id = 'trial-0'",
        "INSERT INTO projection.role_game VALUES ('trial-9', 'cases', now(), true, 1, 1)",
        "UPDATE projection.role_rate SET games = games + 1",
        "UPDATE projection.role_rate SET content = 'other'",
        "DELETE FROM projection.role_rate",
    ],
)
async def test_a_row_that_the_log_does_not_say_is_found(log: PostgresLog, pool: Pool, change: str) -> None:
    for number, at in zip(range(3), moments(), strict=False):
        await log.append(ended(Game(f"ox-{number}"), ox_results(AGENTS[:5]), at))
        trial = trial_results("agent-a", "agent-b", AGENTS[2:6], guilty=number != 1)
        await log.append(ended(Game(f"trial-{number}"), trial, at))
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
    [best, *_], _ = await projections_at(pool, NOON).leaderboard(Board("ox_slow", "rating"), 100)
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

    assert await shown(kind="bot") == [("a", "2"), ("b", "1"), ("c", "1"), ("d", "1")]
    assert await shown(kind="house") == [("e", "1")]
    assert ("e", "1") in await shown(kind="all")
    assert {("a", "1"), ("a", "2")} < {*await shown(kind="bot", versions="all")}
    await accounts.update_agent("agent-a", "3", None)
    assert ("a", "2") in await shown(kind="bot"), "a version without a game leaves the row"
    latest = await shown(kind="bot", versions="latest")
    assert [agent for agent, _ in latest] == ["b", "c", "d"], "no rated game of its present version"

    projections, whole = projections_at(pool, NOON), await board(pool, kind="all", versions="all")
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


async def test_the_best_version_is_that_of_twenty_games_with_the_best_rating(log: PostgresLog, pool: Pool) -> None:
    """A version of few games is neither a way up nor a way to hide: below 20 games the most played one is shown."""
    ends = moments()

    async def play(version: str, place: int, times: int) -> None:
        for at in [next(ends) for _ in range(times)]:
            agents = AGENTS[1:5]
            agents.insert(place - 1, "agent-a")
            results = ox_results(agents, {"agent-a": {"version": version}})
            await log.append(ended(Game(f"ox-{at.timestamp():.0f}"), results, at))
        await project(log, pool)

    async def shown() -> list[str | None]:
        rows = await board(pool)
        assert len({row.id for row in rows}) == len(rows)
        return [row.version for row in rows if row.id == "agent-a"]

    await play("worst", 5, 18)
    await play("lucky", 1, 5)
    assert await shown() == ["worst"]
    await play("worst", 5, 2)
    assert await shown() == ["worst"], "20 games go before any rating of fewer"
    await play("good", 2, 20)
    assert await shown() == ["good"]
    await play("bad", 4, 25)
    assert await shown() == ["good"]
    [row] = [row for row in await board(pool) if row.id == "agent-a"]
    assert (row.games, row.points) == (20, 20 * 100)


async def test_uncertainty_grows_to_the_last_midnight_and_who_rests_leaves_the_board(
    log: PostgresLog, pool: Pool
) -> None:
    evening = NOON.replace(hour=21)
    for number in range(30):
        at = evening - timedelta(minutes=29 - number)
        await log.append(ended(Game(f"ox-{number}"), ox_results(AGENTS[:5]), at))
    await project(log, pool)
    _, sigma = (await lines(pool))["ox", "agent-a", ""]

    async def shown(now: datetime, *, active: bool = True) -> list[float]:
        profile = (await projections_at(pool, now).ratings_of("agent-a", None))["ox"].line
        rows = [row.line for row in await board(pool, now, active=active) if row.id == "agent-a" and row.line]
        assert [(line.sigma, line.rating) for line in rows] in ([], [(profile.sigma, profile.rating)])
        return [line.sigma for line in rows]

    assert await shown(evening + timedelta(minutes=1)) == [pytest.approx(sigma, abs=1e-12)]
    midnight = evening.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    rest = (midnight - evening) / timedelta(days=1)
    for days in (0, 1, 20):
        now = midnight + timedelta(days=days, hours=23, minutes=59)
        assert await shown(now) == [pytest.approx(math.sqrt(sigma**2 + (days + rest) / 12), abs=1e-12)]
    assert await shown(midnight + timedelta(days=89, hours=23)) == [
        pytest.approx(math.sqrt(sigma**2 + (89 + rest) / 12))
    ]
    assert await shown(midnight + timedelta(days=90)) == []
    assert await shown(midnight + timedelta(days=90), active=False) != []
    assert await shown(midnight + timedelta(days=9000), active=False) == [25 / 3]


async def test_pages_follow_what_is_shown_also_over_midnight(log: PostgresLog, pool: Pool) -> None:
    """Who rests falls behind: the order is that of the day of the first page."""
    drawn = random.Random(3)
    for number in range(40):
        at = NOON + timedelta(days=number, seconds=number)
        agents = drawn.sample(AGENTS if number > 20 else AGENTS[:5], 5)
        await log.append(ended(Game(f"ox-{number:02}"), ox_results(agents), at))
    await project(log, pool)
    orders = set()
    for days in (40, 60, 4000):
        now = NOON + timedelta(days=days)
        whole, wanted = await board(pool, now, versions="all", active=False), Board("ox", "rating", "all", "all", False)
        merits = [row.line.merit for row in whole if row.line]
        assert merits == sorted(merits, reverse=True)
        assert [row.rank for row in whole] == [1 + sum(other > merit for other in merits) for merit in merits]
        pages, cursor = list[Ranked](), None
        while True:
            page, cursor = await projections_at(pool, now).leaderboard(wanted, 2, cursor)
            pages += page
            if cursor is None:
                break
            now += timedelta(hours=5)
        assert pages == list(whole)
        orders.add(tuple(row.id for row in whole))
    assert len(orders) > 1


async def test_the_database_computes_uncertainty_and_order_like_the_rest(pool: Pool) -> None:
    drawn = random.Random(5)
    rows = []
    for number in range(300):
        mu, sigma = drawn.uniform(-20, 80), drawn.uniform(0.5, 25 / 3)
        at = NOON - timedelta(seconds=drawn.choice([-5, 0, 1, drawn.uniform(0, 10**8)]))
        rows.append((f"agent-{number:03}", mu, sigma, at))
    insert = "INSERT INTO projection.rating VALUES ('ox', $1, '', $2, $3, 1, 0, $4, 'ox-1')"
    for row in rows:
        await pool.value(insert, *row)
    midnight = last_midnight(NOON)
    expected = {agent: RatingRow(mu, rested_sigma(sigma, at, midnight), 1) for agent, mu, sigma, at in rows}
    page = await projections_at(pool, NOON).leaderboard(Board("ox", "rating", active=False), 1000)
    assert {row.id: row.line for row in page[0]} == expected
    assert [row.id for row in page[0]] == sorted(expected, key=lambda agent: (-expected[agent].merit, agent))


async def test_a_cursor_of_no_day_is_refused(log: PostgresLog, pool: Pool) -> None:
    await log.append(ended(Game("ox-1"), ox_results(AGENTS[:5])))
    await project(log, pool)
    wanted = Board("ox", "rating")
    _, cursor = await projections_at(pool, NOON).leaderboard(wanted, 2)
    assert cursor
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    for day in ("0001-01-01", "2999-01-01", "9999-12-31"):
        other = base64.urlsafe_b64encode(raw.replace(f"{NOON:%Y-%m-%d}", day).encode()).decode()
        with pytest.raises(BadCursor):
            await projections_at(pool, NOON).leaderboard(wanted, 2, other)


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
    assert await shown("person") == [(1, "a")]
    assert await shown("house") == [(1, "c"), (2, "e")]
    assert await shown("all") == [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")]
