"""How long a request is tried."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playmolt import RateLimited, Retry, Unavailable, calls
from playmolt.retries import RetryAfter, RetryState, retry_after

RETRY = Retry()


@given(failures=st.integers(1, 60), at_least=st.floats(0, 1000))
def test_a_pause_is_never_shorter_than_asked_and_never_much_longer(failures: int, at_least: float) -> None:
    pause = RETRY.pause(failures, at_least)
    assert at_least <= pause <= max(RETRY.cap, at_least + RETRY.base)


def test_pauses_differ_so_that_bots_do_not_come_back_as_one() -> None:
    assert len({RETRY.pause(3) for _ in range(20)}) > 10
    assert len({RETRY.pause(1, 5.0) for _ in range(20)}) > 10


@given(st.text())
def test_no_header_breaks_the_client(text: str) -> None:
    assert retry_after({"retry-after": text}, 1.5) >= 0


@pytest.mark.parametrize(("text", "seconds"), [("7", 7.0), ("", 1.5), ("soon", 1.5), ("-3", 1.5)])
def test_retry_after_in_seconds_or_the_default(text: str, seconds: float) -> None:
    assert retry_after({"retry-after": text}, 1.5) == seconds


def test_retry_after_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 28 < retry_after({"retry-after": later}) <= 30
    assert retry_after({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}) == 0


def test_attempts_end_with_the_time_even_when_there_are_some_left() -> None:
    now = [0.0]
    tries = RetryState(calls.me(), Retry(attempts=100, seconds=10), lambda: now[0])
    assert isinstance(tries.answered(503, {}, b"{}"), RetryAfter)
    now[0] = 11.0
    with pytest.raises(Unavailable):
        tries.answered(503, {}, b"{}")


def test_a_long_poll_has_its_wait_on_top() -> None:
    now = [0.0]
    tries = RetryState(calls.turn(wait=30), Retry(attempts=100, seconds=10), lambda: now[0])
    now[0] = 30.0
    assert isinstance(tries.answered(503, {}, b"{}"), RetryAfter)


def test_a_registration_without_an_answer_is_sent_again_and_a_new_key_is_not() -> None:
    lost = httpx.RemoteProtocolError("the server went away")
    assert RetryState(calls.register("ada"), RETRY).failed(lost) > 0
    with pytest.raises(Unavailable, match="cannot be retried safely"):
        RetryState(calls.rotate_key(), RETRY).failed(lost)


@pytest.mark.parametrize("body", [b"slow down", b"", b'{"code":"rate_limited"}'])
def test_a_429_of_what_stands_in_front_is_heeded(body: bytes) -> None:
    tries = RetryState(calls.me(), Retry(attempts=2))
    again = tries.answered(429, {"retry-after": "3"}, body)
    assert isinstance(again, RetryAfter)
    assert again.pause >= 3
    with pytest.raises(RateLimited):
        tries.answered(429, {"retry-after": "3"}, body)
