"""The audit's callers who take every place there is."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playmolt_core.settings import parse_rate
from playmolt_gateway.settings import GatewaySettings

from tests.integration.gateway.audit.conftest import PLACES, RATE, SESSIONS
from tests.integration.gateway.audit.wire import Wire, address, request, statuses
from tests.integration.gateway.rows import Guest, Platform, accepted, eventually, refused

OPEN_WAITS = re.compile(r"^playmolt_gateway_open_waits (\d+)$", re.MULTILINE)
LIMITS = [("waits_per_key", 800), ("sessions_per_key", 512), ("waits_per_address", 500), ("streams_per_address", 800)]


def waiting(platform: Platform) -> int:
    found = OPEN_WAITS.search(platform.anonymous.get("/metrics").text)
    assert found
    return int(found[1])


@contextmanager
def taken(platform: Platform, asked: Callable[[int], bytes], source: str) -> Iterator[None]:
    """All the places that there are, held by somebody who reads nothing."""
    before = waiting(platform)
    wires = [Wire(address(platform, "gateway"), asked(number), source) for number in range(PLACES)]
    eventually(lambda: waiting(platform) >= before + PLACES, "nobody waits")
    yield
    for wire in wires:
        wire.close()
    eventually(lambda: waiting(platform) <= before, "who is gone still waits")


def is_too_many(platform: Platform, sent: bytes, source: str) -> None:
    with Wire(address(platform, "gateway"), sent, source) as wire:
        answer = wire.answer()
    assert statuses(answer) == [429]
    assert b"retry-after: " in answer.lower()


def state(guest: Guest, game: str) -> bytes:
    return request(
        "GET", f"/api/games/{game}/state?after=9999&wait=30", "Connection: close", f"Authorization: Bearer {guest.key}"
    )


@pytest.mark.parametrize(("setting", "most"), LIMITS)
def test_the_places_that_are_there_unless_said_otherwise(setting: str, most: int) -> None:
    assert 0 < getattr(GatewaySettings(), setting) < most


def test_a_key_holds_so_many_waits(audited: Platform) -> None:
    audited.clear()
    guest = audited.guest()
    game = guest.join("ox")
    with taken(audited, lambda _: state(guest, game), "127.0.0.41"):
        is_too_many(audited, state(guest, game), "127.0.0.42")
        accepted(guest.get("/api/agents/me"))


def test_an_address_holds_so_many_event_streams(audited: Platform) -> None:
    audited.clear()
    guests = [audited.guest() for _ in range(2)]
    game = guests[0].join("ox")

    def stream(number: int) -> bytes:
        key = guests[number % 2].key
        return request("GET", f"/api/games/{game}/stream", "Connection: close", f"Authorization: Bearer {key}")

    with taken(audited, stream, "127.0.0.43"):
        is_too_many(audited, stream(0), "127.0.0.43")


def test_an_address_holds_so_many_calls_of_mcp_and_each_ends_with_its_client(audited: Platform) -> None:
    guests = [audited.guest() for _ in range(2)]

    def waits(number: int) -> bytes:
        asked = {"name": "wait_for_turn", "arguments": {"wait": 30, "api_key": guests[number % 2].key}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}).encode()
        return request(
            "POST", "/mcp", "Content-Type: application/json", "Accept: application/json, text/event-stream", body=body
        )

    with taken(audited, waits, "127.0.0.44"):
        is_too_many(audited, waits(0), "127.0.0.44")


@pytest.mark.parametrize(
    ("path", "opening"),
    [
        ("/api/jury/sessions", {"language": "en"}),
        ("/api/sessions", {"case_type": "civil", "jurisdiction": "Korea", "title": "One of many", "language": "en"}),
    ],
)
def test_a_key_holds_so_many_sessions(audited: Platform, path: str, opening: dict[str, str]) -> None:
    guest = audited.guest()
    opened = [guest.post(path, opening) for _ in range(SESSIONS + 1)]
    assert [answer.status_code for answer in opened[:-1]] == [201] * SESSIONS
    assert opened[-1].status_code in (409, 429, 503), opened[-1].text


def test_an_address_registers_so_many_agents(audited: Platform) -> None:
    rate = parse_rate(GatewaySettings().registration_limit)
    assert rate
    from_elsewhere = {"X-Forwarded-For": "203.0.113.7"}
    for _ in range(rate[0]):
        accepted(audited.anonymous.ask("POST", "/api/agents", headers=from_elsewhere, content=b'{"name":"many"}'), 201)
    refused(
        audited.anonymous.ask("POST", "/api/agents", headers=from_elsewhere, content=b'{"name":"more"}'),
        429,
        "rate_limited",
    )


def statuses_until_limited(platform: Platform, key: str | None, most: int) -> list[int]:
    """What a key is answered until it has asked too often."""
    asked = request("GET", "/api/games?limit=1", f"Authorization: Bearer {key}")
    found: list[int] = []
    with Wire(address(platform, "gateway"), asked * most) as wire:
        while len(found) < most and 429 not in found:
            found += statuses(wire.answer())
    return found


def test_a_key_has_a_rate_which_a_new_key_keeps(audited: Platform) -> None:
    """Given a caller who has asked as often as a key may, when it changes its key, then it still waits."""
    guest = audited.guest()
    assert 429 in statuses_until_limited(audited, guest.key, 2 * RATE)
    made = eventually(lambda: (answer := guest.post("/api/agents/me/keys", {})).status_code == 201 and answer, "no key")
    assert 429 in statuses_until_limited(audited, made.json()["api_key"], RATE // 2)
