"""Clients of a server on this machine never use a proxy of the environment; clients of others do."""

from collections.abc import Callable
from typing import Any

import pytest
from playmolt import AsyncClient, Client, Retry, Unavailable
from playmolt_ox.rules import Ox
from sdk_arena import Arena

from core.tests.counting_proxy import PROXY_VARIABLES, CountingProxy

ONCE = Retry(attempts=1, seconds=1.0)


@pytest.mark.parametrize("variable", PROXY_VARIABLES)
async def test_a_server_on_this_machine_is_asked_directly(
    arena: Callable[[Any], Arena], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    ox = arena(Ox())
    with CountingProxy() as proxy:
        monkeypatch.setenv(variable, proxy.url)
        for host in ("127.0.0.1", "localhost", "127.1"):
            url = ox.url.replace("127.0.0.1", host)
            with Client(url, retry=ONCE) as client:
                client.register("a caller")
                game_id = client.join("ox").game_id
                ox.end(game_id)
                assert list(client.stream(game_id))
            async with AsyncClient(url, retry=ONCE) as other:
                await other.register("another caller")
        assert proxy.hosts == []


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
async def test_a_server_elsewhere_is_asked_through_the_proxy_unless_no_proxy_excepts_it(
    arena: Callable[[Any], Arena], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    ox = arena(Ox())
    with CountingProxy(ox.url) as proxy:
        monkeypatch.setenv(variable, proxy.url)
        with Client("http://play.example", retry=ONCE) as client:
            client.register("a caller")
        async with AsyncClient("http://play.example", retry=ONCE) as other:
            await other.register("another caller")
        assert proxy.hosts == ["play.example"] * 2
        monkeypatch.setenv("no_proxy", "play.example")
        with Client("http://play.example", retry=ONCE) as client, pytest.raises(Unavailable):
            client.me()
        assert proxy.hosts == ["play.example"] * 2


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "gopher://127.0.0.1:9", "foo:bar:baz", "http://[::1"])
def test_a_proxy_that_the_client_cannot_use_is_refused_and_is_no_matter_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    Client("http://127.0.0.1:8080").close()
    with pytest.raises(ValueError, match="proxy"):
        Client("http://play.example")
    with pytest.raises(ValueError, match="proxy"):
        AsyncClient("http://play.example")
