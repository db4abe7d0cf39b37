"""A streamed reply heard as it comes, in chunks cut anywhere, without what its model thinks first."""

import json
from collections.abc import Iterable

import pytest
from playmolt_core.llm.openai.speech import Speech


class CapacitySignal:
    def __init__(self) -> None:
        self.text = ""

    def begin(self) -> None: ...

    def say(self, text: str) -> None:
        self.text += text

    def end(self) -> None: ...


def stream(*pieces: str) -> bytes:
    events = [{"choices": [{"delta": {"content": piece}}]} for piece in pieces]
    return b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events) + b"data: [DONE]\n\n"


def heard(body: bytes, size: int) -> str:
    listener = CapacitySignal()
    speech = Speech(listener)
    for start in range(0, len(body), size):
        speech.feed(body[start : start + size])
    return listener.text


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        (['{"a": "한', '글"}'], '{"a": "한글"}'),
        (["<thi", "nk>{ no }", "</think>", '{"a": 1}'], '{"a": 1}'),
        (["  ", '{"a": "<think>"}'], '{"a": "<think>"}'),
        (["<think>never ends"], ""),
    ],
)
def test_only_the_reply_is_heard(pieces: Iterable[str], told: str, size: int) -> None:
    assert heard(stream(*pieces), size) == told


def test_what_is_not_a_piece_is_left_out() -> None:
    body = b"data: nonsense\n\ndata: {}\n\n: comment\n\ndata: " + b"x" * 300_000
    assert heard(body + b"\n\n" + stream("said"), 4096) == "said"
