"""The play loop: from registering to the result, with bots of every kind and a server that misbehaves."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from playmolt import AsyncClient, BotFailed, Client, Forfeit, Refused, Retry, Stalled, Turn, bots, play, play_async
from playmolt.calls import Request
from playmolt.loop import Ask, GameResult, Seat, playing
from playmolt_core.game.seats.views import allowed_actions_of
from playmolt_ox.rules import Ox
from playmolt_schemas import api
from playmolt_schemas.api import ActionOffer
from playmolt_schemas.codes import Code, problem_bytes
from playmolt_schemas.games import ox
from playmolt_trial.rules import Trial
from sdk_arena import Arena, Fault

from core.tests.waiting import wait_until

QUICK = Retry(attempts=4, seconds=60.0, base=0.01, cap=0.05)
Start = Callable[[Any], Arena]


def keeper(turn: Turn) -> dict[str, Any]:
    if turn.actions[0].type == "switch":
        return {"type": "switch", "use_switch": False}
    return {"type": "first_choice", "choice": "X", "comment": "X"}


class Keeper:
    def act(self, state: dict[str, Any], actions: Sequence[ActionOffer]) -> dict[str, Any]:
        return keeper(Turn(state["game_id"], "ox", state, list(actions)))


async def async_keeper(turn: Turn) -> dict[str, Any]:
    await asyncio.sleep(0)
    return keeper(turn)


def dancer(_turn: Turn) -> dict[str, Any]:
    return {"type": "dance"}


def silent(_turn: Turn) -> Any:
    return None


async def against_house(arena: Arena, me: Any) -> Any:
    """Play `me` (an awaitable of its result) and four house bots."""
    result, _ = await asyncio.gather(me, bots.run_house_bots(arena.url, "ox", 4, seed="house"))
    return result


def test_a_bot_that_has_no_answer_lets_its_submission_go() -> None:
    seat = Seat("ox-1", 60.0, 3, lambda: 0.0).play()
    assert str(next(seat)) == "GET /api/agents/me/turn"
    offers = [ActionOffer("first_choice", {})]
    asked = seat.send(api.Turn("ox-1", "ox", {"version": 3, "phase": "first_choice"}, offers, turn_id="t"))
    assert isinstance(asked, Ask)
    request = seat.send(Forfeit("model_away", "provider"))
    assert isinstance(request, Request)
    assert str(request) == "POST /api/games/ox-1/forfeit"
    assert msgspec.json.decode(request.body or b"") == {"what": "model_away", "kind": "provider", "turn_id": "t"}
    assert str(seat.send(api.Forfeited(version=4, phase="first_choice"))) == "GET /api/agents/me/turn"


@pytest.mark.parametrize(("pace", "expected"), [("quick", 1512.5), ("slow", 1400.0)])
def test_a_result_has_the_rating_of_its_pace(pace: str, expected: float) -> None:
    steps = playing("ox", game_id="ox-1", patience=600)
    assert str(next(steps)) == "GET /api/agents/me/turn"
    state = {"game_id": "ox-1", "gameType": "ox", "version": 9, "phase": "end", "pace": pace, "self": {"id": "agent-1"}}
    assert str(steps.send(api.Turn("ox-1", "ox", state, [], over=True))) == "GET /api/agents/me"
    ratings = {name: api.Rating(rating, 300.0, 9, None, True) for name, rating in (("ox", 1512.5), ("ox_slow", 1400.0))}
    me = api.Me(
        id="agent-1", handle="me-1", name="me", kind="bot", model=None, version=None, about=None, created_at="",
        owner=None, games={}, points=0, ratings=ratings, points_by_type={}, notices=[],
    )  # fmt: skip
    with pytest.raises(StopIteration) as ended:
        steps.send(me)
    assert ended.value.value.rating.rating == expected


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({}, None), ({"rated": True}, None), ({"rated": False, "unrated": "one_owner"}, "one_owner"),
        ({"rated": False, "tournament": {"id": "tournament-1", "round": 1}}, "tournament"),
        ({"rated": False, "private": True}, "private"),
    ],
)  # fmt: skip
def test_a_result_says_why_it_is_not_rated(state: dict[str, Any], reason: str | None) -> None:
    result = GameResult(
        game_id="ox-1", gameType="ox", agent_id="agent-1", name="me", phase="end", points=0, turns=0, refusals=0,
        state=state,
    )  # fmt: skip
    assert result.unrated == reason


async def test_a_result_is_told_also_when_the_rating_cannot_be_had(arena: Start) -> None:
    server = arena(Ox())
    refused = problem_bytes(Code.OPERATOR_ONLY, "no")
    server.faults += [Fault("/api/agents/me", "status", status=403, body=refused) for _ in range(5)]
    result = await against_house(server, play_async(keeper, "ox", url=server.url, name="me"))
    assert (result.phase, result.rating) == ("end", None)


@pytest.mark.parametrize("bot", [keeper, Keeper(), async_keeper])
async def test_a_bot_of_any_kind_plays_a_whole_game(arena: Start, bot: Any) -> None:
    server = arena(Ox())
    result = await against_house(server, play_async(bot, "ox", url=server.url, name="me"))
    assert (result.phase, result.turns, result.refusals, result.name) == ("end", 10, 0, "me")
    line = next(row for row in result.state["results"] if row["agent_id"] == result.agent_id)
    assert 20 <= result.points == line["points"] <= 200
    assert result.handle
    assert (result.rating.rating, result.rating.provisional) == (1512.5, True)


async def test_the_sync_loop_plays_the_same_game(arena: Start) -> None:
    server = arena(Ox())
    result = await against_house(server, asyncio.to_thread(play, keeper, "ox", url=server.url))
    assert (result.phase, result.turns) == ("end", 10)


async def test_an_async_bot_is_not_a_bot_for_the_sync_client(arena: Start) -> None:
    server = arena(Ox())
    house = asyncio.create_task(bots.run_house_bots(server.url, "ox", 4))
    with pytest.raises(TypeError, match="AsyncClient"):
        await asyncio.to_thread(play, async_keeper, "ox", url=server.url)
    house.cancel()
    await asyncio.gather(house, return_exceptions=True)


async def test_house_bots_that_are_stopped_leave_the_game_that_still_waits(arena: Start) -> None:
    server, taken = arena(Ox()), asyncio.Event()
    seats: list[Any] = []

    def seated(seat: Any) -> None:
        seats.append(seat)
        if len(seats) == 3:
            taken.set()

    house = asyncio.create_task(bots.run_house_bots(server.url, "ox", 3, seated=seated))
    await asyncio.wait_for(taken.wait(), 60)
    house.cancel()
    await asyncio.gather(house, return_exceptions=True)
    async with AsyncClient(server.url) as anybody:
        state = await anybody.state(seats[0].game_id)
    assert state["participants"] == []


async def test_what_is_not_a_bot_is_named(arena: Start) -> None:
    server = arena(Ox())
    with pytest.raises(TypeError, match="not a bot"):
        await against_house(server, play_async("keeper", "ox", url=server.url))  # type: ignore[arg-type]


async def test_a_refused_action_gives_the_bot_another_try_and_tells_why(arena: Start) -> None:
    server = arena(Ox())
    reasons = []

    def clumsy(turn: Turn) -> Any:
        if turn.refused is None:
            return {"type": turn.actions[0].type, "comment": "?"}
        reasons.append(turn.refused)
        return keeper(turn) if len(reasons) % 2 else "not even a dict"

    result = await against_house(server, play_async(clumsy, "ox", url=server.url))
    assert (result.phase, result.turns) == ("end", 10)
    assert result.refusals == len(reasons) >= 10
    assert {reason.code for reason in reasons} == {Code.INVALID_ACTION.wire}
    assert {fault.field for fault in reasons[0].errors} & {"choice", "use_switch"}


async def test_a_bot_that_never_learns_is_given_up(arena: Start) -> None:
    server = arena(Ox())
    with pytest.raises(BotFailed) as failed:
        await against_house(server, play_async(dancer, "ox", url=server.url))
    assert failed.value.refusal.code == Code.INVALID_ACTION.wire
    assert len([one for one in server.sent("/actions") if b"dance" in one.body]) == 3


async def test_a_bot_that_gives_no_dict_is_told_so_without_asking_the_server(arena: Start) -> None:
    server = arena(Ox())
    with pytest.raises(BotFailed, match="an action is a dict"):
        await against_house(server, play_async(silent, "ox", url=server.url))


async def test_already_submitted_and_lost_answers_are_not_errors(arena: Start) -> None:
    server = arena(Ox())
    already = problem_bytes(Code.ALREADY_SUBMITTED, "yours is in")
    server.faults = [
        Fault("/actions", "status", status=409, body=already),
        Fault("/actions", "lost"),
        Fault("/turn", "status"),
        Fault("/turn", "lost"),
        Fault("/join", "lost"),
        Fault("/turn", "status", status=204, body=b""),
        Fault("/state", "status", status=503),
    ]
    results = await bots.run_house_bots(server.url, "ox", 5, seed="faults")
    assert {result.phase for result in results} == {"end"}
    assert server.faults == []
    assert server.version(results[0].game_id) == 6 + 1 + 5 * (1 + 5 + 1 + 5 + 1) + 1


async def test_an_answer_that_comes_too_late_is_given_again_and_not_taken_for_the_next_question(arena: Start) -> None:
    server = arena(Ox())
    asked: list[tuple[int, str]] = []

    def slow(turn: Turn) -> dict[str, Any]:
        asked.append((turn.state["round"], turn.actions[0].type))
        if len(asked) in (1, 6):
            server.let_the_deadline_pass(turn.game_id)
        return {**keeper(turn), "comment": f"round {turn.state['round']}"}

    result = await against_house(server, play_async(slow, "ox", url=server.url))
    assert (result.phase, result.refusals) == ("end", 0)
    assert len(asked) > result.turns > 0
    mine = [
        (entry["round"], line["comment"], line["switch_comment"])
        for entry in result.state["history"]
        for line in entry["choices"]
        if line["id"] == result.agent_id
    ]
    assert all({first, second} <= {"", f"round {round_}"} for round_, first, second in mine)


async def test_a_refusal_that_is_not_the_bots_fault_is_raised(arena: Start) -> None:
    server = arena(Ox())
    server.faults = [Fault("/actions", "status", status=401, body=problem_bytes(Code.UNAUTHORIZED, "no such key"))]
    with pytest.raises(Refused) as refused:
        await bots.run_house_bots(server.url, "ox", 5)
    assert refused.value.code == Code.UNAUTHORIZED.wire


async def test_an_aborted_game_ends_the_loop_without_points(arena: Start) -> None:
    server = arena(Ox())
    async with AsyncClient(server.url, retry=QUICK) as client:
        await client.register("me")
        game_id = (await client.join("ox")).game_id
        playing = asyncio.create_task(client.play(keeper, "ox", game_id=game_id))
        await wait_until(lambda: server.sent("/turn"))
        server.end(game_id)
        result = await playing
    assert (result.phase, result.points, result.turns) == ("aborted", 0, 0)


async def test_a_game_that_stands_still_is_given_up(arena: Start) -> None:
    server = arena(Ox())
    server.longest_wait = 0.1
    async with AsyncClient(server.url, retry=QUICK) as client:
        with pytest.raises(Stalled) as stalled:
            await client.play(keeper, "ox", patience=0.15)
    assert stalled.value.version == 2


async def test_playing_on_with_a_key_takes_the_same_seat(arena: Start) -> None:
    server = arena(Ox())
    with Client(server.url, retry=QUICK) as client:
        registered = client.register("me")
        game_id = client.join("ox").game_id
    result = await against_house(server, play_async(keeper, "ox", url=server.url, key=registered.api_key))
    assert (result.game_id, result.agent_id) == (game_id, registered.id)
    assert len(server.agents) == 5


async def test_the_answer_to_the_agents_other_game_does_not_starve_this_one(arena: Start) -> None:
    server = arena(Ox())
    async with AsyncClient(server.url, retry=QUICK) as client:
        await client.register("me")
        game_id = (await client.join("ox")).game_id
        own_turn = server._turn

        async def other_game(seen: Any, agent: str) -> tuple[int, bytes]:
            if agent == "agent-0000":
                return 200, b'{"game_id":"trial-x","gameType":"trial","state":{"version":9},"actions":[]}'
            return await own_turn(seen, agent)

        server._turn = other_game  # type: ignore[method-assign]
        result = await against_house(server, client.play(keeper, "ox", game_id=game_id))
    assert (result.phase, result.turns) == ("end", 10)


async def test_a_trial_is_played_to_its_verdict(arena: Start) -> None:
    server = arena(Trial())
    results = await bots.run_house_bots(server.url, "trial", 6, seed="trial")
    state = results[0].state
    assert state["verdict"] in ("GUILTY", "NOT_GUILTY")
    assert sum(result.turns for result in results) == 6 + 18 + 2 + 3 + 1
    assert [result.refusals for result in results] == [0] * 6
    assert len({line["text"] for line in state["history"]}) > 12


def the_turn(version: int) -> api.Turn:
    return api.Turn("ox-1", "ox", {"version": version, "phase": "switch"}, [ActionOffer("switch", {})])


def test_an_older_replicas_answer_is_not_a_turn() -> None:
    """The bot is not asked again about what it has answered; the loop waits until the state has caught up."""
    steps = Seat("ox-1", 60.0, 3, lambda: 0.0).play()
    assert str(next(steps)).endswith("/turn")
    asked = steps.send(the_turn(5))
    assert isinstance(asked, Ask)
    assert str(steps.send({"type": "switch"})).endswith("/actions")
    assert str(steps.send(api.ActionAccepted("accepted", 7, "switch", "receipt"))).endswith("/turn")
    assert str(steps.send(the_turn(5))).endswith("/state")
    caught_up = steps.send({"version": 5, "phase": "switch", "allowed_actions": ["switch"]})
    assert isinstance(caught_up, Request)
    assert caught_up.query["after"] == 5
    assert caught_up.wait > 0
    assert str(steps.send({"version": 8, "phase": "switch"})).endswith("/turn")
    assert isinstance(steps.send(the_turn(8)), Ask)


def test_waits_for_a_turn_grow_while_nothing_happens_and_restart_when_something_does() -> None:
    steps = Seat("ox-1", 1e9, 3, lambda: 0.0).play()
    holds: list[float] = []
    asked = next(steps)
    for version in (1, 1, 1, 1, 1, 1, 2, 2):
        assert isinstance(asked, Request)
        holds.append(asked.wait)
        steps.send(None)
        asked = steps.send({"version": version, "phase": "first_choice"})
    assert holds == [1, 1, 2, 4, 8, 8, 8, 1]


def test_a_turn_found_in_the_state_is_offered_with_its_schema() -> None:
    steps = Seat("ox-1", 60.0, 3, lambda: 0.0).play()
    next(steps)
    assert str(steps.send(api.Turn("trial-1", "trial", {"version": 9}, []))).endswith("/state")
    asked = steps.send({"version": 5, "phase": "switch", "gameType": "ox", "allowed_actions": ["switch"]})
    assert isinstance(asked, Ask)
    assert asked.turn.actions[0].schema == allowed_actions_of(ox.ACTIONS)["switch"].schema


@pytest.mark.parametrize("comment", ["\ud800", object()])
def test_an_action_that_json_cannot_hold_gives_the_bot_another_try(comment: object) -> None:
    steps = Seat("ox-1", 60.0, 3, lambda: 0.0).play()
    next(steps)
    asked = steps.send(the_turn(5))
    assert isinstance(asked, Ask)
    assert str(steps.send({"type": "switch", "comment": comment})).endswith("/turn")
    again = steps.send(the_turn(5))
    assert isinstance(again, Ask)
    assert again.turn.refused is not None
    assert "it cannot be encoded as JSON" in again.turn.refused.detail
