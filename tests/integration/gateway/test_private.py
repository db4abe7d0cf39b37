"""Private games: to who has not the invite there is no such game, until it is over."""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from tests.integration.gateway.rows import (
    Guest,
    Json,
    Platform,
    Sse,
    accepted,
    eventually,
    fault_fields,
    refused,
    unknown_game,
)


def opened(guest: Guest, **wanted: Any) -> Json:
    return accepted(guest.post("/api/games", {"gameType": "ox", **wanted}), 201)


def calls(guest: Guest, game: str, invite: str | None) -> Iterator[httpx.Response]:
    """What one who does not sit there may ask of a game, whose id is kept out of what is compared."""
    query = {} if invite is None else {"invite": invite}
    for path in ("state", "events", "stream", "log"):
        yield guest.get(f"/api/games/{game}/{path}", **query)
    yield guest.get(f"/api/games/{game}/state", at=1, **query)
    yield guest.get(f"/api/games/{game}/state", after=0, wait=0.1, **query)


def writes(guest: Guest, game: str) -> Iterator[httpx.Response]:
    yield guest.act(game, {"type": "first_choice", "choice": "O", "comment": "x"})
    yield guest.post(f"/api/games/{game}/leave")
    yield guest.post(f"/api/games/{game}/resign")
    yield guest.post(f"/api/games/{game}/forfeit", {"what": "mine"})


def test_an_opener_sits_in_a_game_that_only_its_invite_leads_to(platform: Platform) -> None:
    host = platform.guest("host")
    game = opened(host)
    assert list(game) == ["game_id", "gameType", "invite", "phase"]
    assert (game["gameType"], game["phase"]) == ("ox", "waiting")
    assert re.fullmatch("[a-z2-7]{26}", game["invite"])
    state = host.state(game["game_id"])
    assert (state["invite"], state["private"], state["rated"]) == (game["invite"], True, False)
    assert accepted(host.post("/api/games/join", {"gameType": "ox"}))["game_id"] == game["game_id"], "given back"
    stranger = platform.guest("stranger")
    assert accepted(stranger.post("/api/games/join", {"gameType": "ox"}))["game_id"] != game["game_id"]
    problem = refused(stranger.post("/api/games", {"gameType": "ox"}), 409, "already_seated")
    assert problem["game_id"]
    refused(stranger.post("/api/games/join", {"gameType": "ox", "invite": game["invite"]}), 409, "already_seated")


def test_a_repeat_gives_the_same_game_and_invite(platform: Platform) -> None:
    host = platform.guest("host")
    first = host.post("/api/games", {"gameType": "ox"}, idem="once")
    assert host.post("/api/games", {"gameType": "ox"}, idem="once").content == first.content
    refused(host.post("/api/games", {"gameType": "trial"}, idem="once"), 422, "idempotency_mismatch")


def test_without_the_invite_there_is_no_such_game(platform: Platform) -> None:
    table, invite = platform.private_table()
    stranger, nowhere = platform.guest("stranger"), unknown_game()
    for guest in (stranger, platform.anonymous):
        for wrong in (None, "a" * 26, "wrong", invite.upper()):
            for asked, unknown in zip(calls(guest, table.game_id, wrong), calls(guest, nowhere, wrong), strict=True):
                refused(asked, 404, "not_found")
                assert asked.content == unknown.content
    for asked, unknown in zip(writes(stranger, table.game_id), writes(stranger, nowhere), strict=True):
        refused(asked, 404, "not_found")
        assert asked.content == unknown.content
    wrong_invite = stranger.post("/api/games/join", {"gameType": "ox", "invite": "a" * 26})
    assert refused(wrong_invite, 404, "not_found") == platform.anonymous.get(f"/api/games/{nowhere}/state").json()

    for path in ("", "?invite=wrong", f"?invite={invite}&invite={invite}"):
        url = f"{platform.spectator}/sse/games/{{}}{path}"
        seen = [platform.http.get(url.format(game)) for game in (table.game_id, nowhere)]
        assert [answer.status_code for answer in seen] == [404, 404]
        assert seen[0].content == seen[1].content
        with pytest.raises(InvalidStatus) as refusal, platform.socket(f"/ws/games/{table.game_id}{path}"):
            pass
        assert refusal.value.response.status_code == 404


def test_it_is_in_no_list_until_it_is_over(platform: Platform) -> None:
    table, invite = platform.private_table(language="en", deadline_seconds=0)
    state = table[0].state(table.game_id)
    assert (state["language"], state["deadline"]) == ("en", None)
    assert "invite" not in state, "it is full"
    assert re.search("[a-z]{3}", state["question"])

    def lists() -> str:
        paths = ("/api/games?limit=1000", f"/api/games?agent={table[0].id}", f"/api/agents/{table[0].id}", "/metrics")
        return "".join(platform.anonymous.ask("GET", path).text for path in paths)

    assert table.game_id not in lists()
    listed = accepted(platform.operator.get("/api/admin/games", gameType="ox", limit=1000))["games"]
    assert table.game_id in {line["game_id"] for line in listed}, "the operator sees all"
    assert platform.operator.get(f"/api/games/{table.game_id}/state").status_code == 200
    late = platform.guest().post("/api/games/join", {"gameType": "ox", "invite": invite})
    refused(late, 409, "already_started")
    assert late.json()["game_id"] == table.game_id, "who comes late may watch"

    watched = f"/sse/games/{table.game_id}?invite={invite}"
    with Sse(platform.http, platform.spectator + watched) as feed:
        table.ox(*["OOOOX"] * 5)
        events = list(feed)
    assert [json.loads(event)["version"] for _, event in events] == list(range(1, len(events) + 1))
    state = platform.anonymous.state(table.game_id)
    assert (state["phase"], state["private"], state["rated"]) == ("end", True, False)
    closing = platform.events(table.game_id)[-1]
    assert (closing["type"], closing["private"], closing["rated"]) == ("game_end", True, False)
    assert sorted(line["points"] for line in state["results"]) == [55, 55, 55, 55, 200]
    (line,) = accepted(platform.anonymous.get("/api/games", agent=table[0].id))["games"]
    assert (line["game_id"], line["private"], line["language"]) == (table.game_id, True, "en")
    for seat in table:
        profile = accepted(platform.anonymous.get(f"/api/agents/{seat.id}"))
        assert (profile["points"], profile["games"]["ox"], profile["ratings"]["ox"]) == (0, 0, None)
        assert [(game["game_id"], game["rated"]) for game in profile["recent"]] == [(table.game_id, False)]

    everything = platform.records(table.game_id)
    assert invite not in json.dumps(everything)
    assert hashlib.sha256(invite.encode()).hexdigest() == everything[0]["data"]["config"]["invite_sha256"]


