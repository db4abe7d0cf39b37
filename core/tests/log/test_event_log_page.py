"""docs/event-log.md is read by people who write tools from it: what it shows has to be what the code does."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from cryptography.exceptions import InvalidTag
from playmolt_core.log.copies.export import json_lines
from playmolt_core.log.memory import MemoryLog
from playmolt_core.relay.feeds import feeds, public_form
from playmolt_core.vault.stream_key import from_text, open_record, record_place
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import Record, record_hash

from core.tests.log.log_contract import Game, unit

PAGE = (Path(__file__).parents[3] / "docs" / "event-log.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    found: list[str] = re.findall(rf"```{language}\n(.*?)\n```", PAGE, re.DOTALL)
    return found


@pytest.fixture
def record() -> dict[str, Any]:
    [example] = blocks("json")
    parsed: dict[str, Any] = json.loads(example)
    return parsed


def test_the_example_has_the_bytes_that_rfc_8785_gives(record: dict[str, Any]) -> None:
    hashed = {key: value for key, value in record.items() if key != "position"}
    assert record["prev_hash"].encode() + rfc8785.dumps(hashed) == blocks("text")[0].encode()


def test_the_example_has_the_hash_that_the_code_gives(record: dict[str, Any]) -> None:
    data, metadata = canonical_json(record.pop("data")), canonical_json(record.pop("metadata"))
    del record["position"]
    assert record_hash(data=data, metadata=metadata, **record) == blocks("text")[1]


async def test_the_function_on_the_page_checks_a_real_export(record: dict[str, Any]) -> None:
    page: dict[str, Any] = {}
    exec(blocks("python")[0], page)  # noqa: S102 -- the page's own code is what is under test
    assert page["record_hash"](record) == blocks("text")[1]
    log = MemoryLog()
    data = canonical_json({"text": 'ü "\\\x01\u2028 판사', "none": None, "list": [1, -2, True], "z": {"b": 1, "a": 2}})
    await log.append([unit(Game("ox-1").adds(3, data=data))])
    lines = b"".join([piece async for piece in json_lines(log, running=True)]).splitlines()
    assert len(lines) == 3
    for line in lines:
        exported = json.loads(line)
        assert page["record_hash"](exported) == exported["hash"]


def test_the_page_names_fields_and_subjects_as_they_are() -> None:
    assert f"`{', '.join(Record.__struct_fields__)}`" in PAGE
    for feed in feeds(0, 1, public_form):
        for subject in feed.subjects:
            assert f"| `{feed.stream}` | `{subject.removesuffix('>')}<game>" in PAGE


def test_the_sealed_example_opens_to_what_the_page_says() -> None:
    key, stored, data = blocks("text")[2:5]
    stream, page = "legal-0190a5a0-7c1e-7f00-8a3b-5d2c6e9f1a04", dict[str, Any]()
    text = json.loads(stored)["sealed"]
    assert open_record(from_text(key), record_place(stream, 2, "facts_told", 1), text) == data.encode()
    exec(blocks("python")[1], page)  # noqa: S102 -- as above
    line = {"stream": stream, "version": 2, "type": "facts_told", "schema_version": 1, "sealed": text, "seal_key": key}
    assert page["opened"](line) == json.loads(data)
    with pytest.raises(InvalidTag):
        page["opened"](line | {"version": 3})
