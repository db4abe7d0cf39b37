"""A watcher's queue: bounded, and never called empty while it holds something."""

import asyncio

import pytest
from nats.aio.client import Client
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.bus.watches import MISSED, SubjectWatch, Watches, _Watched


@pytest.fixture
def watcher() -> SubjectWatch:
    return SubjectWatch(_Watched("spectate.ox.1", Watches(Client())))


async def test_messages_come_in_order_and_silence_is_none(watcher: SubjectWatch) -> None:
    watcher.put(b"1")
    watcher.put(b"2")
    assert [await watcher.next(0), await watcher.next(0), await watcher.next(0)] == [b"1", b"2", None]


@pytest.mark.parametrize("turns", range(4))
async def test_what_comes_while_a_wait_runs_out_is_not_called_silence(watcher: SubjectWatch, turns: int) -> None:
    """A burst with the closing message in it: whoever sees `closed` and silence has heard the closing message."""
    loop = asyncio.get_running_loop()

    def burst(after: int) -> None:
        if after:
            loop.call_soon(burst, after - 1)
            return
        watcher.closed = True
        watcher.put(b"the closing one")

    loop.call_soon(burst, turns)
    heard = []
    async with asyncio.timeout(30):
        while not watcher.closed or heard == []:
            message = await watcher.next(0)
            if message is not None:
                heard.append(message)
            assert heard or not watcher.closed, "closed and silent, but the closing message was not heard"
    assert heard == [b"the closing one"]


async def test_past_its_bound_it_forgets_and_reports_a_gap(watcher: SubjectWatch) -> None:
    for _ in range(1025):
        watcher.put(b"x")
    assert [await watcher.next(0), await watcher.next(0)] == [MISSED, None]


async def test_on_a_connection_that_is_closed_for_good_nothing_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    monkeypatch.setattr(Client, "is_closed", True)
    with pytest.raises(BusUnavailable, match="could not subscribe"):
        await Watches(client).watch("spectate.ox.1")
