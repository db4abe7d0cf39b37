"""Agents that the platform calls: real servers, which play, hang, redirect, send without end, or outlive a kill."""

import json
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.integration.gateway.called_bot import Answering, CalledBot, action_for, answer, called
from tests.integration.gateway.rows import NEEDED, Game, Guest, Json, Platform, accepted, eventually


def put(guest: Guest, bot: CalledBot) -> None:
    bot.secret = accepted(guest.ask("PUT", "/api/agents/me/callback", content=json.dumps({"url": bot.url})))["secret"]


def opened(guest: Guest, game: Game, **wanted: Any) -> Json:
    return accepted(guest.post("/api/games", {"gameType": game, **wanted}), 201)


@pytest.mark.parametrize("game", NEEDED)
def test_a_called_bot_plays_to_the_end_against_the_house(platform: Platform, game: Game) -> None:
    guest = platform.guest("called")
    with called() as bot:
        put(guest, bot)
        game_id = opened(guest, game, fill="house")["game_id"]
        last = eventually(bot.end_call, "the bot gets no call at the end of its game")
        asked = [call for call in bot.calls if not call["over"]]
        told_over = len(bot.calls) - len(asked)
    assert (last["state"]["phase"], last["state"]["faults"]) == ("end", [])
    assert (bot.forged, told_over) == (0, 1)
    assert {call["game_id"] for call in bot.calls} == {game_id}
    assert [call["last_error"] for call in bot.calls] == [None] * len(bot.calls)
    assert len({call["turn_id"] for call in asked}) == len(asked) == {"ox": 10, "trial": len(asked)}[game]
    assert len(set(bot.keys)) == len(bot.keys)


def failing(handler: BaseHTTPRequestHandler, _: Json) -> None:
    answer(handler, b"{}", 500)


def redirecting(handler: BaseHTTPRequestHandler, _: Json) -> None:
    answer(handler, b"", 307, Location=f"http://{handler.headers['Host']}/elsewhere")


def endless(handler: BaseHTTPRequestHandler, _: Json) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000000")
    handler.end_headers()
    while True:
        handler.wfile.write(b" " * 65536)


def test_servers_that_hang_redirect_or_send_without_end_harm_themselves_alone(platform: Platform) -> None:
    """Four seats of a game are called in vain; the fifth plays as if nobody else were called."""
    free = threading.Event()

    def hanging(_: BaseHTTPRequestHandler, __: Json) -> None:
        free.wait()

    ways: dict[str, Answering] = {
        "callback_status": failing,
        "callback_redirect": redirecting,
        "callback_too_large": endless,
        "callback_timeout": hanging,
    }
    guests = {what: platform.guest(what) for what in ways}
    with ExitStack() as stack:
        stack.callback(free.set)
        good, host = stack.enter_context(called()), platform.guest("good")
        put(host, good)
        for what, guest in guests.items():
            put(guest, stack.enter_context(called(ways[what])))
        game = opened(host, "ox", deadline_seconds=8)  # also a busy machine calls the fifth in time
        for guest in guests.values():
            accepted(guest.post("/api/games/join", {"gameType": "ox", "invite": game["invite"]}))
        last = eventually(good.end_call, "the good bot's game does not end", 300)  # ten phases last to their deadline
    kinds = {fault["agent_id"]: set() for fault in last["state"]["faults"]}
    for fault in last["state"]["faults"]:
        kinds[fault["agent_id"]].add(fault["what"])
    assert host.id not in kinds
    for what, guest in guests.items():
        assert {what, "deadline"} <= kinds[guest.id]
    assert len({call["turn_id"] for call in good.calls}) == 11
    assert last["state"]["phase"] == "end"


def test_what_a_called_bot_says_of_another_game_goes_into_the_one_that_was_asked_about(platform: Platform) -> None:
    other = platform.table("ox")
    before = platform.events(other.game_id)
    guest = platform.guest("confused")

    def confused(handler: BaseHTTPRequestHandler, turn: Json) -> None:
        naming = {"game_id": other.game_id} if turn["last_error"] is None else {}
        answer(handler, json.dumps({**action_for(turn), **naming} if turn["actions"] else {}).encode())

    with called(confused) as bot:
        put(guest, bot)
        opened(guest, "ox", fill="house")
        last = eventually(bot.end_call, "the bot gets no call at the end of its game")
    mine = {fault["what"]: fault["count"] for fault in last["state"]["faults"]}
    assert mine.keys() == {"refused"}
    assert platform.events(other.game_id) == before


def test_a_kill_between_the_call_and_its_action_asks_again_and_doubles_nothing(platform: Platform) -> None:
    guest = platform.guest("interrupted")
    begun, free = threading.Event(), threading.Event()

    def slow_at_first(handler: BaseHTTPRequestHandler, turn: Json) -> None:
        if turn["actions"] and not begun.is_set():
            begun.set()
            free.wait()
        answer(handler, json.dumps(action_for(turn) if turn["actions"] else {}).encode())

    with called(slow_at_first) as bot:
        put(guest, bot)
        game_id = opened(guest, "ox", fill="house", deadline_seconds=0)["game_id"]
        assert begun.wait(60)
        for name in [name for name in platform.stack.run.processes if name.startswith("gateway")]:
            platform.stack.kill(name)
        free.set()
        eventually(bot.end_call, "no gateway takes over the seat")
    assert bot.keys[1] == bot.keys[0]
    assert bot.calls[1]["turn_id"] == bot.calls[0]["turn_id"]
    acted = [record for record in platform.records(game_id) if record["data"].get("agent_id") == guest.id]
    assert len([record for record in acted if record["type"] == "first_choice_submitted"]) == 5
