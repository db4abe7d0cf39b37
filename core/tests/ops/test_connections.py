"""Who stays and who goes: the limiter with connections that are moved by hand."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playmolt_core.ops.connections import (
    CONNECTIONS,
    OWN_FILES,
    SPARE,
    Bounds,
    ClientConnection,
    ConnectionLimiter,
    bounds,
)
from playmolt_core.settings import Settings
from typing_extensions import override


class Line(asyncio.Transport):
    """A connection of somebody, with so many bytes that wait to be read."""

    def __init__(self, address: str = "192.0.2.1") -> None:
        super().__init__({"peername": (address, 1)})
        self.ended = ""
        self.unread = 0

    @override
    def is_closing(self) -> bool:
        return self.ended != ""

    @override
    def close(self) -> None:
        self.ended = self.ended or "closed"

    @override
    def abort(self) -> None:
        self.ended = "aborted"

    @override
    def get_write_buffer_size(self) -> int:
        return self.unread


class Clock:
    def __init__(self, limiter: ConnectionLimiter) -> None:
        self.seconds, self._limiter = 1000.0, limiter
        limiter.now = lambda: self.seconds

    def move(self, seconds: float) -> None:
        self.seconds += seconds
        for held in tuple(self._limiter._all):
            held.check(self.seconds)


@pytest.fixture
async def limiter() -> AsyncIterator[ConnectionLimiter]:
    made = ConnectionLimiter(Bounds(total=4, per_address=2, spare=1))
    yield made
    if made._timer:
        made._timer.cancel()


def entered(limiter: ConnectionLimiter, address: str = "192.0.2.1") -> tuple[ClientConnection, Line]:
    line = Line(address)
    held = limiter.admit(line)
    assert held
    return held, line


@pytest.mark.parametrize(
    ("stands", "seconds"), [("rests", 75), ("sends_head", 10), ("sends_body", 35), ("is_answered", 0)]
)
async def test_each_state_has_its_time(limiter: ConnectionLimiter, stands: str, seconds: float) -> None:
    clock = Clock(limiter)
    held, line = entered(limiter)
    getattr(held, stands)()
    clock.move(seconds - 1 if seconds else 10_000)
    assert line.ended == ""
    clock.move(2)
    assert line.ended == ("closed" if seconds else "")


async def test_what_was_closed_and_is_not_taken_is_aborted(limiter: ConnectionLimiter) -> None:
    clock = Clock(limiter)
    held, line = entered(limiter)
    held.closes()
    line.close()
    clock.move(9)
    assert line.ended == "closed"
    clock.move(2)
    assert line.ended == "aborted"


async def test_answers_that_nobody_reads_end_their_connection(limiter: ConnectionLimiter) -> None:
    clock = Clock(limiter)
    held, line = entered(limiter)
    held.is_answered()
    line.unread = 100_000
    held.is_unread()
    for _ in range(20):  # a slow reader is a reader
        clock.move(9)
        line.unread -= 1
        clock.move(0)
    assert line.ended == ""
    clock.move(9)
    line.unread += 1_000  # more to read is nothing read
    clock.move(2)
    assert line.ended == "aborted"


async def test_the_oldest_idle_one_of_an_address_goes_first(limiter: ConnectionLimiter) -> None:
    (first, one), (second, two) = entered(limiter), entered(limiter)
    first.is_answered()
    first.rests()  # now the second has waited longer
    _, three = entered(limiter)
    assert (one.ended, two.ended, three.ended) == ("", "aborted", "")
    second.forget()  # its server hears of it later
    assert len(limiter) == 2


async def test_the_oldest_idle_one_of_all_goes_first(limiter: ConnectionLimiter) -> None:
    lines = [entered(limiter, f"192.0.2.{number}")[1] for number in range(1, 5)]
    entered(limiter, "192.0.2.9")
    assert [line.ended for line in lines] == ["aborted", "", "", ""]
    assert len(limiter) == 4


async def test_who_is_answered_is_not_put_out_and_what_is_left_is_for_probes(limiter: ConnectionLimiter) -> None:
    for _ in range(2):
        entered(limiter)[0].is_answered()
    spare, line = entered(limiter)
    assert spare.spare
    entered(limiter)  # a spare one that waits gives way to the next
    assert line.ended == "aborted"
    another, _ = entered(limiter, "192.0.2.2")
    assert not another.spare


async def test_without_any_room_nobody_is_taken(limiter: ConnectionLimiter) -> None:
    for _ in range(3):
        entered(limiter)[0].is_answered()
    assert limiter.admit(Line()) is None


async def test_who_goes_leaves_room_and_nothing_else(limiter: ConnectionLimiter) -> None:
    for _ in range(3):
        helds = [entered(limiter, f"192.0.2.{number}")[0] for number in (1, 2, 3)]
        for held in helds:
            held.is_answered()
            held.forget()
            held.forget()
    assert (len(limiter), len(limiter.waiting), limiter._addresses, limiter._spare) == (0, 0, {}, 0)


@pytest.mark.parametrize(
    ("one", "other"), [("2001:db8::1", "2001:db8::2"), ("::ffff:192.0.2.1", "192.0.2.1"), ("fe80::1%eth0", "fe80::2")]
)
async def test_addresses_of_one_customer_count_together(limiter: ConnectionLimiter, one: str, other: str) -> None:
    entered(limiter, one)[0].is_answered()
    entered(limiter, other)[0].is_answered()
    assert entered(limiter, one)[0].spare


async def test_the_timer_looks_by_itself_and_ends_with_the_last() -> None:
    quick = ConnectionLimiter(Bounds(head=0.05))
    held, line = entered(quick)
    held.sends_head()
    async with asyncio.timeout(8):
        while not line.ended:
            await asyncio.sleep(0.01)
    held.forget()
    async with asyncio.timeout(8):
        while quick._timer:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("files", [256, 300, 1024, 20_000, 1_048_576])
def test_a_process_keeps_files_for_itself(files: int) -> None:
    within = bounds(Settings(), files)
    assert within.total + SPARE + min(OWN_FILES, files // 4) <= files
    assert within.total >= files // 2 or within.total == CONNECTIONS
    assert within.per_address >= min(within.total // 2, 100), "a bot's author has one address"
    assert within.per_address <= within.total // 2


def test_an_operator_says_how_many_a_proxy_may_have() -> None:
    settings: Any = {"connections_per_address": 700, "idle_seconds": 620}
    within = bounds(Settings(**settings), 1024)
    assert (within.per_address, within.idle) == (700, 620)
