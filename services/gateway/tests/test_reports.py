"""Reports to the operator over HTTP: what may be reported, by whom, how often, and what a stranger cannot find out."""

import asyncio
import json
from typing import Any

import pytest
from msgspec.structs import replace
from playmolt_gateway.settings import parse_report_limit

GAME = "ox-0190c3f8-1111-7222-8333-444455556666"
TRIAL = "trial-0190c3f8-1111-7222-8333-444455556666"
OUTSIDE = {"x-forwarded-for": "203.0.113.7"}
OTHER = {"x-forwarded-for": "203.0.113.8"}
EVENTS: list[dict[str, Any]] = [
    {"type": "game_created"},
    {"type": "speak", "agent_id": "agent-1", "text": "You lie!", "forfeit": False},
    {"type": "speak", "agent_id": "agent-1", "text": "", "forfeit": True},
    {"type": "switch_submitted", "agent_id": "agent-2", "comment": "", "switched": False},
    {"type": "switch_submitted", "agent_id": "agent-2", "comment": "I do not.", "switched": False},
    {"type": "first_choice_submitted", "agent_id": "agent-3", "forfeit": False},
    {"type": "first_choice_submitted", "agent_id": "agent-3", "forfeit": True},
    {"type": "reveal", "choices": [{"agent_id": "agent-1", "comment": "one"}, {"agent_id": "agent-2", "comment": "two"},
                                   {"agent_id": "agent-3", "comment": ""}]},
    {"type": "progress"},
]  # fmt: skip


def engine(_game: str, call: Any) -> tuple[int, Any]:
    """One game; a private one is invisible without a seat or its invite."""
    asked = json.loads(call.body)
    shown = call.target in (GAME, TRIAL) or call.agent == "agent-seated" or call.operator
    if call.op != "events" or not shown:
        return 404, {"code": "not_found"}
    return 200, {"events": EVENTS[asked["after"] : asked["after"] + asked["limit"]], "next_after": 0}


@pytest.fixture(autouse=True)
def _events(platform: Any) -> None:
    platform.bus.engine = engine


async def report(platform: Any, headers: dict[str, str] | None = None, **body: Any) -> Any:
    return await platform.send("POST", "/api/reports", json={"reason": "spam", **body}, headers=headers or {})


async def listed(platform: Any, state: str = "open") -> list[dict[str, Any]]:
    answer = await platform.send("GET", f"/api/admin/reports?state={state}", headers=platform.operator)
    assert answer.status_code == 200
    found: list[dict[str, Any]] = answer.json()["reports"]
    return found


async def test_a_report_is_listed_with_what_it_is_about(platform: Any) -> None:
    agent_id, _ = platform.agent()
    answer = await report(platform, kind="name", agent_id=agent_id, reason="  a slur \n")
    assert answer.status_code == 202
    (row,) = await listed(platform)
    assert answer.json() == {"id": row["id"]}
    expected = {"kind": "name", "agent_id": agent_id, "owner_id": None, "game_id": None, "version": None,
                "reason": "a slur", "count": 1, "decision": None, "note": None, "until": None}  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert row["at"].endswith("Z")
    assert await listed(platform, "decided") == []


@pytest.mark.parametrize(
    ("game", "version", "agent", "speaker"),
    [
        (TRIAL, 2, None, "agent-1"), (TRIAL, 2, "agent-1", "agent-1"), (GAME, 5, None, "agent-2"),
        (GAME, 6, None, "agent-3"), (GAME, 8, None, None), (GAME, 8, "agent-2", "agent-2"),
    ],
)  # fmt: skip
async def test_a_speech_is_reported_with_its_speaker(
    platform: Any, game: str, version: int, agent: str | None, speaker: str | None
) -> None:
    more = {"agent_id": agent} if agent else {}
    assert (await report(platform, kind="speech", game_id=game, version=version, **more)).status_code == 202
    (row,) = await listed(platform)
    assert (row["game_id"], row["version"], row["agent_id"]) == (game, version, speaker)


@pytest.mark.parametrize(
    "body",
    [
        *({"kind": "speech", "game_id": GAME, "version": version} for version in (1, 2, 4, 7, 9, 10, 2**53)),
        *({"kind": "speech", "game_id": TRIAL, "version": version} for version in (1, 3, 5)),
        {"kind": "speech", "game_id": GAME, "version": 5, "agent_id": "agent-1"},
        {"kind": "speech", "game_id": GAME, "version": 8, "agent_id": "agent-3"},
        *({"kind": "speech", "game_id": game, "version": 5} for game in (
            GAME.replace("1111", "9999"), GAME.replace("ox", "legal"), GAME.replace("ox", "jury"), "ox-1", "\x00",
            "é/..",
        )),
        *({"kind": kind, "agent_id": one} for kind in ("name", "agent") for one in ("agent-9", "x\x00", "\ud800")),
        {"kind": "owner", "owner_id": "owner-00000000-0000-4000-8000-000000000000"},
        {"kind": "name", "owner_id": "owner-1"},
    ],
)  # fmt: skip
async def test_what_does_not_exist_is_not_reported(platform: Any, problem: Any, body: Any) -> None:
    answer = await platform.send(
        "POST",
        "/api/reports",
        content=json.dumps({"reason": "spam", **body}),
        headers={"content-type": "application/json"},
    )
    assert problem(answer) == (404, "not_found")
    assert await listed(platform) == []


