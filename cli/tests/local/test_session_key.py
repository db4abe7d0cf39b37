"""A key is managed for its own server only, readable by its owner alone."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playmolt.client import Client
from playmolt_cli.local.session_key import KeyFile, session_client, session_server
from playmolt_cli.terminal.failures import Failure
from playmolt_schemas.api import Visitor


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PLAYMOLT_HOST", "PLAYMOLT_PORT", "PLAYMOLT_DATA"):
        monkeypatch.delenv(name, raising=False)


def test_a_key_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "data" / "legal-key")
    assert file.read() == ""
    file.write("secret")
    file.write("newer")
    assert KeyFile(file.path).read() == "newer"
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.path.parent.iterdir()] == ["legal-key"]


def test_without_a_url_the_settings_name_the_server(tmp_path: Path) -> None:
    server = session_server(None, tmp_path, "legal")
    assert (server.url, server.key_file.path) == ("http://127.0.0.1:8080", tmp_path / "legal-key")
    assert session_server("http://127.0.0.1:8080/", tmp_path, "legal").key_file.path == tmp_path / "legal-key"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.org", "legal-key-example.org"),
        ("http://user:pass@example.org:81/x", "legal-key-example.org-81"),
        ("http://[::1]:81", "legal-key-1-81"),
        ("../..", "legal-key-unnamed"),
    ],
)
def test_another_server_never_sees_this_ones_key(tmp_path: Path, url: str, name: str) -> None:
    assert session_server(url, tmp_path, "legal").key_file.path == tmp_path / name


def test_each_game_has_a_key_of_its_own_and_says_how_it_is_made(tmp_path: Path) -> None:
    jury, legal = session_server(None, tmp_path, "jury"), session_server(None, tmp_path, "legal")
    assert (jury.key_file.path, legal.key_file.path) == (tmp_path / "jury-key", tmp_path / "legal-key")
    with pytest.raises(Failure, match="Create one with `playmolt jury play`"), session_client(jury, None):
        pytest.fail("there is no key yet")


def test_commands_that_begin_at_once_share_the_key_that_one_of_them_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen: of four sessions opened at once three had no key any more, since each command stored its own."""
    begun = threading.Barrier(_AT_ONCE)
    visits: list[str] = []

    def visit(_: Client, __: str | None = None) -> Visitor:
        visits.append(f"token-{len(visits)}")
        return Visitor(visits[-1])

    monkeypatch.setattr(Client, "visit", visit)
    server = session_server("http://127.0.0.1:1", tmp_path, "legal")

    def key(_: int) -> str:
        begun.wait()
        with session_client(server, None, visits=True) as client:
            return client.key

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        assert set(pool.map(key, range(_AT_ONCE))) == {"token-0"}
    assert (visits, server.key_file.read()) == (["token-0"], "token-0")


_AT_ONCE = 6
