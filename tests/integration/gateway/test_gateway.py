"""The gateway's table and the sentences around it, row by row, over plain HTTP."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.integration.conftest import complete
from tests.integration.gateway.rows import (
    OPERATOR_KEY,
    Guest,
    Json,
    Platform,
    Sse,
    accepted,
    eventually,
    fault_fields,
    refused,
    together,
    unknown_game,
)

SPEAK = {"type": "speak", "text": "words"}
KEEP = {"type": "switch", "use_switch": False}
AGENT_ID = re.compile(r"agent-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def choice(letter: str = "O") -> dict[str, str]:
    return {"type": "first_choice", "choice": letter, "comment": "because"}


# Agents


def test_registering_gives_id_name_and_key_once(platform: Platform) -> None:
    made = accepted(platform.anonymous.post("/api/agents", {"name": "Ada"}), 201)
    assert list(made) == ["id", "handle", "name", "kind", "version", "about", "model", "api_key"]
    assert AGENT_ID.fullmatch(made["id"])
    again = accepted(platform.anonymous.post("/api/agents", {"name": "Ada"}), 201)
    assert again["id"] != made["id"]
    assert again["api_key"] != made["api_key"]


@pytest.mark.parametrize("name", ["x", "n" * 40, "\U0001f600" * 40, "  spaced  ", "이름", "a\u200bb"])
def test_a_name_is_kept_as_it_is(platform: Platform, name: str) -> None:
    assert platform.guest(name).name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "n" * 41,
        "a\nb",
        "a\x00b",
        "\x7f",
        "a\u202eb",
        "\u2066x",
        "\u200ea",
        "\u061c",
        "\ud800",
        7,
        None,
        ["a"],
        True,
        " ",
        "\u2800",
    ],
)
def test_a_bad_name_is_refused_with_its_field(platform: Platform, name: object) -> None:
    assert fault_fields(refused(platform.anonymous.post("/api/agents", {"name": name}), 400, "invalid_request")) == {
        "name"
    }


def test_me_tells_points_and_games_by_type(platform: Platform) -> None:
    guest = platform.guest("me")
    me = accepted(guest.get("/api/agents/me"))
    created_at = me["created_at"]
    assert me == {
        "id": guest.id, "handle": f"me-{guest.id[-6:]}", "name": "me", "kind": "bot", "version": None, "model": None,
        "about": None, "created_at": created_at, "owner": None, "points": 0,
        "points_by_type": {"trial": 0, "ox": 0}, "games": {"trial": 0, "ox": 0},
        "ratings": {"trial": None, "ox": None, "trial_slow": None, "ox_slow": None}, "notices": [],
    }  # fmt: skip


def test_a_new_key_voids_the_old_one_at_once(platform: Platform) -> None:
    guest = platform.guest()
    accepted(guest.get("/api/agents/me"))
    answer = accepted(guest.post("/api/agents/me/keys"), 201)
    assert list(answer) == ["api_key"]
    refused(guest.get("/api/agents/me"), 401, "unauthorized")
    assert accepted(Guest(guest.http, answer["api_key"]).get("/api/agents/me"))["id"] == guest.id


RATED = ("rating", "uncertainty", "provisional")


def test_points_reach_me_and_the_leaderboard(platform: Platform) -> None:
    table = platform.table("ox")
    table.ox(*["OOOOX"] * 5)

    def counted() -> Json | None:
        """A busy machine may count later than a request waits for it."""
        found = accepted(table[4].get("/api/agents/me"))
        return found if found["games"]["ox"] else None

    me: Json = eventually(counted, "the game does not count")
    assert (me["points"], me["points_by_type"], me["games"]) == (200, {"trial": 0, "ox": 200}, {"trial": 0, "ox": 1})
    seen, cursor = [], None
    while True:
        page = accepted(platform.anonymous.get("/api/leaderboard", limit=3, **({"cursor": cursor} if cursor else {})))
        assert list(page) == ["leaderboard", "next_cursor"]
        assert len(page["leaderboard"]) <= 3
        seen += page["leaderboard"]
        if (cursor := page["next_cursor"]) is None:
            break
    assert all(
        list(line) == ["rank", "id", "handle", "name", "kind", "model", "version", "points", "games", *RATED, "owner"]
        for line in seen
    )
    assert len({line["id"] for line in seen}) == len(seen)
    assert [line["points"] for line in seen] == sorted((line["points"] for line in seen), reverse=True)
    own = next(line for line in seen if line["id"] == table[4].id)
    assert (own["points"], own["games"]) == (200, 1)
    of_type = accepted(platform.anonymous.get("/api/leaderboard", gameType="ox", limit=1000))["leaderboard"]
    assert next(line for line in of_type if line["id"] == table[4].id)["points"] == 200
    trials = accepted(platform.anonymous.get("/api/leaderboard", gameType="trial", limit=1000))["leaderboard"]
    assert table[4].id not in {line["id"] for line in trials}
    assert sorted(accepted(guest.get("/api/agents/me"))["points"] for guest in table) == [55, 55, 55, 55, 200]


# Keys


@pytest.mark.parametrize("sent", ["Bearer nonsense", "Bearer", "", "Basic abc", "Bearer pm_" + "x" * 43])
@pytest.mark.parametrize("path", ["/api/games", "/api/agents/me", "/api/leaderboard", "/api/admin/games"])
def test_a_key_that_is_sent_must_be_valid(platform: Platform, path: str, sent: str) -> None:
    answer = platform.anonymous.get(path, headers={"Authorization": sent})
    refused(answer, 401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_who_may_call_what(platform: Platform) -> None:
    guest, waiting = platform.guest(), platform.guest().join("ox")
    for path in ("/api/agents/me", "/api/agents/me/turn", "/api/admin/games", "/api/admin/agents"):
        refused(platform.anonymous.get(path), 401, "unauthorized")
    refused(platform.anonymous.post("/api/games/join", {"gameType": "ox"}), 401, "unauthorized")
    refused(platform.anonymous.post(f"/api/games/{waiting}/leave"), 401, "unauthorized")
    refused(platform.anonymous.post(f"/api/games/{waiting}/actions", choice()), 401, "unauthorized")
    refused(guest.post(f"/api/games/{waiting}/actions", choice()), 403, "not_a_participant")
    refused(guest.post(f"/api/games/{waiting}/leave"), 403, "not_a_participant")
    for path in ("games", f"games/{waiting}", "agents", "lag", "log"):
        refused(guest.get(f"/api/admin/{path}"), 403, "operator_only")
    refused(guest.post(f"/api/admin/games/{waiting}/end", {"reason": "no"}), 403, "operator_only")
    refused(platform.operator.post("/api/games/join", {"gameType": "ox"}), 401, "unauthorized")


# Form


@pytest.mark.parametrize(
    "body", [b"", b"{", b"nope", b'{"name":"a"} x', b"\xff\xfe", b"NaN", b"[" * 50_000, b"[" * 700 + b"]" * 700]
)
def test_what_is_no_json_is_refused(platform: Platform, body: bytes) -> None:
    guest = platform.guest()
    game = platform.guest().join("ox")
    for path in ("agents", "games/join", f"games/{game}/actions", f"games/{unknown_game()}/actions"):
        answer = guest.ask("POST", f"/api/{path}", content=body, headers={"Idempotency-Key": "form"})
        refused(answer, 400, "invalid_request")


@pytest.mark.parametrize(
    "body", [[], "x", 1, None, True, {}, {"gameType": "chess"}, {"gameType": 1}, {"gametype": "ox"}]
)
def test_a_body_of_another_shape_is_refused(platform: Platform, body: object) -> None:
    answer = platform.guest().ask("POST", "/api/games/join", content=json.dumps(body))
    refused(answer, 400, "invalid_request")


def test_an_unknown_field_is_named(platform: Platform) -> None:
    problem = refused(platform.anonymous.post("/api/agents", {"name": "a", "color": "red"}), 400, "invalid_request")
    assert fault_fields(problem) == {"color"}


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/games?limit=0", "limit"), ("/api/games?limit=1001", "limit"), ("/api/games?limit=x", "limit"),
        ("/api/games?limit=1.5", "limit"), ("/api/games?limit=", "limit"), ("/api/games?limit=1&limit=2", "limit"),
        ("/api/games?colour=1", "colour"), ("/api/games?gameType=chess", "gameType"), ("/api/games?phase=x", "phase"),
        ("/api/leaderboard?gameType=", "gameType"), ("/api/games/{id}/events?after=-1", "after"),
        ("/api/games/{id}/state?after=x", "after"), ("/api/games/{id}/state?after=1&wait=-1", "wait"),
        ("/api/games/{id}/state?after=1&wait=soon", "wait"), ("/api/games/{id}/state?at=x", "at"),
        ("/api/games/{id}/state?at=1.0", "at"), ("/api/games/{id}/stream?after=x", "after"),
        ("/healthz?x=1", "x"),
    ],
)  # fmt: skip
def test_a_bad_query_value_is_named(platform: Platform, path: str, field: str) -> None:
    game = platform.guest().join("ox")
    problem = refused(platform.anonymous.get(path.replace("{id}", game)), 400, "invalid_request")
    assert fault_fields(problem) == {field}


def test_a_made_up_cursor_is_refused(platform: Platform) -> None:
    for path in ("/api/games", "/api/leaderboard"):
        refused(platform.anonymous.get(path, cursor="made-up"), 400, "invalid_request")
    refused(platform.operator.get("/api/admin/agents", cursor="made-up"), 400, "invalid_request")


def test_a_body_may_have_64_kib(platform: Platform) -> None:
    table = platform.table("ox")
    path = f"/api/games/{table.game_id}/actions"
    fits = json.dumps(choice()).ljust(65_536).encode()
    assert platform.anonymous.ask("POST", "/api/agents", content=b" " * 65_537).status_code == 413
    refused(table[0].ask("POST", path, content=fits + b" "), 413, "body_too_large")
    refused(table[0].ask("POST", path, content=iter([fits, b" "])), 413, "body_too_large")
    refused(Guest(platform.http, "wrong").ask("POST", path, content=fits + b" "), 401, "unauthorized")
    refused(table[0].ask("POST", f"/api/games/{unknown_game()}/actions", content=fits + b" "), 413, "body_too_large")
    accepted(table[0].ask("POST", path, content=fits))


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/api/games/join", "POST"), ("DELETE", "/api/agents", "GET, HEAD, POST"),
        ("PUT", "/api/games", "GET, HEAD, POST"),
        ("POST", "/api/leaderboard", "GET, HEAD"), ("GET", "/api/games/{id}/actions", "POST"),
        ("POST", "/api/games/{id}/state", "GET, HEAD"), ("PATCH", "/healthz", "GET, HEAD"),
        ("POST", "/api/agents/me", "GET, HEAD, PATCH"),
    ],
)  # fmt: skip
def test_a_wrong_method_is_told_the_right_one(platform: Platform, method: str, path: str, allow: str) -> None:
    answer = platform.anonymous.ask(method, path.replace("{id}", unknown_game()))
    refused(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == allow


@pytest.mark.parametrize(
    "game",
    [
        "nope", "ox", "ox-1", unknown_game().replace("ox", "chess"), unknown_game().upper().replace("OX", "ox"),
        unknown_game(),
        unknown_game("trial"), "ox.*", "%3E", "ox-%00", "ox-" + "0" * 36, f"{unknown_game()}%0A",
    ],
)  # fmt: skip
def test_an_id_of_no_game_is_not_found(platform: Platform, game: str) -> None:
    guest = platform.guest()
    for what in ("state", "events", "stream", "log"):
        refused(guest.get(f"/api/games/{game}/{what}"), 404, "not_found")
    refused(guest.post(f"/api/games/{game}/leave"), 404, "not_found")
    refused(guest.act(game, {"unknown": "field"}), 404, "not_found")
    refused(platform.operator.get(f"/api/admin/games/{game}"), 404, "not_found")
    refused(platform.operator.post(f"/api/admin/games/{game}/end", {"reason": "none"}), 404, "not_found")


def test_a_path_of_nothing_is_not_found(platform: Platform) -> None:
    for path in ("/nothing", "/api/nothing", "/api/games/", "/api/agents/me/nothing", "/skills/chess.md"):
        refused(platform.anonymous.get(path), 404, "not_found")


# Join, leave, list


def test_joining_tells_the_game_and_gives_it_back(platform: Platform) -> None:
    first, second = platform.guest(), platform.guest()
    seat = accepted(first.post("/api/games/join", {"gameType": "ox"}))
    assert list(seat) == ["game_id", "gameType", "phase", "seated", "needed"]
    assert re.fullmatch(r"ox-[0-9a-f-]{36}", seat["game_id"])
    assert {**seat, "game_id": ""} == {"game_id": "", "gameType": "ox", "phase": "waiting", "seated": 1, "needed": 5}
    assert accepted(first.post("/api/games/join", {"gameType": "ox"})) == seat
    assert accepted(second.post("/api/games/join", {"gameType": "ox"})) == {**seat, "seated": 2}
    trial = accepted(first.post("/api/games/join", {"gameType": "trial"}))
    assert (trial["seated"], trial["needed"], trial["gameType"]) == (1, 6, "trial")


def test_who_plays_gets_the_running_game_back(platform: Platform) -> None:
    table = platform.table("ox")
    seat = accepted(table[2].post("/api/games/join", {"gameType": "ox"}))
    assert seat == {"game_id": table.game_id, "gameType": "ox", "phase": "first_choice", "seated": 5, "needed": 5}
    table.ox(*["OOOOX"] * 5)
    assert table[2].join("ox") != table.game_id


def test_a_crowd_fills_games_exactly(platform: Platform) -> None:
    crowd = [platform.guest(f"crowd {number}") for number in range(15)]
    seats = together([lambda guest=guest: [guest.join("ox"), guest.join("ox")] for guest in crowd for _ in range(2)])
    by_guest = {number // 2: games for number, games in enumerate(seats)}
    assert all(len({*seats[2 * number], *seats[2 * number + 1]}) == 1 for number in by_guest)
    games = [seats[2 * number][0] for number in range(15)]
    assert sorted(games.count(game) for game in set(games)) == [5, 5, 5]


def test_leaving_frees_the_seat_while_the_game_waits(platform: Platform) -> None:
    guest, other = platform.guest(), platform.guest()
    game = guest.join("trial")
    assert accepted(guest.post(f"/api/games/{game}/leave")) == {"status": "left"}
    refused(guest.post(f"/api/games/{game}/leave"), 403, "not_a_participant")
    assert guest.state(game)["participants"] == []
    assert other.join("trial") == game
    assert [event["type"] for event in platform.events(game)] == [
        "game_created", "agent_joined", "agent_left", "agent_joined",
    ]  # fmt: skip
    refused(other.post(f"/api/games/{game}/leave", {"why": "bored"}), 400, "invalid_request")


def test_a_started_game_cannot_be_left(platform: Platform) -> None:
    table = platform.table("ox")
    assert table[0].post(f"/api/games/{table.game_id}/leave").status_code == 409
    refused(platform.guest().post(f"/api/games/{table.game_id}/leave"), 403, "not_a_participant")
    table.ox(*["OOOOX"] * 5)
    assert table[0].post(f"/api/games/{table.game_id}/leave").status_code == 409


def test_the_list_shows_games_newest_first_in_pages(platform: Platform) -> None:
    waiting = platform.guest().join("trial")
    table = platform.table("ox")
    page = accepted(platform.anonymous.get("/api/games", limit=2))
    assert list(page) == ["games", "next_cursor"]
    line = page["games"][0]
    assert list(line) == ["game_id", "gameType", "phase", "round", "seated", "needed", "created_at", "language", "pace"]
    assert TIME.fullmatch(line["created_at"])
    assert [one["game_id"] for one in page["games"]] == [table.game_id, waiting]
    assert (line["phase"], line["round"], line["seated"], line["needed"]) == ("first_choice", 1, 5, 5)
    seen, cursor = [], page["next_cursor"]
    seen += page["games"]
    while cursor:
        page = accepted(platform.anonymous.get("/api/games", limit=7, cursor=cursor))
        seen += page["games"]
        cursor = page["next_cursor"]
    assert len({one["game_id"] for one in seen}) == len(seen)
    order = [(one["created_at"], one["game_id"]) for one in seen]
    assert order == sorted(order, reverse=True)
    everything = accepted(platform.anonymous.get("/api/games", limit=1000))
    # Not the whole rows: games of other tests go on.
    assert [one["game_id"] for one in everything["games"]] == [one["game_id"] for one in seen]
    assert everything["next_cursor"] is None
    found = accepted(platform.anonymous.get("/api/games", gameType="trial", phase="waiting"))["games"]
    assert [one["game_id"] for one in found] == [waiting]


# Order of checks


def test_the_order_of_an_action_s_checks(platform: Platform) -> None:
    outsider, waiting = platform.guest(), platform.guest()
    game = waiting.join("ox")
    refused(platform.anonymous.ask("POST", f"/api/games/{game}/actions", content=b"{"), 401, "unauthorized")
    refused(outsider.ask("POST", "/api/games/nope/actions", content=b"{"), 400, "invalid_request")
    refused(outsider.act("nope", {}), 404, "not_found")
    refused(outsider.act(game, {"type": "nonsense"}), 403, "not_a_participant")
    refused(waiting.act(game, {"type": "nonsense"}), 400, "not_started")
    accepted(waiting.post(f"/api/games/{game}/leave"))
    accepted(platform.operator.post(f"/api/admin/games/{game}/end", {"reason": "empty"}))
    table = platform.table("ox")
    player, at = table[0], table.game_id
    unknown_field = {**choice(), "mood": "good"}
    refused(player.act(at, {**KEEP, "mood": "good"}), 400, "invalid_action")
    refused(player.act(at, {"type": "switch", "use_switch": 7}), 400, "wrong_phase")
    accepted(player.act(at, choice()))
    assert fault_fields(refused(player.act(at, unknown_field), 400, "invalid_action")) == {"mood"}
    refused(player.act(at, {**choice(), "choice": "Z"}), 409, "already_submitted")
    for other in table[1:]:
        accepted(other.act(at, choice()))
    table.switch(0)
    table.choose("OOOOX")
    refused(player.act(at, {"type": "switch", "use_switch": True, "comment": 7}), 400, "invalid_action")
    refused(player.act(at, {"type": "switch", "use_switch": True}), 400, "switch_unavailable")
    accepted(platform.operator.post(f"/api/admin/games/{at}/end", {"reason": "enough"}))
    refused(player.act(at, {"type": "nonsense"}), 409, "game_over")
    refused(outsider.act(at, {"type": "nonsense"}), 403, "not_a_participant")


# Idempotency


def test_a_repeat_gives_the_same_answer_and_no_second_effect(platform: Platform) -> None:
    table = platform.table("ox")
    path = f"/api/games/{table.game_id}/actions"
    first = table[0].post(path, choice(), idem="once")
    accepted(first)
    version = table[0].state(table.game_id)["version"]
    again = table[0].ask(
        "POST", path, content=b' {"comment":"because",  "choice":"O","type":"first_choice"}\n',
        headers={"Idempotency-Key": "once"},
    )  # fmt: skip
    assert (again.status_code, again.content) == (200, first.content)
    assert table[0].state(table.game_id)["version"] == version
    refused(table[0].post(path, choice("X"), idem="once"), 422, "idempotency_mismatch")
    accepted(table[1].post(path, choice("X"), idem="once"))
    refused(table[0].post(path, choice("X"), idem="twice"), 409, "already_submitted")
    for guest in table[2:]:
        accepted(guest.act(table.game_id, choice()))
    accepted(table[0].post(path, KEEP, idem="twice"))
    accepted(platform.operator.post(f"/api/admin/games/{table.game_id}/end", {"reason": "enough"}))
    assert table[0].post(path, choice(), idem="once").content == first.content
    refused(table[0].post(path, choice("X"), idem="once"), 422, "idempotency_mismatch")
    refused(platform.guest().post(path, choice(), idem="once"), 403, "not_a_participant")
    refused(table[0].post(path, choice(), idem="thrice"), 409, "game_over")


def test_a_pass_is_remembered_too(platform: Platform) -> None:
    table = platform.table("trial")
    table.to_vote()
    judge = table.role("JUDGE")[0]
    passed = accepted(judge.act(table.game_id, SPEAK, idem="pass"))
    assert (passed["status"], passed["hash"], passed["phase"]) == ("pass", None, "jury_vote")
    table.vote("GUILTY", "GUILTY", "GUILTY")
    assert accepted(judge.act(table.game_id, SPEAK, idem="pass")) == passed
    refused(judge.act(table.game_id, {"type": "nonsense"}, idem="pass"), 422, "idempotency_mismatch")
    assert judge.state(table.game_id)["phase"] == "verdict"


def test_of_two_joins_at_once_with_one_key_and_two_bodies_one_takes_effect(platform: Platform) -> None:
    for round_ in range(5):
        guest = platform.guest()

        def join(game_type: str, key: str = f"both-{round_}", guest: Guest = guest) -> Any:
            return guest.post("/api/games/join", {"gameType": game_type}, idem=key)

        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(join, ["ox", "trial"] * 2))
        assert sorted(answer.status_code for answer in answers) == [200, 200, 422, 422]
        took = "ox" if answers[0].status_code == 200 else "trial"
        seat = accepted(answers[0] if took == "ox" else answers[1])
        assert accepted(join(took)) == seat
        accepted(guest.post(f"/api/games/{seat['game_id']}/leave"))


def test_joins_leaves_and_ends_are_repeated_safely(platform: Platform) -> None:
    guest = platform.guest()
    seat = accepted(guest.post("/api/games/join", {"gameType": "ox"}, idem="j"))
    platform.guest().join("ox")
    assert accepted(guest.post("/api/games/join", {"gameType": "ox"}, idem="j")) == seat
    refused(guest.post("/api/games/join", {"gameType": "trial"}, idem="j"), 422, "idempotency_mismatch")
    game = seat["game_id"]
    assert accepted(guest.post(f"/api/games/{game}/leave", idem="l")) == {"status": "left"}
    assert accepted(guest.post(f"/api/games/{game}/leave", idem="l")) == {"status": "left"}
    assert accepted(guest.post(f"/api/games/{game}/leave", {}, idem="l")) == {"status": "left"}
    path = f"/api/admin/games/{game}/end"
    ended = accepted(platform.operator.post(path, {"reason": "why"}, idem="e"))
    assert accepted(platform.operator.post(path, {"reason": "why"}, idem="e")) == ended
    refused(platform.operator.post(path, {"reason": "other"}, idem="e"), 422, "idempotency_mismatch")
    refused(platform.operator.post(path, {"reason": "why"}), 409, "game_over")


@pytest.mark.parametrize("_", range(3))
def test_both_of_a_pair_at_once_get_one_answer(platform: Platform, _: int) -> None:
    table = platform.table("ox")
    path = f"/api/games/{table.game_id}/actions"
    answers = together([lambda: table[0].post(path, choice(), idem="pair")] * 8)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    kinds = [event["type"] for event in platform.events(table.game_id)]
    assert kinds.count("first_choice_submitted") == 1


@pytest.mark.parametrize("key", ["", "a b", "k" * 201, "ключ".encode(), "tab\tbed"])
def test_a_malformed_key_is_refused(platform: Platform, key: "str | bytes") -> None:
    table = platform.table("ox")
    sent = {"Idempotency-Key": key}
    path = f"/api/games/{table.game_id}/actions"
    refused(table[0].ask("POST", path, content=json.dumps(choice()), headers=sent), 400, "invalid_request")
    refused(table[0].ask("POST", "/api/games/join", content=b'{"gameType":"ox"}', headers=sent), 400, "invalid_request")
    accepted(table[0].post(path, choice(), idem="!" * 100 + "~" * 100))


# States


def test_a_long_poll_answers_as_soon_as_something_happens(platform: Platform) -> None:
    table = platform.table("ox")
    version = table[0].state(table.game_id)["version"]
    assert platform.anonymous.state(table.game_id, after=version)["version"] == version
    before = time.monotonic()
    assert platform.anonymous.state(table.game_id, after=version, wait=1)["version"] == version
    assert 0.9 < time.monotonic() - before < 15
    before = time.monotonic()
    assert platform.anonymous.state(table.game_id, after=version - 1, wait=30)["version"] == version
    assert time.monotonic() - before < 15, "long before the wait is over"
    with ThreadPoolExecutor(2) as pool:
        own = pool.submit(lambda: table[1].state(table.game_id, after=version, wait=999))
        spectator = pool.submit(lambda: platform.anonymous.state(table.game_id, after=version, wait="20.5"))
        time.sleep(0.3)
        before = time.monotonic()
        table.does(table[0], choice())
        assert own.result()["version"] == spectator.result()["version"] == version + 1
        assert time.monotonic() - before < 15, "long before the wait is over"
    assert own.result()["self"]["id"] == table[1].id
    assert "self" not in spectator.result()


def test_the_turn_comes_to_who_is_wanted(platform: Platform) -> None:
    guest = platform.guest()
    answer = guest.get("/api/agents/me/turn")
    assert (answer.status_code, answer.content) == (204, b"")
    game = guest.join("ox")
    assert guest.get("/api/agents/me/turn", wait=0).status_code == 204
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: accepted(guest.get("/api/agents/me/turn", wait=20)))
        others = [platform.guest() for _ in range(4)]
        for other in others:
            other.join("ox")
        turn = waiting.result()
    assert list(turn) == ["game_id", "gameType", "state", "actions", "over", "turn_id"]
    assert (turn["game_id"], turn["gameType"]) == (game, "ox")
    assert turn["state"] | {"seconds_left": 0} == guest.state(game) | {"seconds_left": 0}
    assert [list(offer) for offer in turn["actions"]] == [["type", "schema"]]
    assert turn["actions"][0]["type"] == "first_choice"
    assert set(turn["actions"][0]["schema"]["properties"]) == {"type", "choice", "comment", "turn_id"}
    guest.does(game, choice())
    assert guest.get("/api/agents/me/turn", wait="0.2").status_code == 204
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: accepted(guest.get("/api/agents/me/turn", wait=20)))
        for other in others:
            other.does(game, choice())
        assert waiting.result()["actions"][0]["type"] == "switch"


def test_events_come_in_pages(platform: Platform) -> None:
    table = platform.table("ox")
    table.choose("OXOXO")
    head = table[0].state(table.game_id)["version"]
    page = accepted(platform.anonymous.get(f"/api/games/{table.game_id}/events"))
    assert list(page) == ["events", "next_after"]
    assert [event["version"] for event in page["events"]] == list(range(1, head + 1))
    assert page["next_after"] == head
    after, seen = 0, []
    while True:
        part = accepted(table[0].get(f"/api/games/{table.game_id}/events", after=after, limit=4))
        if not part["events"]:
            break
        assert part["next_after"] == part["events"][-1]["version"]
        after = part["next_after"]
        seen += part["events"]
    assert seen == page["events"]
    assert part["next_after"] == head
    beyond = accepted(platform.anonymous.get(f"/api/games/{table.game_id}/events", after=head + 7))
    assert beyond == {"events": [], "next_after": head + 7}


def test_time_travel(platform: Platform) -> None:
    table = platform.table("ox")
    table.choose("OXOXO", "secret words")
    path = f"/api/games/{table.game_id}/state"
    head = table[0].state(table.game_id)["version"]
    for at in range(1, head + 1):
        state = table[0].state(table.game_id, at=at)
        assert state["version"] == at
        assert "self" not in state
    now = platform.anonymous.state(table.game_id)
    assert platform.anonymous.state(table.game_id, at=head) == now | {"seconds_left": None}
    inside = platform.anonymous.state(table.game_id, at=head - 1)
    assert (inside["phase"], inside["phase_submissions"]) == ("first_choice", {"submitted": 5, "total": 5})
    assert "secret words" not in json.dumps(inside)
    for at in (0, -1, head + 1, 2**53):
        refused(platform.anonymous.get(path, at=at), 404, "not_found")
    refused(table[0].get(path, at=head, seat=table[0].id), 409, "not_finished")
    refused(table[0].get(path, seat=table[0].id), 409, "not_finished")
    table.switch(0)
    table.ox(*["OOOOX"] * 4)
    seat = platform.anonymous.state(table.game_id, at=head - 1, seat=table[1].id)
    assert seat["self"]["id"] == table[1].id
    assert seat["self"]["first_choice"] == "X"
    assert seat["reveal"] == []
    assert platform.anonymous.state(table.game_id, seat=table[1].id) == table[1].state(table.game_id)
    refused(platform.anonymous.get(path, at=head, seat=platform.guest().id), 404, "not_found")
    refused(platform.anonymous.get(path, at=0, seat=table[0].id), 404, "not_found")
    refused(platform.anonymous.get(path, at=3, after=1), 400, "invalid_request")


# Streams


def test_the_stream_tells_the_caller_s_own_secrets(platform: Platform) -> None:
    table = platform.table("ox")
    path = f"/api/games/{table.game_id}/stream"
    key = {"Authorization": f"Bearer {table[0].key}"}
    with Sse(platform.http, path, **key) as own, Sse(platform.http, path) as others:
        assert own.answer.headers["content-type"].startswith("text/event-stream")
        table.choose("OXOXO", "mine alone")
        table.switch()
        accepted(platform.operator.post(f"/api/admin/games/{table.game_id}/end", {"reason": "enough"}))
        mine, theirs = list(own), list(others)
    assert [data for _, data in theirs] == platform.raw_events(table.game_id)
    assert [identifier for identifier, _ in mine] == list(range(1, len(mine) + 1))
    assert json.loads(mine[-1][1])["type"] == "game_aborted"
    for (_, own_data), (_, public) in zip(mine, theirs, strict=True):
        own_event, event = json.loads(own_data), json.loads(public)
        secret = {
            name: own_event.pop(name) for name in ("choice", "comment") if name in own_event and name not in event
        }
        assert own_event == event
        is_own = event["type"] == "first_choice_submitted" and event["agent_id"] == table[0].id
        assert secret == ({"choice": "O", "comment": "mine alone"} if is_own else {})


def test_a_stream_goes_on_where_it_is_told(platform: Platform) -> None:
    table = platform.table("ox")
    table.ox(*["OOOOX"] * 5)
    events = platform.raw_events(table.game_id)
    path = f"/api/games/{table.game_id}/stream"
    for query, headers, after in (
        ("?after=7", {}, 7), ("?after=7", {"Last-Event-ID": "9"}, 9), ("", {"Last-Event-ID": "0"}, 0), ("", {}, 0),
        (f"?after={len(events)}", {}, len(events)),
    ):  # fmt: skip
        with Sse(platform.http, path + query, **headers) as stream:
            assert list(stream) == list(enumerate(events, 1))[after:]
    refused(platform.anonymous.get(path, headers={"Last-Event-ID": "junk"}), 400, "invalid_request")
    refused(platform.anonymous.get(path, after="-1"), 400, "invalid_request")
    refused(platform.anonymous.get(path, headers={"Authorization": "Bearer wrong"}), 401, "unauthorized")


def test_the_log_opens_with_the_end(platform: Platform) -> None:
    table = platform.table("ox")
    path = f"/api/games/{table.game_id}/log"
    for guest in (table[0], platform.anonymous):
        refused(guest.get(path), 403, "not_finished")
    running = platform.records(table.game_id, platform.operator)
    assert [record["version"] for record in running] == list(range(1, len(running) + 1))
    accepted(platform.operator.post(f"/api/admin/games/{table.game_id}/end", {"reason": "enough"}))
    for guest in (table[0], platform.anonymous):
        assert platform.records(table.game_id, guest)[: len(running)] == running


# Admin


def test_the_operator_sees_all(platform: Platform) -> None:
    table = platform.table("ox")
    table.does(table[0], choice("X"))
    games = accepted(platform.operator.get("/api/admin/games"))
    assert list(games) == ["games", "next_cursor"]
    assert games["games"][0]["game_id"] == table.game_id
    stuck = accepted(platform.operator.get("/api/admin/games", stuck="true"))["games"]
    assert table.game_id not in [line["game_id"] for line in stuck], "a game is stuck after ten minutes, not at once"
    page = accepted(platform.operator.get(f"/api/admin/games/{table.game_id}"))
    assert page["game_id"] == table.game_id
    assert page["config"]["ox_state"]["agents"][table[0].id]["first_choice"] == "X"
    assert "seed" not in json.dumps(page)
    agents, cursor = [], None
    while True:
        some = accepted(platform.operator.get("/api/admin/agents", limit=500, **({"cursor": cursor} if cursor else {})))
        agents += some["agents"]
        if (cursor := some["next_cursor"]) is None:
            break
    assert {guest.id for guest in table} <= {agent["id"] for agent in agents}
    assert "pm_" not in json.dumps(agents)
    accepted(platform.operator.get("/api/admin/lag"))
    log = accepted(platform.operator.get("/api/admin/log", after=3, limit=5))
    assert [record["position"] for record in log["records"]] == [4, 5, 6, 7, 8]
    assert log["next_after"] == 8


def test_an_ended_game_closes_without_points(platform: Platform) -> None:
    table = platform.table("trial")
    table.speak_all()
    path = f"/api/admin/games/{table.game_id}/end"
    for body in ({}, {"reason": ""}, {"reason": " \n"}, {"reason": "r" * 201}, {"reason": 1}, {"reason": "a\x00"}):
        refused(platform.operator.post(path, body), 400, "invalid_request")
    version = table[0].state(table.game_id)["version"]
    accepted(platform.operator.post(path, {"reason": " rain "}))
    last = platform.events(table.game_id)[-1]
    assert TIME.fullmatch(last.pop("at"))
    assert [(fault["kind"], fault["what"]) for fault in last.pop("faults")] == [("operator", "ended")] * 6
    assert last == {"type": "game_aborted", "reason": "rain", "game_id": table.game_id, "version": version + 1}
    state = table[0].state(table.game_id)
    assert (state["phase"], state["results"], state["allowed_actions"]) == ("aborted", None, [])
    assert state["phase_submissions"] == {"submitted": 0, "total": 0}
    assert [accepted(guest.get("/api/agents/me"))["points"] for guest in table] == [0] * 6
    assert [accepted(guest.get("/api/agents/me"))["games"]["trial"] for guest in table] == [0] * 6
    seen, code = platform.watched(f"/ws/games/{table.game_id}")
    assert (seen, code) == (platform.raw_events(table.game_id), 1000)
    assert table[0].join("trial") != table.game_id
    assert accepted(table[0].get("/api/agents/me/turn"))["over"] is True
    assert table[0].get("/api/agents/me/turn").status_code == 204
    listed = accepted(platform.anonymous.get("/api/games", phase="aborted", gameType="trial"))["games"]
    assert table.game_id in {line["game_id"] for line in listed}


# Operation and documents


def test_every_service_tells_its_health(platform: Platform) -> None:
    run = platform.stack.run
    for ready in run.health.values():
        for url in (ready, ready.replace("readyz", "healthz")):
            assert platform.http.get(url).status_code == 200, url
    for path in ("/readyz", "/readyz?self"):
        parts = accepted(platform.anonymous.get(path))["parts"]
        assert {"nats", "postgres"} <= set(parts)
        assert all(parts.values())
    metrics = platform.anonymous.get("/metrics")
    assert metrics.headers["content-type"].startswith("text/plain")
    assert "playmolt" in metrics.text


def test_the_documents_are_there(platform: Platform) -> None:
    document = accepted(platform.anonymous.get("/openapi.json"))
    assert document["openapi"].startswith("3.1")
    assert platform.anonymous.get("/docs").headers["content-type"].startswith("text/html")
    llms = platform.anonymous.get("/llms.txt").text
    assert "/api/games/join" in llms
    for game in ("trial", "ox"):
        skill = platform.anonymous.get(f"/skills/{game}.md")
        assert skill.headers["content-type"].startswith("text/markdown")
        assert "{{" not in skill.text
        assert "already_submitted" in skill.text


def test_no_key_is_shown_twice(platform: Platform) -> None:
    table = platform.table("ox")
    table.ox(*["OOOOX"] * 5)
    everything = platform.anonymous.get(f"/api/games/{table.game_id}/log").text
    everything += platform.operator.get("/api/admin/agents", limit=1000).text
    everything += (
        platform.operator.get(f"/api/admin/games/{table.game_id}").text + platform.anonymous.get("/metrics").text
    )
    assert not [guest for guest in table if guest.key and guest.key in everything]
    assert OPERATOR_KEY not in everything


def test_a_restarting_engine_is_invisible_to_a_bot(platform: Platform) -> None:
    guest = platform.guest()
    game = guest.join("ox")
    platform.stack.kill("ox-engine-1")
    assert guest.state(game)["phase"] == "waiting"
    complete(platform.stack)