async def test_a_strangers_report_of_a_private_game_is_one_of_a_game_that_does_not_exist(platform: Any) -> None:
    """Of sealed sessions, too: their ids answer the same bytes without a look."""
    agent_id, key = platform.agent()
    private = GAME.replace("1111", "5555")
    answers = [
        (await report(platform, headers, **body)).content
        for game in (private, GAME.replace("1111", "9999"), GAME.replace("ox", "legal"))
        for headers in ({}, key)
        for body in (
            {"kind": "speech", "game_id": game, "version": 5}, {"kind": "agent", "agent_id": agent_id, "game_id": game},
        )
    ]  # fmt: skip
    assert len(set(answers)) == 1
    assert all(call.op == "events" and not call.present for _, call in platform.bus.calls)
    assert {game for game, _ in platform.bus.calls} == {"ox"}


async def test_a_participant_reports_what_is_said_in_a_private_game(platform: Any) -> None:
    agent_id, key = platform.agent()
    platform.bus.engine = lambda game, call: engine(
        game, replace(call, target=GAME if call.agent == agent_id or call.invite else "")
    )
    private = GAME.replace("1111", "5555")
    assert (await report(platform, kind="speech", game_id=private, version=5)).status_code == 404
    assert (await report(platform, key, kind="speech", game_id=private, version=5)).status_code == 202
    invited = await platform.send(
        "POST", "/api/reports?invite=abc", json={"kind": "speech", "game_id": private, "version": 5, "reason": "x"}
    )
    assert invited.status_code == 202


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"kind": "speech"}, ["game_id", "version"]), ({"kind": "speech", "game_id": GAME}, ["version"]),
        ({"kind": "name"}, ["agent_id"]), ({"kind": "name", "agent_id": "a", "owner_id": "b"}, ["owner_id"]),
        ({"kind": "agent", "owner_id": "a"}, ["agent_id", "owner_id"]), ({"kind": "owner"}, ["owner_id"]),
        ({"kind": "owner", "owner_id": "a", "agent_id": "b"}, ["agent_id"]),
        ({"kind": "agent", "agent_id": "a", "version": 3}, ["version"]),
        ({"kind": "insult", "agent_id": "a"}, ["kind"]),
        ({"kind": "agent", "agent_id": "a", "reason": " \n"}, ["reason"]),
        ({"kind": "agent", "agent_id": "a", "reason": "x" * 501}, ["reason"]),
        ({"kind": "agent", "agent_id": "a", "reason": "a\x00"}, ["reason"]),
        ({"kind": "agent", "agent_id": 7}, ["agent_id"]), ({"kind": "agent", "agent_id": "a", "more": 1}, ["more"]),
        ({"kind": "speech", "game_id": GAME, "version": 0}, ["version"]),
        ({"kind": "speech", "game_id": GAME, "version": "2"}, ["version"]),
    ],
)  # fmt: skip
async def test_a_faulty_report_is_refused_by_field(platform: Any, problem: Any, body: Any, fields: list[str]) -> None:
    answer = await report(platform, **body)
    assert problem(answer) == (400, "invalid_request")
    assert [one["field"] for one in answer.json()["errors"]] == fields


async def test_a_reason_of_the_longest_length_is_taken(platform: Any) -> None:
    agent_id, _ = platform.agent()
    assert (await report(platform, kind="agent", agent_id=agent_id, reason=" " + "한" * 500)).status_code == 202
    assert (await listed(platform))[0]["reason"] == "한" * 500


async def test_equal_reports_at_once_are_one_row_with_a_count(platform: Any) -> None:
    agent_id, key = platform.agent()
    answers = await asyncio.gather(
        *(report(platform, key if number % 2 else {}, kind="agent", agent_id=agent_id) for number in range(6))
    )
    assert len({answer.json()["id"] for answer in answers}) == 1
    await report(platform, kind="agent", agent_id=agent_id, reason="cheats")
    assert sorted((row["reason"], row["count"]) for row in await listed(platform)) == [("cheats", 1), ("spam", 6)]


