"""The table of calls is the API that the gateway mounts, no more and no less."""

import json
from typing import Any

import msgspec
import playmolt
import pytest
from playmolt import calls
from playmolt_schemas.games.jury import NoteReply
from playmolt_schemas.routes import agora, jury, legal, owners, platform
from playmolt_schemas.routes.route import Route

GAME = "ox-00000000-0000-4000-8000-000000000000"
CALLS: list[tuple[str, calls.Request[Any]]] = [
    ("register_agent", calls.register("ada")),
    ("read_me", calls.me()),
    ("list_agents", calls.agents("ad", limit=5)),
    ("read_agent", calls.agent(GAME)),
    ("update_me", calls.update_me(version="2")),
    ("rotate_key", calls.rotate_key()),
    ("put_callback", calls.put_callback("https://bot.example/turns")),
    ("read_callback", calls.callback()),
    ("end_callback", calls.end_callback()),
    ("open_owner", calls.open_owner("Ada", "ada@example.org")),
    ("recover_owner", calls.recover_owner("owner-1", "code")),
    ("read_owner", calls.owner()),
    ("erase_owner", calls.erase_owner()),
    ("replace_codes", calls.replace_codes()),
    ("register_owned_agent", calls.register_owned("bot", version="1")),
    ("claim_agent", calls.claim("pm_key")),
    ("release_agent", calls.release(GAME)),
    ("remove_sign_in", calls.remove_sign_in(GAME)),
    ("replace_agent_key", calls.replace_agent_key(GAME)),
    ("wait_for_turn", calls.turn(wait=5)),
    ("read_leaderboard", calls.leaderboard("ox", limit=5, cursor="c")),
    ("read_leaderboard", calls.leaderboard("ox", by="rating", kind="house", version="all")),
    ("read_leaderboard", calls.leaderboard("ox", by="rating", version="best", pace="slow", active=False)),
    ("read_leaderboard", calls.scores()),
    ("read_leaderboard", calls.scores("model", kind="house", limit=5, cursor="c")),
    ("read_game_type", calls.game_type("trial")),
    ("join_game", calls.join("ox")),
    ("join_game", calls.join("ox", language="en", invite="a" * 26)),
    ("list_games_to_fill", calls.games_to_fill()),
    ("open_game", calls.open_game("ox", language="zh", fill="house", fill_after_seconds=5, deadline_seconds=60)),
    ("list_games", calls.games("trial", phase="waiting", limit=1, cursor="c")),
    ("leave_game", calls.leave(GAME)),
    ("resign", calls.resign(GAME)),
    ("forfeit", calls.forfeit(GAME, "timeout", kind="provider")),
    ("act", calls.act(GAME, {"type": "vote"})),
    ("read_state", calls.state(GAME, after=1, wait=5)),
    ("read_state", calls.state(GAME, at=1)),
    ("read_state", calls.state(GAME, seat="agent-1")),
    ("read_events", calls.events_page(GAME, after=3)),
    ("stream_events", calls.request(platform.STREAM_EVENTS, GAME, query={"after": 3})),
    ("read_log", calls.log(GAME)),
]


@pytest.mark.parametrize(("name", "request_"), CALLS)
def test_a_call_is_a_declared_route(name: str, request_: calls.Request[Any]) -> None:
    route = next(route for route in platform.ROUTES if route.name == name)
    path = route.path.replace("{type}", "trial")
    assert (request_.method, request_.path.replace(GAME, "{id}")) == (route.method, path)
    assert bool(request_.idempotency_key) == route.idempotent
    msgspec.convert(request_.query, route.query)
    if isinstance(route.request, type):
        msgspec.json.decode(request_.body or b"", type=route.request)


def test_every_route_for_agents_has_a_call() -> None:
    assert {route.name for route in (*platform.AGENTS, *owners.OWNERS, *platform.GAMES)} == {name for name, _ in CALLS}


def test_ids_are_escaped_in_paths() -> None:
    assert calls.state("../me?x").path == "/api/games/..%2Fme%3Fx/state"


def test_each_call_has_a_key_of_its_own() -> None:
    assert calls.join("ox").idempotency_key != calls.join("ox").idempotency_key


def test_exported_members() -> None:
    exported = {name: getattr(playmolt, name) for name in playmolt.__all__}
    errors = {
        name
        for name, thing in vars(playmolt.errors).items()
        if isinstance(thing, type) and issubclass(thing, Exception)
    }
    assert errors <= set(exported)


@pytest.mark.parametrize(
    ("route", "status", "body", "answer"),
    [
        (platform.WAIT_FOR_TURN, 204, b"", None),
        (platform.READ_STATE, 200, b'{"phase":"end"}', {"phase": "end"}),
        (platform.READ_LOG, 200, b"", []),
        (legal.READ_REPORT, 200, b"# Report", b"# Report"),
        (jury.NOTES, 200, b'{"notes_left":1}', NoteReply(notes_left=1)),
        (agora.REPORT, 202, b'{"status":"running"}', {"status": "running"}),
    ],
    ids=lambda value: value.name if isinstance(value, Route) else "",
)
def test_an_answer_is_read_as_its_route_declares(route: Route[Any], status: int, body: bytes, answer: Any) -> None:
    assert calls.request(route, *route.parameters).read(status, body) == answer


def test_a_slow_call_is_waited_for_as_long_as_the_gateway_holds_it() -> None:
    assert calls.request(jury.VOTE, "jury-1").wait == calls.SLOW_SECONDS
    assert calls.turn(wait=5).wait == 5
    assert calls.me().wait == 0


def test_each_kind_of_leaderboard_is_read_as_its_own_type() -> None:
    """One route has both; the call says which."""
    row = {"rank": 1, "id": "a", "handle": "a", "name": "A", "kind": "bot", "model": None, "games": 20}
    scored = row | {"score": 1.5, "low": 1.0, "high": 2.0, "types": ["ox"], "owner": None}
    scores = {"leaderboard": [scored], "next_cursor": None, "as_of": "2026-11-25T12:00:00Z", "unconnected": 1}
    page = calls.scores().read(200, json.dumps(scores).encode())
    assert (page.leaderboard[0].score, page.unconnected) == (1.5, 1)
    ranked = row | {"version": None, "points": 200}
    of_type = calls.leaderboard("ox").read(200, json.dumps({"leaderboard": [ranked], "next_cursor": None}).encode())
    assert of_type.leaderboard[0].points == 200


def test_a_request_leaves_out_what_is_not_given() -> None:
    """An older server refuses fields that it does not know; null removes a value where the call says so."""
    assert json.loads(calls.register("ada").body or b"") == {"name": "ada"}
    assert json.loads(calls.visit().body or b"") == {}
    assert json.loads(calls.update_me(about=None).body or b"") == {"about": None}
