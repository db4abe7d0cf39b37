"""What a body costs: of 64 KiB, whatever it holds, taken or refused, no more than a fixed piece of work."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playmolt_core.effects.callbacks.client import _object
from playmolt_core.engine.pending_call import BadBody, PendingCall, api_request
from playmolt_core.llm.parsing import parse_object
from playmolt_core.ops.json_values import decode_json, whole_numbers
from playmolt_gateway.http.bodies import parse
from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.mcp.messages import message_of
from playmolt_schemas.envelopes import Call, Op
from playmolt_schemas.limits import BODY_BYTES, BODY_VALUES

FLOATS = [b"1e308", b"1e-300", b"9.87654321e99", b"-1E+307", b"0.1234567890123456789", b"1" * 40, b"1.5", b"0"]
OTHERS = [
    b"[]",
    b"{}",
    b'""',
    b"null",
    b'"\\ud800"',
    b'"\\u00e9"',
    b"[" * 90 + b"]" * 90,
    b'{"a":' * 90 + b"0" + b"}" * 90,
]


def filled(value: bytes, before: bytes = b"[", after: bytes = b"]", most: int = BODY_BYTES) -> bytes:
    count = min((BODY_BYTES - 2) // (len(value) + 1), most)
    return before + b",".join([value] * count) + after


CORPUS = [
    *(filled(value) for value in FLOATS + OTHERS),
    *(filled(value, most=BODY_VALUES - 100) for value in FLOATS),
    *(
        filled(value, most=BODY_VALUES // len(value.strip(b'"0123456789')) if len(value) > 4 else 2_000)
        for value in OTHERS
    ),
    *(filled(b'"key":' + value, b"{", b"}") for value in FLOATS),
    *(filled(value) + b"x" for value in FLOATS),
    *(filled(value)[:-1] for value in OTHERS),
    b'"' + b'\\"' * 32_000,
    b'"' + b"\\u0000" * 10_000 + b'"',
    b'"' * 65_536,
    b"\\" * 65_536,
    b'["' + b"\\ud800" * 10_000 + b'"]',
    b"1" * BODY_BYTES,
    b"1." + b"1" * 65_000,
    b"[" * BODY_BYTES,
    b'{"a":' * 13_000,
    b" " * BODY_BYTES,
    b"\xff" * BODY_BYTES,
    b"-" * BODY_BYTES,
    b"e1" * 32_000,
]


TICK = 20e-6
"""What a measurement costs by itself."""


def seconds(work: Callable[[], Any], times: int = 5) -> float:
    """Processor time, the least of several: what comes on top is the machine's."""
    costs = []
    for _ in range(times):
        started = time.process_time()
        work()
        costs.append(time.process_time() - started)
    return min(costs)


def _yardstick() -> None:
    """Some 5 ms of a machine on which the product is measured."""
    sum(number * number for number in range(140_000))


@cache
def _measured() -> float:
    return seconds(_yardstick)


def costs_no_more(work: Callable[[], Any]) -> bool:
    """Whether some work is less than the yardstick; looked at again where it is not: a machine may be taken away."""
    return seconds(work, 1) < _measured() or any(seconds(work) < seconds(_yardstick) for _ in range(5))


def test_no_body_costs_more_than_a_piece_of_work() -> None:
    for body in CORPUS:
        assert len(body) <= BODY_BYTES
        assert costs_no_more(partial(parse, body)), body[:40]


NUMBERS = [
    b"2.2250738585072011e-308", b"-2.2250738585072011E-308", b"4.9e-324", b"1.7976931348623157e308", b"1e-300",
    b"12345678901234567890", b"-12345678901234567890", b"9" * 40, b"9007199254740993.0", b"8.7654321987654321e99",
    b"8.7654321987654321e-99", b"0.1234567890123456789", b"1e22", b"0." + b"0" * 300 + b"1", b"1e-0000000001",
    b"3.0", b"0.5", b"1" * 4_000,
]  # fmt: skip
HARMLESS = b'["' + b"x" * (BODY_BYTES - 4) + b'"]'


def _answer_of_a_callback(body: bytes) -> None:
    _object(body)


def _reply_of_a_model(body: bytes) -> None:
    parse_object(body.decode())


