"""Who registers how often: by address, which a proxy may tell only when it is trusted."""

from typing import Any

import httpx
import pytest
from playmolt_core.ops.connections import address_of, bucket_of
from playmolt_core.settings import InvalidSettings, from_environment, parse_networks
from playmolt_gateway.settings import GatewaySettings

TRUSTED = parse_networks("10.0.0.0/8,2001:db8::1")


@pytest.mark.parametrize(
    ("peer", "said", "counted"),
    [
        ("198.51.100.7", [], "198.51.100.7"),
        ("198.51.100.7", ["203.0.113.1"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.1"], "203.0.113.1"),
        ("10.0.0.1", ["192.0.2.1, 203.0.113.1"], "203.0.113.1"),
        ("10.0.0.1", ["192.0.2.1", "203.0.113.1, 10.0.0.2"], "203.0.113.1"),
        ("10.0.0.1", ["10.0.0.3"], "10.0.0.3"),
        ("10.0.0.1", ["203.0.113.1, me"], "10.0.0.1"),
        ("10.0.0.1", [""], "10.0.0.1"),
        ("::ffff:10.0.0.1", ["203.0.113.1"], "203.0.113.1"),
        ("2001:db8::1", ["2001:db8:7:8:1:2:3:4"], "2001:db8:7:8::/64"),
        ("2001:db8:7:8::9", [], "2001:db8:7:8::/64"),
        (None, ["203.0.113.1"], "unknown"),
        ("10.0.0.1", ["203.0.113.1:51000"], "203.0.113.1"),
        ("10.0.0.1", ["203.0.113.1:51000, 10.0.0.2:443"], "203.0.113.1"),
        ("10.0.0.1", ["[2001:db8:7:8::9]:443"], "2001:db8:7:8::/64"),
        ("10.0.0.1", ['"[2001:db8:7:8::9]"'], "2001:db8:7:8::/64"),
        ("10.0.0.1", ["[::ffff:203.0.113.1]:443"], "203.0.113.1"),
        ("10.0.0.1", ["203.0.113.1:port"], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.1]"], "10.0.0.1"),
    ],
)
def test_an_address_is_believed_as_far_as_who_tells_it(peer: str | None, said: list[str], counted: str) -> None:
    headers = [(b"host", b"x"), *((b"x-forwarded-for", value.encode()) for value in said)]
    assert bucket_of(address_of(peer, headers, TRUSTED)) == counted


def test_proxies_that_are_none_are_reported() -> None:
    with pytest.raises(InvalidSettings, match="PLAYMOLT_TRUSTED_PROXIES"):
        from_environment({"PLAYMOLT_TRUSTED_PROXIES": "edge"})
    with pytest.raises(InvalidSettings, match="PLAYMOLT_REGISTRATION_LIMIT"):
        from_environment({"PLAYMOLT_REGISTRATION_LIMIT": "many"}, kind=GatewaySettings)


async def register(platform: Any, peer: str, **headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(app=platform.gateway, client=(peer, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as client:
        return await client.post("/api/agents", json={"name": "Ada"}, headers=headers)


async def test_an_address_registers_so_many_agents_and_no_more(make_platform: Any) -> None:
    platform = make_platform(registration_limit="2/60")
    assert [(await register(platform, "198.51.100.7")).status_code for _ in range(3)] == [201, 201, 429]
    refused = await register(platform, "198.51.100.7")
    assert refused.json()["ratelimit"] == {"key": "registration:198.51.100.7", "limit": 2, "seconds": 60.0}
    assert refused.headers["retry-after"] == "2"
    assert (await register(platform, "198.51.100.8")).status_code == 201
    assert (await register(platform, "198.51.100.7", **platform.operator)).status_code == 201


async def test_a_key_of_an_agent_opens_no_second_way(make_platform: Any) -> None:
    platform = make_platform(registration_limit="1/60")
    _, key = platform.agent()
    assert [(await register(platform, "198.51.100.7", **key)).status_code for _ in range(2)] == [201, 429]


async def test_what_is_refused_for_its_form_counts_nothing(make_platform: Any) -> None:
    platform = make_platform(registration_limit="1/60", limit_loopback=True)
    assert (await platform.send("POST", "/api/agents", json={"name": " "})).status_code == 400
    assert platform.store.buckets == {}


@pytest.mark.parametrize(("limited", "last"), [(False, 201), (True, 429)])
async def test_one_person_at_one_machine_is_limited_only_on_request(
    make_platform: Any, limited: bool, last: int
) -> None:
    platform = make_platform(registration_limit="1/60", limit_loopback=limited)
    assert [(await register(platform, "127.0.0.1")).status_code for _ in range(2)] == [201, last]
    assert (await register(platform, "::1")).status_code == 201
