"""A tournament from its announcement to its end, on a whole platform with scripted bots and the house's."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from playmolt.client import AsyncClient
from playmolt.errors import Refused
from playmolt_cli.main import cli
from playmolt_schemas.routes import moderation, owners, platform
from playmolt_schemas.routes import tournaments as routes

from tests.integration.tournaments.conftest import SECONDS, Organizer, check, field, until
from tests.platforms import Stack

TOMORROW = (datetime.now(UTC) + timedelta(days=1)).isoformat(timespec="seconds")


async def test_a_swiss_tournament_of_bots_is_played_to_its_end(stack: Stack, organizer: Organizer) -> None:
    cup = organizer.opens(rounds=3)
    async with field(stack.run.gateway, 12) as entrants:
        await entrants.enters(cup)
        organizer.starts(cup)
        results = await entrants.plays(cup)
    view = organizer.state(cup)
    check(view, 3)
    assert [len(result.games) for result in results] == [3] * 12
    for result in results:
        row = next(row for row in view.standings if row.id == result.agent_id)
        assert row.points == result.points == sum(game.points for game in result.games)
        assert row.games == 3
    games = organizer.client.games(tournament=cup).games
    assert len(games) == 9
    assert {(game.tournament.id, game.phase) for game in games if game.tournament} == {(cup, "end")}


async def test_house_bots_play_a_whole_tournament(stack: Stack, organizer: Organizer) -> None:
    cup = organizer.opens(rounds=1, min_entrants=2, max_entrants=7, rated=False)
    view = organizer.adds_house(cup, 7)
    assert {entrant.kind for entrant in view.entrants} == {"house"}
    assert view.state == "running", "it starts once it is full"
    ended = until(lambda: (now := organizer.state(cup)).state == "ended" and now)
    check(ended, 1)
    assert {row.games for row in ended.standings} == {1}
    async with AsyncClient(stack.run.gateway) as client:
        game = (await client.games(tournament=cup)).games[0]
        state = await client.state(game.game_id)
    assert (state["rated"], state["tournament"]) == (False, {"id": cup, "round": 1})


async def test_an_agent_plays_a_public_game_beside_its_tournament(stack: Stack, organizer: Organizer) -> None:
    cup = organizer.opens(rounds=1)
    async with field(stack.run.gateway, 5) as entrants:
        first = entrants.clients[0]
        await entrants.enters(cup)
        waiting = await first.join("ox")
        organizer.starts(cup)
        results = await entrants.plays(cup)
        assert waiting.game_id not in {game.game_id for result in results for game in result.games}
        assert (await first.join("ox")).game_id == waiting.game_id
        await first.leave(waiting.game_id)
    check(organizer.state(cup), 1)


async def test_a_game_that_the_operator_ends_is_played_again_once(stack: Stack, organizer: Organizer) -> None:
    cup = organizer.opens(rounds=1)
    async with field(stack.run.gateway, 5) as entrants:
        await entrants.enters(cup)
        organizer.starts(cup)
        for _ in range(2):
            game = until(lambda: _running(organizer, cup))
            organizer.client.call(platform.ADMIN_END, game, body={"reason": "a test"})
            until(lambda ended=game: _running(organizer, cup) != ended)
        ended = until(lambda: (now := organizer.state(cup)).state == "ended" and now)
    assert [game.phase for game in ended.rounds[0].games] == ["aborted"]
    assert {(row.points, row.games) for row in ended.standings} == {(0, 0)}
    assert len(organizer.client.games(tournament=cup).games) == 2


async def test_no_table_waits_for_an_entrant_that_was_banned(stack: Stack, organizer: Organizer) -> None:
    """Neither the one that was banned before its game, nor an agent of an owner that was."""
    cup = organizer.opens(rounds=1, deadline_seconds=0)
    async with field(stack.run.gateway, 5) as entrants:
        await entrants.enters(cup)
        banned, owned, *others = entrants.clients
        async with AsyncClient(stack.run.gateway) as ada:
            owner = await ada.open_owner("Ada")
            await ada.claim(owned.key)
        ids = {(await one.me()).id for one in (banned, owned)}
        for body in ({"agent_id": (await banned.me()).id}, {"owner_id": owner.id}):
            organizer.client.call(moderation.BAN, body=body | {"note": "spam"})
        organizer.starts(cup)
        game = until(lambda: _running(organizer, cup))
        seats = (await others[0].state(game))["participants"]
        assert {seat["id"] for seat in seats if seat["away"]} == ids
        playing = zip(others, entrants.bots[2:], strict=True)
        await asyncio.gather(*(one.play_tournament(bot, cup, patience=SECONDS) for one, bot in playing))
    check(until(lambda: (now := organizer.state(cup)).state == "ended" and now), 1)
    words = ("log", "check", "--redecide", "--json", "--data", str(stack.folder.path))
    checked = await asyncio.to_thread(CliRunner().invoke, cli, words)
    assert json.loads(checked.stdout)["differ"] == [], "the same decisions again"


def _running(organizer: Organizer, cup: str) -> str | None:
    games = [game for each in organizer.state(cup).rounds for game in each.games if game.phase == "playing"]
    return games[0].game_id if games else None


async def test_refusals_say_what_is_wrong(stack: Stack, organizer: Organizer) -> None:
    cup = organizer.opens(max_entrants=2, min_entrants=2, rounds=1, starts_at=TOMORROW)
    async with field(stack.run.gateway, 3) as entrants:
        one, two, three = entrants.clients
        for number, client in enumerate(entrants.clients):
            await client.register(f"refused {number}")
        with pytest.raises(Refused, match="operator_only"):
            await one.call(routes.OPEN_TOURNAMENT, body={"name": "mine", "game_type": "ox", "format": "swiss"})
        for route in (routes.START_TOURNAMENT, routes.CANCEL_TOURNAMENT):
            with pytest.raises(Refused, match="operator_only"):
                await one.call(route, cup)
        await one.join_tournament(cup)
        with pytest.raises(Refused, match="already_joined"):
            await one.join_tournament(cup)
        await two.join_tournament(cup)
        with pytest.raises(Refused, match="tournament_full"):
            await three.join_tournament(cup)
        with pytest.raises(Refused, match="not_a_participant"):
            await three.leave_tournament(cup)
        await two.leave_tournament(cup)
        await three.join_tournament(cup)
        with pytest.raises(Refused, match="not_found"):
            await one.tournament("tournament-00000000-0000-4000-8000-000000000000")
        with pytest.raises(Refused, match="not_found"):
            await one.tournament("ox-00000000-0000-4000-8000-000000000000")
        changed = organizer.client.call(routes.CHANGE_TOURNAMENT, cup, body={"name": "renamed", "max_entrants": 9})
        assert (changed.name, changed.max_entrants, changed.state) == ("renamed", 9, "open")
        organizer.client.call(routes.CANCEL_TOURNAMENT, cup)
        with pytest.raises(Refused, match="tournament_over"):
            await two.join_tournament(cup)
        assert organizer.state(cup).state == "aborted"
    with pytest.raises(Refused, match="invalid_request"):
        organizer.opens(format="swiss", rounds=0)
    with pytest.raises(Refused, match="invalid_request"):
        organizer.opens(name="\u202e")


@pytest.mark.parametrize("game_type", ["ox", "trial"])
def test_a_pack_that_does_not_exist_is_refused_at_once(organizer: Organizer, game_type: str) -> None:
    """Not at the start, when its entrants are there."""
    with pytest.raises(Refused, match="pack does not exist"):
        organizer.opens(game_type=game_type, pack="unknown")
    cup = organizer.opens(game_type=game_type, starts_at=TOMORROW)
    with pytest.raises(Refused, match="pack does not exist"):
        organizer.client.call(routes.CHANGE_TOURNAMENT, cup, body={"pack": "unknown"})
    changed = organizer.client.call(routes.CHANGE_TOURNAMENT, cup, body={"pack": None, "language": "ko"})
    assert (changed.pack, changed.language) == (None, "ko")
    organizer.client.call(routes.CANCEL_TOURNAMENT, cup)


async def test_an_agent_takes_part_in_one_tournament_of_a_type(stack: Stack, organizer: Organizer) -> None:
    first, second = (organizer.opens() for _ in range(2))
    trial = organizer.opens(game_type="trial")
    async with field(stack.run.gateway, 1) as entrants:
        await entrants.enters(first)
        (client,) = entrants.clients
        with pytest.raises(Refused, match=f"already_joined: You take part in {first}"):
            await client.join_tournament(second)
        await client.join_tournament(trial)
        await client.leave_tournament(first)
        await client.join_tournament(second)
    for cup in (first, second, trial):
        organizer.client.call(routes.CANCEL_TOURNAMENT, cup)


async def test_simultaneous_joins_into_two_tournaments_admit_one(stack: Stack, organizer: Organizer) -> None:
    first, second = (organizer.opens() for _ in range(2))
    async with field(stack.run.gateway, 6) as entrants:
        for number, client in enumerate(entrants.clients):
            await client.register(f"hasty {number}")
        joins = [client.join_tournament(cup) for client in entrants.clients for cup in (first, second)]
        answers = await asyncio.gather(*joins, return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, Refused)]
    assert [answer.code for answer in refused] == ["already_joined"] * 6
    assert sum(len(organizer.state(cup).entrants) for cup in (first, second)) == 6
    for cup in (first, second):
        organizer.client.call(routes.CANCEL_TOURNAMENT, cup)


async def test_the_feed_of_a_tournament_is_streamed_to_its_end(stack: Stack, organizer: Organizer) -> None:
    cup = organizer.opens(rounds=1)
    seen = list[Any]()
    url = stack.run.gateway
    async with field(url, 5) as entrants, httpx.AsyncClient(base_url=url, timeout=60) as http:
        await entrants.enters(cup)
        organizer.starts(cup)
        playing = asyncio.create_task(entrants.plays(cup))
        async with http.stream("GET", f"/api/tournaments/{cup}/stream", timeout=60) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data:"):
                    seen.append(json.loads(line.removeprefix("data:")))
        await playing
    assert [message["version"] for message in seen] == list(range(1, len(seen) + 1))
    assert {message["tournament_id"] for message in seen} == {cup}
    kinds = [message["type"] for message in seen]
    assert kinds.count("entrant_joined") == 5
    assert kinds[-4:] == ["game_seated", "game_scored", "round_closed", "tournament_ended"]


def test_the_command_line_opens_starts_and_shows_a_tournament(stack: Stack) -> None:
    def run(*words: str) -> Any:
        done = CliRunner().invoke(cli, ["tournament", *words, "--data", str(stack.folder.path)])
        assert done.exit_code == 0, done.output
        return done.stdout

    made = json.loads(run("new", "--game", "ox", "--rounds", "1", "--house", "5", "--unrated", "--json"))
    assert len(made["entrants"]) == 5
    assert json.loads(run("start", made["id"], "--json"))["state"] == "running"
    until(lambda: json.loads(run("show", made["id"], "--json"))["state"] == "ended")
    assert "ox swiss, ended, 5 entrants, round 1 of 1" in run("show", made["id"])
    assert made["id"] in run("show")


async def test_tournaments_are_listed_page_by_page(stack: Stack, organizer: Organizer) -> None:
    made = [organizer.opens(name=f"listed {number}") for number in range(3)]
    async with AsyncClient(stack.run.gateway) as client:
        page = await client.tournaments("open", limit=2)
        assert [row.id for row in page.tournaments] == [made[2], made[1]]
        following = await client.tournaments("open", limit=2, cursor=page.next_cursor)
        assert following.tournaments[0].id == made[0]
        with pytest.raises(Refused, match="invalid_request"):
            await client.tournaments(cursor="eyJub25zZW5zZSI6MX0")
    for cup in made:
        organizer.client.call(routes.CANCEL_TOURNAMENT, cup)


async def test_the_operator_ends_a_running_tournament(stack: Stack, organizer: Organizer) -> None:
    cup = organizer.opens(rounds=2, max_entrants=5, deadline_seconds=0)
    async with field(stack.run.gateway, 1) as entrants:  # it never acts: its game is not over before
        await entrants.enters(cup)
        organizer.adds_house(cup, 4)
        ended = organizer.client.call(routes.END_TOURNAMENT, cup, body={"reason": "enough"})
    assert (ended.state, ended.reason) == ("aborted", "enough")
    with pytest.raises(Refused, match="tournament_over"):
        organizer.client.call(routes.END_TOURNAMENT, cup, body={"reason": "again"})


async def test_owners_open_tournaments_where_the_server_lets_them(stack: Stack, organizer: Organizer) -> None:
    body = {"name": "mine", "game_type": "ox", "format": "swiss", "min_entrants": 2, "max_entrants": 9}
    async with AsyncClient(stack.run.gateway) as anyone:
        ada, bob = [(await anyone.call(owners.OPEN_OWNER, body={"name": name})).owner_key for name in ("ada", "bob")]
    async with AsyncClient(stack.run.gateway, ada) as ada_client, AsyncClient(stack.run.gateway, bob) as bob_client:
        cup = await ada_client.call(routes.OPEN_TOURNAMENT, body=body)
        assert cup.created_by is not None
        assert cup.created_by.name == "ada"
        with pytest.raises(Refused, match="operator_only"):
            await bob_client.call(routes.CHANGE_TOURNAMENT, cup.id, body={"name": "his"})
        with pytest.raises(Refused, match="not_a_participant"):
            await ada_client.join_tournament(cup.id)
        changed = await ada_client.call(routes.CHANGE_TOURNAMENT, cup.id, body={"name": "hers"})
        assert changed.name == "hers"
        for number in range(2):
            agent = await bob_client.call(owners.REGISTER_OWNED_AGENT, body={"name": f"bob's {number}"})
            async with AsyncClient(stack.run.gateway, agent.api_key) as client:
                if number:
                    with pytest.raises(Refused, match="one_owner"):
                        await client.join_tournament(cup.id)
                else:
                    view = await client.join_tournament(cup.id)
                    assert [entrant.owner.name for entrant in view.entrants if entrant.owner] == ["bob"]
        await ada_client.call(routes.CANCEL_TOURNAMENT, cup.id)


async def test_a_season_ends_with_a_board_over_the_rated_games_of_its_time(stack: Stack, organizer: Organizer) -> None:
    for seconds in (6, 30, 120):  # until a game of this machine fits into a season
        ends = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds)
        body = {"name": "autumn", "game_type": "ox", "format": "season", "ends_at": ends.isoformat()}
        season = organizer.client.call(routes.OPEN_TOURNAMENT, body=body)
        unrated = organizer.opens(rounds=1, max_entrants=5, rated=False)
        organizer.adds_house(unrated, 5)
        async with field(stack.run.gateway, 5) as players:
            for number, client in enumerate(players.clients):
                await client.register(f"in season {number}")
            results = await asyncio.gather(
                *(client.play(bot, "ox") for client, bot in zip(players.clients, players.bots, strict=True))
            )
            with pytest.raises(Refused, match="invalid_request"):
                await players.clients[0].join_tournament(season.id)
        if datetime.now(UTC) < ends:
            break
    until(lambda: organizer.state(season.id).state == "ended", 180)
    board = organizer.state(season.id).standings
    mine = {result.agent_id: result.points for result in results}
    assert {row.id: row.points for row in board if row.id in mine} == mine
    assert [row.rank for row in board] == sorted(row.rank for row in board)


def test_the_log_of_a_platform_with_tournaments_verifies(stack: Stack) -> None:
    done = CliRunner().invoke(cli, ["log", "verify", "--data", str(stack.folder.path)])
    assert done.exit_code == 0, done.output