@pytest.mark.parametrize("read", [parse, message_of, decode_json, _answer_of_a_callback, _reply_of_a_model])
def test_numbers_cost_no_more_than_to_the_standard_library(read: Callable[[bytes], Any]) -> None:
    """Under three times `json.loads`, beside a harmless body of that length."""
    for number in NUMBERS:
        for most in (20, BODY_VALUES - 100):
            _reads_at_moderate_cost(read, filled(number, most=most))


def _reads_at_moderate_cost(read: Callable[[bytes], Any], body: bytes) -> None:
    harmless = HARMLESS[: len(body) - 2] + b'"]'

    def taken(work: Callable[[bytes], Any], on: bytes) -> float:
        with suppress(ValueError):
            return seconds(lambda: work(on))
        return 0.0

    def bounded() -> bool:
        allowed = 3 * taken(json.loads, body) + taken(read, harmless) + TICK
        with suppress(ValueError):
            return seconds(lambda: read(body)) < allowed
        return True

    assert any(bounded() for _ in range(20)), body[:40]


def _called(op: Op, body: bytes) -> PendingCall:
    return PendingCall(Call(0, op, "jury-1", body, agent="agent-1", command_id="0" * 32), lambda _: None)


def _acts(body: bytes) -> None:
    """What an engine does with an action's body before its rules see it."""
    whole_numbers(_called("act", body).carried())


def _commands(body: bytes) -> None:
    """What an engine does with the body of a game's own call."""
    envelope = {"route": "jury_open", "params": {}, "query": {}, "body": msgspec.Raw(body)}
    with suppress(BadBody):
        api_request(_called("command", msgspec.json.encode(envelope)))


def _costs_an_engine_no_more(body: bytes) -> None:
    if isinstance(refused := parse(body), HttpProblem):
        assert len(refused.body()) < 1_000
        return
    assert costs_no_more(lambda: _acts(body)), body[:40]
    assert costs_no_more(lambda: _commands(body)), body[:40]


def test_an_engine_that_decodes_after_the_gateway_pays_no_more() -> None:
    for body in CORPUS:
        _costs_an_engine_no_more(body)


parts = st.sampled_from([*FLOATS, *OTHERS, b",", b":", b'"', b"\\", b"[", b"]", b"{", b"}", b" ", b"e", b"1", b"\xc3"])


@settings(max_examples=50, deadline=None)
@given(st.lists(parts, min_size=1, max_size=12), st.lists(parts, max_size=3))
def test_whatever_is_repeated_it_costs_no_more(repeated: list[bytes], end: list[bytes]) -> None:
    piece = b"".join(repeated)
    body = (piece * (BODY_BYTES // len(piece)) + b"".join(end))[:BODY_BYTES]
    for tried in (body, b"[" + body[: BODY_BYTES - 2] + b"]"):
        assert costs_no_more(partial(parse, tried))
        _costs_an_engine_no_more(tried)


@pytest.mark.parametrize("text", ["1e308 " * 500, "[[[[" * 2_000, ", " * 9_000, "9" * 5_000, '\\"' * 3_000])
def test_what_a_text_says_is_not_a_value(text: str) -> None:
    value = {"text": text, "number": 1.5e10}
    assert parse(json.dumps(value).encode()) == value


@pytest.mark.parametrize("value", ["1e308", "-1E+100", "1" * 41, "0." + "3" * 60])
def test_a_number_beyond_its_bounds_says_so(value: str) -> None:
    refused = parse(b'{"a": "%s", "b": %s}' % (b"x" * 600, value.encode()))
    assert isinstance(refused, HttpProblem)
    assert "number" in refused.detail


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400", "-1e999", "9" * 5_000, "1" * 310 + ".0"])
@pytest.mark.parametrize("beside", ["", "x" * 600])
def test_no_words_of_a_decoder_are_reported(number: str, beside: str) -> None:
    refused = parse(b'{"text":"%s","number":%s}' % (beside.encode(), number.encode()))
    assert isinstance(refused, HttpProblem)
    assert refused.detail.startswith(("The body is not valid JSON", "The body has a number that is too long"))
    assert len(refused.detail) < 200
