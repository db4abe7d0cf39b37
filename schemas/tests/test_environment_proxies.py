"""Which proxy the environment names for a URL, in every spelling of its variables."""

from collections.abc import Callable

import pytest
from playmolt_schemas.proxies import UnusableProxy, proxy_for

PROXY = "http://proxy.example:3128"
Setter = Callable[..., None]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Setter:
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_PROXY".upper(), raising=False)

    def put(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return put


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
@pytest.mark.parametrize("given", [PROXY, "proxy.example:3128", f" {PROXY} "])
def test_a_server_elsewhere_has_the_proxy_and_this_machine_has_none(
    environment: Setter, variable: str, given: str
) -> None:
    environment(**{variable: given})
    assert proxy_for("https://play.example/x") == PROXY
    assert proxy_for("https://localhost:8080") is None


@pytest.mark.parametrize(
    ("exceptions", "url"),
    [
        ("*", "https://play.example"),
        ("other, play.example", "https://play.example"),
        (".example", "https://play.example"),
        ("*.example", "https://a.play.example:8443"),
        ("play.example:443", "https://play.example"),
        ("https://play.example/", "https://play.example"),
        ("localhost 127.0.0.1 PLAY.example.", "https://play.example."),
        ("10.0.0.0/8", "https://10.1.2.3"),
        ("[fd00::1],[::1]", "https://[fd00::1]:8443"),
        ("fd00::/8", "https://[fd12::7]"),
        ("대국.kr", "https://대국.kr"),
    ],
)
def test_no_proxy_excepts_what_it_names(environment: Setter, exceptions: str, url: str) -> None:
    environment(HTTPS_PROXY=PROXY, NO_PROXY=exceptions)
    assert proxy_for(url) is None


@pytest.mark.parametrize(
    "exceptions",
    ["", ",", "example.play", "lay.example", "play.example:8443", "10.0.0.0/8", "[::1", "fe80::/10", "::1", "a://b:c"],
)
def test_no_proxy_excepts_nothing_else_and_no_spelling_of_it_fails(environment: Setter, exceptions: str) -> None:
    environment(HTTPS_PROXY=PROXY, NO_PROXY=exceptions)
    assert proxy_for("https://play.example") == PROXY
    assert proxy_for("https://192.168.1.1") == PROXY


@pytest.mark.parametrize(
    "proxy", ["socks5h://secret@a:1", "ftp://secret", "secret:bar:baz", "::::", "http://[::1", "http://a:99999", "a b"]
)
def test_a_proxy_that_is_none_is_refused_without_its_password(environment: Setter, proxy: str) -> None:
    environment(ALL_PROXY=proxy)
    with pytest.raises(UnusableProxy, match="for https addresses: set HTTP_PROXY") as refusal:
        proxy_for("https://play.example")
    assert "secret" not in str(refusal.value)
    assert proxy_for("http://127.0.0.1:8080") is None
