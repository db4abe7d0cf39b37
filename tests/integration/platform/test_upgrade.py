"""Every process of the platform replaced, a second relay beside, while games, a session and an experiment go on."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import httpx
from playmolt.calls import Request
from playmolt.errors import Unavailable
from playmolt.retries import Retry
from playmolt_core.db.migrate import migrate, pending
from playmolt_schemas.api import ActionAccepted, GameType
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.integration.agora.experiment_operator import Operator, square_plan, turns_of
from tests.integration.legal.person import Person
from tests.integration.log.later_release import POST, PRE, later_release
from tests.integration.platform.replica import Replica
from tests.integration.platform.test_play import Table, Witness, check
from tests.platforms import Stack

StackFactory = Callable[..., Stack]
SECONDS = 480
READY_SECONDS = 90
THINKING = 0.5


class Regular(Witness):
    """A bot's client as the SDK ships it: its own retries and no more. What these do not bridge is a fault."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._retry = Retry()
        self.faults: list[str] = []
        self.slowest = 0.0

    async def send(self, request: Request[Any]) -> Any:
        began = time.monotonic()
        try:
            answer = await super().send(request)
        except Unavailable as error:
            self.faults.append(str(error))
            raise
        if isinstance(answer, ActionAccepted):
            self.slowest = max(self.slowest, time.monotonic() - began)
        return answer


class Told:
    """What a client was told of one game."""

    def __init__(self, receipts: list[str]) -> None:
        self.receipts = receipts


