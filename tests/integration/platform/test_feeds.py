"""Feeds on a whole platform: byte for byte what the log holds, whoever is killed, for whoever comes when."""

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.request import urlopen

import httpx
import msgspec
import pytest
from playmolt.bots import run_house_bots
from playmolt.client import AsyncClient
from playmolt.loop import Turn
from playmolt.retries import Retry
from playmolt_cli.games import deciders
from playmolt_schemas.api import Events, GameType
from playmolt_schemas.identifiers import rfc3339
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.platforms import Stack

GAME_SECONDS = 180
PATIENT = Retry(attempts=60, seconds=60)


def stored(stack: Stack, game_id: str) -> list[bytes]:
    """The game's public messages as the gateway gives them."""
    with urlopen(f"{stack.run.gateway}/api/games/{game_id}/events?limit=1000", timeout=60) as answer:  # noqa: S310 -- our own gateway
        return [bytes(raw) for raw in msgspec.json.decode(answer.read(), type=Events).events]


def metric(stack: Stack, name: str) -> int:
    """A counter of the spectator."""
    with urlopen(f"{stack.run.spectator}/metrics", timeout=60) as answer:  # noqa: S310 -- our own spectator
        lines = answer.read().decode().splitlines()
    return next(int(line.rpartition(" ")[2]) for line in lines if line.startswith(f"playmolt_spectator_{name} "))


async def watch(stack: Stack, game_id: str, after: int = 0) -> list[bytes]:
    """Everything after a version by WebSocket, coming back after every break, until the feed is closed with 1000."""
    seen: list[bytes] = []
    async with asyncio.timeout(GAME_SECONDS):
        while True:
            url = f"{stack.run.spectator.replace('http', 'ws')}/ws/games/{game_id}?after={after + len(seen)}"
            with suppress(OSError, InvalidHandshake, ConnectionClosed):
                async with connect(url) as socket:
                    async for message in socket:
                        if not str(message).startswith('{"type":"heartbeat"'):
                            seen.append(str(message).encode())  # noqa: PERF401 -- what came before a break counts
                if socket.close_code == 1000:
                    return seen
            await asyncio.sleep(0.05)


async def read_events(stack: Stack, game_id: str, after: int = 0) -> list[bytes]:
    """The same by server-sent events, up to a closing message."""
    seen: list[bytes] = []
    async with asyncio.timeout(GAME_SECONDS):
        while not (seen and json.loads(seen[-1])["type"] in ("game_end", "game_aborted")):
            with suppress(OSError, asyncio.IncompleteReadError):
                await _read_on(stack, game_id, after, seen)
            await asyncio.sleep(0.05)
    return seen


async def _read_on(stack: Stack, game_id: str, after: int, seen: list[bytes]) -> None:
    host, port = stack.run.spectator.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        last = after + len(seen)
        writer.write(f"GET /sse/games/{game_id} HTTP/1.1\r\nHost: x\r\nLast-Event-ID: {last}\r\n\r\n".encode())
        if b" 200 " not in await reader.readuntil(b"\r\n\r\n"):
            return
        while event := await reader.readuntil(b"\n\n"):
            if not event.startswith(b":"):
                identifier, data = event[:-2].split(b"\ndata: ", 1)
                assert identifier == b"id: %d" % (after + len(seen) + 1)
                seen.append(data)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def lobby(stack: Stack, told: list[dict[str, Any]], listening: asyncio.Event) -> None:
    """Keep what the lobby tells; a spectator that was killed just now is connected to once it is back."""
    while True:
        with suppress(OSError, InvalidHandshake, ConnectionClosed):
            async with connect(f"{stack.run.spectator.replace('http', 'ws')}/ws/lobby") as socket:
                listening.set()
                async for message in socket:
                    told.append(json.loads(message))  # noqa: PERF401 -- others read the list meanwhile
        await asyncio.sleep(0.05)


async def begun(told: list[dict[str, Any]], game: GameType, since: str) -> str:
    """The game of a type that began since then: others may have left one here that nobody plays to its end."""
    async with asyncio.timeout(60):
        while True:
            for message in told:
                if (message["type"], message.get("gameType")) == ("game_started", game) and message["at"] >= since:
                    return str(message["game_id"])
            await asyncio.sleep(0.01)


