"""A key is managed for its own server only, readable by its owner alone."""

from pathlib import Path

import pytest
from playmolt_cli.local.session_key import KeyFile, session_client, session_server
from playmolt_cli.terminal.failures import Failure


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