class Round(Table):
    """The game that the regulars of a type play together now."""

    def __init__(self, stack: Stack, game: GameType, clients: list[Regular]) -> None:
        super().__init__(stack, game)
        self.clients = list(clients)

    async def play(self) -> None:
        """Play, and keep the receipts of this game apart from those of the next."""
        players: list[Regular] = self.clients
        for client in players:
            client.receipts = []
        await super().play()
        self.clients = [Told(client.receipts) for client in players]

    async def sit(self) -> None:
        joined = await asyncio.gather(*(client.join(self.game) for client in self.clients))
        self.ids = [one.game_id for one in joined]

    @staticmethod
    def _paced(bot: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def act(turn: Any) -> Any:
            await asyncio.sleep(THINKING)
            return bot(turn)

        return act


async def follow(feeds: list[str], game_id: str) -> list[bytes]:
    """What somebody sees who, after each break, goes on at the next spectator, until the feed closes."""
    seen: list[bytes] = []
    turn = 0
    while True:
        turn += 1
        with suppress(OSError, InvalidHandshake, ConnectionClosed):
            base = feeds[turn % len(feeds)].replace("http", "ws")
            async with connect(f"{base}/ws/games/{game_id}?after={len(seen)}") as socket:
                async for message in socket:
                    if not str(message).startswith('{"type":"heartbeat"'):
                        seen.append(str(message).encode())  # noqa: PERF401 -- what came before a break counts
            if socket.close_code == 1000:
                return seen
        await asyncio.sleep(0.1)


class Load:
    """Games in a row of both types, each watched, until `enough` is set."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._feeds = [
            url.removesuffix("/readyz") for name, url in stack.run.health.items() if name.startswith("spectator")
        ]
        self.enough = asyncio.Event()
        self.rounds: list[Round] = []
        self.watching: dict[str, asyncio.Task[list[bytes]]] = {}
        self.clients: list[Regular] = []

    async def regulars(self, game: GameType, count: int) -> list[Regular]:
        clients = [Regular(self._stack.run.gateway) for _ in range(count)]
        for number, client in enumerate(clients):
            await client.register(f"{game} {number}")
        self.clients += clients
        return clients

    async def another_action(self) -> None:
        """Wait until one more action is accepted."""
        before = [list(client.receipts) for client in self.clients]
        while [list(client.receipts) for client in self.clients] == before:
            await asyncio.sleep(0.05)

    def slowest(self) -> float:
        """How long the slowest action was on its way since this was asked last."""
        found = max(client.slowest for client in self.clients)
        for client in self.clients:
            client.slowest = 0.0
        return found

    async def another_game(self) -> None:
        """Wait until a game began after another of its type had ended."""
        while len(self.rounds) <= len({table.game for table in self.rounds}):
            await asyncio.sleep(0.05)

    async def play(self, game: GameType, clients: list[Regular]) -> None:
        while not self.enough.is_set():
            table = Round(self._stack, game, clients)
            await table.sit()
            (game_id,) = set(table.ids)
            self.watching[game_id] = asyncio.create_task(follow(self._feeds, game_id))
            self.rounds.append(table)
            await table.play()


@asynccontextmanager
async def under_load(stack: Stack) -> AsyncIterator[Load]:
    """Let games, a legal session and an experiment go on inside; then see them to their ends and check everything."""
    load = Load(stack)
    seats: tuple[tuple[GameType, int], ...] = (("ox", 5), ("trial", 6))
    seated = {game: await load.regulars(game, count) for game, count in seats}
    async with Person(stack.run.gateway) as person, Operator(stack) as operator:
        await person.open()
        experiment = await operator.open(square_plan(turns=3))
        games = [asyncio.create_task(load.play(game, clients)) for game, clients in seated.items()]
        session = asyncio.create_task(_argue(person))
        yield load
        load.enough.set()
        await asyncio.gather(session, *games)
        await operator.until(experiment, "finished")
        for run in await operator.runs(experiment):
            assert len(turns_of(await operator.events(run["run"]))) == run["turns_planned"]
    feeds = {game_id: await task for game_id, task in load.watching.items()}
    assert [fault for client in load.clients for fault in client.faults] == []
    await check(stack, load.rounds, feeds)
    for client in load.clients:
        await client.aclose()


async def _argue(person: Person) -> None:
    await person.tell()
    focus = (await person.gate("round1"))["gate"]["issues"][0]
    await person.argue(focus=focus)
    await person.finish()


async def roll(stack: Stack, name: str) -> None:
    """Replace one process as a rollout does: SIGTERM, drain, start, wait until it is ready."""
    before = stack.run.processes[name]
    log = stack.folder.log(name)
    written = log.stat().st_size
    os.kill(before, signal.SIGTERM)
    until = time.monotonic() + READY_SECONDS
    while not await _is_ready(stack, name, before, written):
        assert time.monotonic() < until, f"{name} is not back: {log.read_text()[written:][-2000:]}"
        await asyncio.sleep(0.1)
    told = log.read_text()[written:]
    assert "Traceback" not in told, told[-2000:]


async def _is_ready(stack: Stack, name: str, before: int, written: int) -> bool:
    run = stack.run
    if run.processes.get(name, before) == before:
        return False
    started = stack.folder.log(name).read_text()[written:]
    up = any(f'"event": "{event}"' in started for event in ("serving", "ready", "relay_up"))
    async with httpx.AsyncClient(timeout=30) as client:
        with suppress(httpx.TransportError):
            return up and (await client.get(run.health[name] + "?self")).status_code == 200
    return False


def rolling(stack: Stack) -> list[list[str]]:
    """The order of a rollout: those that serve others first, those that callers reach last.

    Engines of different games are replaced at once, one replica of each at a time, as a cluster replaces Deployments.
    """
    servers = ("postgres", "nats", "evm")
    ranks = {"relay": 0, "gateway": 2, "spectator": 3}

    def turn(name: str) -> tuple[int, str]:
        service, _, number = name.rpartition("-")
        return ranks.get(service, 1), number

    names = sorted((name for name in stack.run.processes if not name.startswith(servers)), key=turn)
    return [list(group) for _, group in groupby(names, key=turn)]


async def replaced(stack: Stack, load: Load) -> None:
    """Replace every process of ours, and tell how long the slowest action took while each was replaced."""
    for names in rolling(stack):
        load.slowest()
        await asyncio.gather(*(roll(stack, name) for name in names))
        await load.another_action()
        print(f"{', '.join(names)} replaced: the slowest action took {load.slowest():.2f} s")


async def _copied_whole(stack: Stack) -> None:
    """Both streams end where the log does, and nothing stands in them twice: sequence k is position k."""
    key = {"Authorization": f"Bearer {stack.run.operator_key}"}
    client = httpx.AsyncClient(base_url=stack.run.gateway, headers=key, timeout=READY_SECONDS)
    async with asyncio.timeout(READY_SECONDS), client:
        while True:
            lag = (await client.get("/api/admin/lag")).json()
            if lag["events"] == lag["spectate"] == lag["log"]:
                return
            await asyncio.sleep(0.1)


async def test_a_rollout_there_and_back_with_its_migrations_loses_no_action_and_drops_no_game(
    stack: StackFactory, folder: Path
) -> None:
    running = stack("--engines", "2", "--gateways", "2", "--spectators", "2")
    url, files = running.run.database_url, later_release(folder / "migrations")
    old = running.run.processes
    beside = Replica(running, "relay-1", "playmolt_core.relay", "PLAYMOLT_HEALTH_PORT")
    assert await pending(url, folder=files) == PRE + POST
    with beside:
        async with asyncio.timeout(SECONDS), under_load(running) as load:
            assert await migrate(url, "pre", folder=files) == PRE
            await replaced(running, load)
            await load.another_game()
            assert await migrate(url, "pre") == [], "on the way back the former release bears what it does not know"
            await replaced(running, load)
            await asyncio.to_thread(beside.roll)
            assert await migrate(url, "post", folder=files) == POST
            await load.another_action()  # on the new schema
            await load.another_game()
        await _copied_whole(running)
        told = beside.log.read_text()
        assert "feed_broken" not in told + running.folder.log("relay-1").read_text(), "two relays did not disturb"
        assert "Traceback" not in told
    new = running.run.processes
    rolled = {name for names in rolling(running) for name in names}
    assert {name for name in new if old[name] != new[name]} == rolled, "each was replaced, no server was"
