"""Calls to engines, on a connection that takes everything."""

import asyncio
from typing import cast

import pytest
from nats.aio.client import Client
from playmolt_core.bus.calls import Calls
from playmolt_core.bus.nats_client import NatsClient
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.bus.roster import Roster

from core.tests.waiting import wait_until


class _Connection(Client):
    def __init__(self) -> None:
        super().__init__()
        self.packs = 0

    def send(self, *_: object) -> None:
        self.packs += 1


class _Nobody:
    def replica_for(self, _: str, __: str) -> None:
        return None


async def test_waiting_calls_are_looked_after_and_without_any_nothing_wakes(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = _Connection()
    timers: list[asyncio.TimerHandle] = []
    caller = Calls(
        cast(NatsClient, connection), cast(Roster, _Nobody()), access="all", deadline=1.0, sweep_seconds=0.01
    )
    loop = asyncio.get_running_loop()
    later = loop.call_later
    monkeypatch.setattr(loop, "call_later", lambda *timer: timers.append(later(*timer)) or timers[-1])
    for _ in range(2):  # also after it has come to rest once
        packs = connection.packs
        called = caller.submit("ox", "act", "ox-1")
        await wait_until(lambda before=packs: connection.packs > before)
        caller.resend()
        with pytest.raises(BusUnavailable):
            await called
        assert connection.packs > packs + 1
        await wait_until(lambda: caller._sweeping is None)
        assert [timer for timer in timers if not timer.cancelled() and timer.when() > loop.time()] == []
