"""Calls to engines, on a connection that takes everything."""

import asyncio
from typing import Any, cast

import pytest
from nats.aio.client import Client
from playmolt_core.bus.calls import Calls
from playmolt_core.bus.nats_client import NatsClient
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.bus.roster import Roster


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
    timers: list[Any] = []
    caller = Calls(
        cast(NatsClient, connection), cast(Roster, _Nobody()), public_only=False, deadline=0.2, sweep_seconds=0.01
    )
    loop = asyncio.get_running_loop()
    later = loop.call_later
    monkeypatch.setattr(loop, "call_later", lambda *told: (timers.append(told), later(*told))[1])
    for _ in range(2):  # also after it has come to rest once
        packs = connection.packs
        called = caller.submit("ox", "act", "ox-1")
        await asyncio.sleep(0.02)
        caller.resend()
        with pytest.raises(BusUnavailable):
            await called
        assert connection.packs > packs + 1
        await asyncio.sleep(0.05)
        timers.clear()
        await asyncio.sleep(0.1)
        assert [what for _, what, *_ in timers if what == caller._sweep] == []
