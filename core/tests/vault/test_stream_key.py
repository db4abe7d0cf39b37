import json

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from playmolt_core.vault.stream_key import StreamKey, UnsealFailed, from_text, open_record, record_place

STREAM = "jury-0190a5a0-7c1e-7f00-8a3b-5d2c6e9f1a04"
DATA = '{"text":"비밀","turn":2}'.encode()
KEY = StreamKey(STREAM, bytes(range(32)))


def test_a_record_is_what_the_page_says_by_the_librarys_own_functions() -> None:
    stored = KEY.seal_record(7, "note_sent", 1, DATA)
    text = json.loads(stored)["sealed"]
    derived = HKDF(hashes.SHA256(), 32, salt=None, info=f"{STREAM}|7".encode()).derive(bytes(range(32)))
    raw = from_text(text.removeprefix("v1."))
    assert "=" not in text
    assert AESGCM(derived).decrypt(raw[:12], raw[12:], f"{STREAM}|7|note_sent|1".encode()) == DATA
    assert KEY.record_key(7) == derived
    assert open_record(derived, record_place(STREAM, 7, "note_sent", 1), text) == DATA


@pytest.mark.parametrize(
    ("stream", "version", "kind", "schema_version"),
    [
        (STREAM, 8, "note_sent", 1),
        (STREAM, 7, "note_read", 1),
        (STREAM, 7, "note_sent", 2),
        (STREAM.replace("04", "05"), 7, "note_sent", 1),
    ],
)
def test_a_record_opens_in_its_own_place_alone(stream: str, version: int, kind: str, schema_version: int) -> None:
    stored = KEY.seal_record(7, "note_sent", 1, DATA)
    assert KEY.open_record(7, "note_sent", 1, stored) == DATA
    with pytest.raises(UnsealFailed):
        StreamKey(stream, KEY.secret).open_record(version, kind, schema_version, stored)


@pytest.mark.parametrize(
    "stored", [DATA, b'{"sealed":"v2.AAAA"}', b'{"sealed":"v1.AAAA"}', b'{"sealed":"v1.%"}', b"{}"]
)
def test_what_is_not_sealed_so_is_not_opened(stored: bytes) -> None:
    with pytest.raises(UnsealFailed):
        KEY.open_record(7, "note_sent", 1, stored)


def test_no_two_seals_are_alike() -> None:
    assert KEY.seal_record(7, "note_sent", 1, DATA) != KEY.seal_record(7, "note_sent", 1, DATA)


def test_texts_open_under_their_own_name_alone() -> None:
    stored = KEY.seal_text("outcome|a", DATA)
    assert KEY.open_text("outcome|a", stored) == DATA
    with pytest.raises(UnsealFailed):
        KEY.open_text("outcome|b", stored)


def test_hashes_differ_by_purpose_and_by_session() -> None:
    other = StreamKey(STREAM, bytes(32))
    assert len({KEY.hash_of("state", DATA), KEY.hash_of("request", DATA), other.hash_of("state", DATA)}) == 3
    assert KEY.hash_of("state", DATA) == StreamKey(STREAM, bytes(range(32))).hash_of("state", DATA)
