"""Records out of files: what another tool wrote with other spaces and escapes is the same record."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from playmolt_core.log.copies.files import NoRecords, records_in
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import ZERO_HASH, OpenedRecord, Record, record_hash
from playmolt_schemas.text import escape_line_ends

DATA = {"text": "Größe 大小 🎲 \u2028 / \n\t \x01", "n": 3, "list": [1, {"b": None, "a": True}], "empty": {}}


def stored() -> list[Record]:
    made: list[Record] = []
    for version in (1, 2):
        fields = {
            "stream": "ox-1", "version": version, "type": "said", "schema_version": 1,
            "at": "2026-03-01T00:00:00.000000Z", "salt": "5a" * 16, "prev_hash": made[-1].hash if made else ZERO_HASH,
        }  # fmt: skip
        body = {"data": canonical_json(DATA), "metadata": canonical_json({"command_id": "0" * 32, "actor": "ä"})}
        raw = {name: msgspec.Raw(value) for name, value in body.items()}
        made.append(OpenedRecord(**fields, **raw, position=version, hash=record_hash(**fields, **body)))  # type: ignore[arg-type]
    return made


def line(record: Record) -> dict[str, object]:
    read: dict[str, object] = json.loads(msgspec.json.encode(record))
    return read


def whole(record: Record) -> bool:
    return record.hash == record_hash(
        stream=record.stream, version=record.version, type=record.type, schema_version=record.schema_version,
        data=bytes(record.data), metadata=bytes(record.metadata), at=record.at, salt=record.salt,
        prev_hash=record.prev_hash,
    )  # fmt: skip


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], list[Record]]:
    def read_back(text: str) -> list[Record]:
        path = tmp_path / "copy.jsonl"
        path.write_text(text, newline="")
        return list(records_in(path))

    return read_back


@pytest.mark.parametrize(
    "write",
    [
        lambda each: msgspec.json.encode(each).decode(),
        lambda each: escape_line_ends(msgspec.json.encode(each)).decode(),
        lambda each: json.dumps(line(each)),
        lambda each: json.dumps(line(each), ensure_ascii=False, separators=(" , ", " : ")),
        lambda each: json.dumps(line(each), sort_keys=True),
        lambda each: json.dumps(dict(reversed(line(each).items()))),
        lambda each: msgspec.json.encode(each).decode().replace("/", "\\/") + "\r",
    ],
)
def test_a_copy_that_says_the_same_is_the_same(
    written: Callable[[str], list[Record]], write: Callable[[Record], str]
) -> None:
    assert written("\n".join(map(write, stored()))) == stored()


def test_blank_lines_are_none(written: Callable[[str], list[Record]], tmp_path: Path) -> None:
    lines = [msgspec.json.encode(each).decode() for each in stored()]
    text = "\n" + "\n \r\n".join(lines) + "\n\n"
    assert written(text) == stored()
    packed = tmp_path / "copy.jsonl.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert list(records_in(packed)) == stored()


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        ('"n":3', '"n":4'),
        ('"n":3', '"n":3.0'),
        ('"n":3', '"n":4,"n":3'),
        ('"n":3', '"n":3e0'),
        ('"b":null', '"b":1e999'),
        ('"n":3', '"n":36893488147419103232'),
    ],
)
def test_a_copy_that_says_something_else_is_not_what_was_hashed(
    written: Callable[[str], list[Record]], said: str, instead: str
) -> None:
    text = "\n".join(msgspec.json.encode(each).decode() for each in stored())
    first, second = written(text.replace(said, instead, 1))
    assert not whole(first)
    assert whole(second)


def test_a_parquet_export_is_reported_with_what_to_use_instead(tmp_path: Path) -> None:
    (tmp_path / "log.parquet").write_bytes(b"PAR1\x15\x04")
    with pytest.raises(NoRecords, match=r"is a Parquet file\. Records are read from JSON lines: `playmolt log export"):
        list(records_in(tmp_path / "log.parquet"))


@pytest.mark.parametrize("bad", ["{", "[]", "{}", "no record", "\ufeff", '{"data":NaN}', r'{"data":"\ud800"}'])
def test_what_is_not_a_record_is_reported(written: Callable[[str], list[Record]], bad: str) -> None:
    good = msgspec.json.encode(stored()[0]).decode()
    with pytest.raises(NoRecords, match="after the first 1"):
        written(f"{good}\n\n{bad}\n")