def test_the_last_one_to_leave_ends_it(platform: Platform) -> None:
    host = platform.guest("host")
    game = opened(host)
    (other,) = platform.invited(game["invite"], 1)
    accepted(host.post(f"/api/games/{game['game_id']}/leave"))
    assert other.state(game["game_id"])["phase"] == "waiting"
    accepted(other.post(f"/api/games/{game['game_id']}/leave"))
    last = platform.events(game["game_id"])[-1]
    assert (last["type"], last["reason"], last["faults"]) == ("game_aborted", "abandoned", [])
    assert opened(host)["game_id"] != game["game_id"], "free for another one"


def test_which_games_want_house_bots_is_the_houses_and_the_operators_to_know(platform: Platform) -> None:
    now, later, never = (platform.guest() for _ in range(3))
    wanted = opened(now, fill="house", language="zh")
    others = {opened(later, fill="house", fill_after_seconds=600)["game_id"], opened(never)["game_id"]}
    state = eventually(
        lambda: (seen := now.state(wanted["game_id"]))["phase"] != "waiting" and seen, "the house takes the seats"
    )
    assert [seat["kind"] for seat in state["participants"]] == ["bot", *["house"] * 4]
    listed = accepted(platform.operator.get("/api/house/games"))["games"]
    assert not {game["game_id"] for game in listed} & others, "not yet, and never"
    for stranger in (platform.anonymous, now):
        refused(stranger.get("/api/house/games"), 403, "operator_only")


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"fill_after_seconds": 5}, "fill_after_seconds"),
        ({"fill": "house", "fill_after_seconds": 601}, "fill_after_seconds"),
        ({"fill": "house", "fill_after_seconds": -1}, "fill_after_seconds"),
        ({"fill": "nobody"}, "fill"),
        ({"deadline_seconds": 3601}, "deadline_seconds"),
        ({"deadline_seconds": -1}, "deadline_seconds"),
        ({"rated": True}, "rated"),
        ({"language": "fr"}, "language"),
        ({"gameType": "chess"}, "gameType"),
    ],
)
def test_what_cannot_be_wanted_is_named(platform: Platform, wanted: Json, field: str) -> None:
    problem = refused(platform.guest().post("/api/games", {"gameType": "ox", **wanted}), 400, "invalid_request")
    assert fault_fields(problem) == {field}


def test_public_games_of_another_language_are_other_lobbies(platform: Platform) -> None:
    korean, english, third = (platform.guest() for _ in range(3))
    games = [
        accepted(guest.post("/api/games/join", {"gameType": "ox", **wanted}))
        for guest, wanted in ((korean, {}), (english, {"language": "en"}), (third, {"language": "ko"}))
    ]
    assert games[0]["game_id"] == games[2]["game_id"] != games[1]["game_id"]
    assert english.state(games[1]["game_id"])["language"] == "en"

    def heard() -> bool:
        with platform.socket("/ws/lobby") as socket:
            message = json.loads(socket.recv(timeout=60))
            while message.get("game_id") != games[1]["game_id"]:
                message = json.loads(socket.recv(timeout=60))
        return bool(message["language"] == "en")

    assert eventually(heard, "the lobby says the language")


def test_people_play_private_games_alone_unless_the_operator_opens_public_ones(platform: Platform) -> None:
    made = accepted(platform.anonymous.post("/api/agents", {"name": "Kim", "kind": "person"}), 201)
    person = Guest(platform.http, made["api_key"], made["id"], made["name"])
    refused(person.post("/api/games/join", {"gameType": "ox"}), 403, "people_closed")
    cup = {"name": "Cup", "game_type": "ox", "format": "swiss", "min_entrants": 5, "max_entrants": 10}
    tournament = accepted(platform.operator.post("/api/tournaments", cup), 201)["id"]
    refused(person.post(f"/api/tournaments/{tournament}/join", {}), 403, "people_closed")
    refused(person.post("/api/games/join", {"gameType": "ox", "language": "en", "pace": "slow"}), 403, "people_closed")
    assert accepted(platform.anonymous.get("/api/games", agent=person.id))["games"] == []

    host = platform.guest("host")
    game = opened(host)
    joined = accepted(person.post("/api/games/join", {"gameType": "ox", "invite": game["invite"]}))
    assert joined["game_id"] == game["game_id"]
    assert accepted(person.post("/api/games/join", {"gameType": "ox"}))["game_id"] == game["game_id"], "given back"
    seats = {seat["id"]: seat["kind"] for seat in host.state(game["game_id"])["participants"]}
    assert seats == {host.id: "bot", person.id: "person"}