async def test_a_repeated_report_is_counted_once(platform: Any, problem: Any) -> None:
    agent_id, key = platform.agent()
    for caller in (key, {}):
        repeated = caller | {"idempotency-key": "one"}
        answers = [await report(platform, repeated, kind="agent", agent_id=agent_id) for _ in range(3)]
        assert len({answer.content for answer in answers}) == 1
        other = await report(platform, repeated, kind="agent", agent_id=agent_id, reason="other")
        assert problem(other) == (422, "idempotency_mismatch")
    assert [row["count"] for row in await listed(platform)] == [2]


class TestLimits:
    async def test_sixty_reports_of_an_address_are_five(self, make_platform: Any, problem: Any) -> None:
        platform = make_platform(limit_loopback=True, trusted_proxies="127.0.0.1")
        agent_id, key = platform.agent()
        answers = [
            await report(platform, OUTSIDE, kind="agent", agent_id=agent_id, reason=str(number)) for number in range(60)
        ]
        assert [answer.status_code for answer in answers] == [202] * 5 + [429] * 55
        assert problem(answers[-1]) == (429, "rate_limited")
        assert answers[-1].json()["ratelimit"] == {"key": "reports:203.0.113.7", "limit": 5, "seconds": 3600.0}
        assert answers[-1].headers["retry-after"]
        assert (await report(platform, OTHER, kind="agent", agent_id=agent_id)).status_code == 202
        keyed = [await report(platform, key | OUTSIDE, kind="agent", agent_id=agent_id) for _ in range(31)]
        assert [answer.status_code for answer in keyed] == [202] * 30 + [429]

    async def test_a_limited_address_cannot_look_for_what_exists(self, make_platform: Any, problem: Any) -> None:
        platform = make_platform(limit_loopback=True, trusted_proxies="127.0.0.1")
        agent_id, _ = platform.agent()
        for number in range(5):
            assert problem(await report(platform, OUTSIDE, kind="agent", agent_id=f"agent-{number}"))[0] == 404
        assert problem(await report(platform, OUTSIDE, kind="agent", agent_id=agent_id))[0] == 429
        assert not platform.bus.calls

    async def test_visitors_count_as_their_address(self, make_platform: Any) -> None:
        platform = make_platform(report_limit="2/60")
        agent_id, _ = platform.agent()
        for number in range(2):
            platform.store.visitors[f"{number}"] = f"visitor-{number}"
        statuses = []
        for _ in range(3):
            made = await platform.send("POST", "/api/visitors", json={})
            headers = {"Authorization": f"Bearer {made.json()['token']}"}
            statuses.append((await report(platform, headers, kind="agent", agent_id=agent_id)).status_code)
        assert statuses == [202, 202, 429]

    async def test_this_machine_has_no_limit_by_default_and_the_operator_never(self, make_platform: Any) -> None:
        platform = make_platform()
        agent_id, _ = platform.agent()
        assert {(await report(platform, kind="agent", agent_id=agent_id)).status_code for _ in range(9)} == {202}
        platform = make_platform(report_limit="1/60")
        agent_id, _ = platform.agent()
        assert [(await report(platform, kind="agent", agent_id=agent_id)).status_code for _ in range(2)] == [202, 429]
        operator = [await report(platform, platform.operator, kind="agent", agent_id=agent_id) for _ in range(3)]
        assert {answer.status_code for answer in operator} == {202}

    def test_one_limit_is_for_addresses_and_keys(self) -> None:
        assert parse_report_limit("2/60") == ((2, 60.0), (2, 60.0))
        assert parse_report_limit("2/60,9/60") == ((2, 60.0), (9, 60.0))
        assert parse_report_limit("off") == (None, None)
        with pytest.raises(ValueError, match="N/SECONDS"):
            parse_report_limit("2/60,x")


async def test_only_the_operator_lists_reports(platform: Any, problem: Any) -> None:
    _, key = platform.agent()
    assert problem(await platform.send("GET", "/api/admin/reports")) == (401, "unauthorized")
    assert problem(await platform.send("GET", "/api/admin/reports", headers=key)) == (403, "operator_only")
    wrong = await platform.send("GET", "/api/admin/reports?state=old", headers=platform.operator)
    assert problem(wrong) == (400, "invalid_request")


async def test_nothing_is_taken_while_the_database_or_the_engine_is_unavailable(platform: Any, problem: Any) -> None:
    agent_id, _ = platform.agent()
    platform.bus.engine = lambda _game, _call: ConnectionError("away")
    assert problem(await report(platform, kind="speech", game_id=GAME, version=5)) == (503, "unavailable")
    platform.store.away = True
    assert problem(await report(platform, kind="agent", agent_id=agent_id)) == (503, "unavailable")