async def copied(stack: Stack) -> None:
    """Wait until both streams end where the log does: before that, history comes from the engine."""
    key = {"Authorization": f"Bearer {stack.run.operator_key}"}
    async with asyncio.timeout(60), httpx.AsyncClient(base_url=stack.run.gateway, headers=key, timeout=60) as client:
        while True:
            lag = (await client.get("/api/admin/lag")).json()
            if lag["events"] == lag["spectate"] == lag["log"]:
                return
            await asyncio.sleep(0.05)


@pytest.fixture
def platform(running: Stack) -> Stack:
    return running


@pytest.mark.parametrize("game", ["ox", "trial"])
async def test_every_reader_sees_what_the_log_holds(platform: Stack, game: GameType) -> None:
    told: list[dict[str, Any]] = []
    connected = asyncio.Event()
    listening = asyncio.create_task(lobby(platform, told, connected))
    async with asyncio.timeout(60):
        await connected.wait()
    since = rfc3339(datetime.now(UTC))
    playing = asyncio.create_task(run_house_bots(platform.run.gateway, game, deciders()[game].needed, seed=game))
    game_id = await begun(told, game, since)
    live = asyncio.gather(*(watch(platform, game_id) for _ in range(10)), read_events(platform, game_id))
    await playing
    seen = await live
    log = stored(platform, game_id)
    assert [json.loads(message)["version"] for message in log] == list(range(1, len(log) + 1))
    assert all(messages == log for messages in seen)
    middle = len(log) // 2
    assert await watch(platform, game_id, middle) == log[middle:]
    assert await read_events(platform, game_id, middle) == log[middle:]
    async with asyncio.timeout(60):
        while ("game_end", game_id) not in [(message["type"], message.get("game_id")) for message in told]:
            await asyncio.sleep(0.05)
    kinds = [message["type"] for message in told if message.get("game_id") == game_id]
    assert kinds.count("game_started") == 1
    assert kinds == sorted(kinds, key=["game_waiting", "game_started", "game_end"].index)
    listening.cancel()
    await asyncio.wait([listening])


async def test_a_late_reader_of_a_running_game_is_served_by_nats(platform: Stack) -> None:
    async with AsyncClient(platform.run.gateway) as client:
        await client.register("early")
        game_id = (await client.join("ox")).game_id
        url = f"{platform.run.spectator.replace('http', 'ws')}/ws/games/{game_id}"
        await copied(platform)
        before = metric(platform, 'backfills_total{source="nats"}')
        async with asyncio.timeout(60), connect(f"{url}?after=1000000"), connect(url) as late:
            first = await late.recv(decode=False)
        assert first == stored(platform, game_id)[0]
        assert metric(platform, 'backfills_total{source="nats"}') == before + 1
        await client.leave(game_id)


async def play_slowly(client: AsyncClient, number: int) -> None:
    """An O/X bot that takes its time, so that something can happen to the platform meanwhile."""

    async def act(turn: Turn) -> dict[str, Any]:
        await asyncio.sleep(0.4)
        if turn.state["phase"] == "switch":
            return {"type": "switch", "use_switch": False}
        return {"type": "first_choice", "choice": "OX"[number % 2], "comment": "slowly"}

    await client.play(act, "ox")


async def test_killed_processes_cost_no_reader_a_message(platform: Stack) -> None:
    clients = [AsyncClient(platform.run.gateway, retry=PATIENT) for _ in range(5)]
    for number, client in enumerate(clients):
        await client.register(f"slow {number}")
        game_id = (await client.join("ox")).game_id
    playing = asyncio.gather(*(play_slowly(client, number) for number, client in enumerate(clients)))
    live = asyncio.gather(*(watch(platform, game_id) for _ in range(5)), read_events(platform, game_id))
    for name in ("spectator-1", "nats", "ox-engine-1", "relay-1", "spectator-1"):
        await asyncio.sleep(1)
        with suppress(KeyError, ProcessLookupError):  # still being started anew after the last blow
            platform.kill(name)
    await asyncio.wait_for(playing, GAME_SECONDS)
    seen = await live
    log = stored(platform, game_id)
    assert json.loads(log[-1])["type"] == "game_end"
    assert all(messages == log for messages in seen)
    for client in clients:
        await client.aclose()
