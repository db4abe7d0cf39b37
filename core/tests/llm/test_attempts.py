"""An attempt fits a record of the log, however long its prompt was."""

import hashlib
from typing import Any

import pytest
from msgspec.structs import replace
from playmolt_core.llm.attempts import REST_BYTES, recorded
from playmolt_core.llm.port import REPLY_BYTES, Attempt
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.limits import RECORD_BYTES

RULES = {"role": "system", "content": "Answer in one object."}


def attempt(*messages: dict[str, Any], reply: str = "{}") -> Attempt:
    return Attempt(
        number=1, alias="fake", model_asked="fake", model_answered=None, headers={},
        request={"model": "fake", "messages": list(messages)}, decoding="prompt", outcome="ok", status=200, detail="",
        reply=reply, tool_calls=(), finish_reason="stop", usage=None, cost=None, latency_ms=1,
    )  # fmt: skip


def test_what_fits_is_stored_as_it_was_sent() -> None:
    said = {"role": "user", "content": "가" * 50_000}
    assert recorded(attempt(RULES, said)).fields["request"]["messages"] == [RULES, said]


@pytest.mark.parametrize("char", ["가", "\x01", '"'])
def test_what_no_record_could_hold_is_stored_with_digests_of_its_long_messages(char: str) -> None:
    said = {"role": "user", "content": char * RECORD_BYTES}
    told, kept_apart = recorded(attempt(RULES, said, reply=char * (REPLY_BYTES // len(char.encode()))))
    assert kept_apart is None
    assert len(canonical_json(told)) <= RECORD_BYTES - REST_BYTES
    content = said["content"].encode()
    assert told["request"]["messages"] == [
        RULES, {"role": "user", "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)},
    ]  # fmt: skip
    assert told["reply"].startswith(char)


@pytest.mark.parametrize("char", ["가", "\x01", '"'])
def test_a_reply_a_thought_and_a_body_of_the_longest_fit_together(char: str) -> None:
    longest = char * (REPLY_BYTES // len(char.encode()))
    told, kept_apart = recorded(
        replace(
            attempt({"role": "user", "content": char * RECORD_BYTES}, reply=longest), reasoning=longest, raw=longest
        )
    )
    assert len(canonical_json(told)) <= RECORD_BYTES - REST_BYTES
    assert longest in (told["raw"], kept_apart)
    assert kept_apart is None or told["raw"] == hashlib.sha256(longest.encode()).hexdigest()
