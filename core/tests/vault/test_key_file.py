import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.keywrap import aes_key_unwrap
from playmolt_core.vault.key_file import InvalidKeyFile, KeyFile, drawn, read_keys, write_keys
from playmolt_core.vault.stream_key import UnsealFailed, from_text

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_keys(tmp_path / "seal-keys", [drawn(NOW)])
    return tmp_path / "seal-keys"


def test_the_file_is_as_the_page_has_it(path: Path) -> None:
    (entry,) = json.loads(path.read_text("utf-8"))
    assert set(entry) == {"id", "key", "created_at"}
    assert len(from_text(entry["key"])) == 32
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_key_wraps_as_rfc_3394_has_it(path: Path) -> None:
    (kek,) = read_keys(path)
    wrapped = kek.wrap(bytes(range(32)))
    assert aes_key_unwrap(from_text(kek.key), wrapped) == bytes(range(32)) == kek.unwrap(wrapped)
    with pytest.raises(UnsealFailed):
        drawn(NOW).unwrap(wrapped)


def test_a_key_that_came_later_is_found_and_taken(path: Path) -> None:
    file, newer = KeyFile(path), drawn(NOW + timedelta(days=1))
    (first,) = read_keys(path)
    write_keys(path, [first, newer])
    assert file.find(newer.id) == newer
    assert file.newest() == newer
    assert file.find(first.id) == first
    assert file.find("another") is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '[{"id":"a","key":"AAAA","created_at":"2026-01-02T00:00:00Z"}]', '[{"id":"a"}]']
)
def test_a_file_without_keys_says_so(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    with pytest.raises(InvalidKeyFile, match="seal-keys"):
        KeyFile(path)


def test_two_keys_of_one_id_are_refused(path: Path) -> None:
    entry = json.loads(path.read_text("utf-8"))[0]
    path.write_text(json.dumps([entry, entry]), "utf-8")
    with pytest.raises(InvalidKeyFile, match="two with the same id"):
        KeyFile(path)


def test_a_file_that_is_not_there_says_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(InvalidKeyFile, match="PLAYMOLT_SEAL_KEYS"):
        KeyFile(tmp_path / "none")
