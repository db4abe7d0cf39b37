"""Games played to the end on a whole platform while parts of it are killed: nothing accepted is lost or doubled."""

import asyncio
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec
import pytest
from playmolt.bots import seats
from playmolt.calls import Request
from playmolt.client import AsyncClient
from playmolt.retries import Retry
from playmolt_cli.games import deciders
from playmolt_cli.local.embedded import free_port
from playmolt_core.db.pool import open_pool
from playmolt_core.log.postgres import log_of
from playmolt_core.log.verify import verify
from playmolt_schemas.api import ActionAccepted, Events, GameType

from core.tests.waiting import wait_until
from tests.integration.watching import watch
from tests.platforms import Stack

StackFactory = Callable[..., Stack]
SIZE: dict[GameType, int] = {"ox": 5, "trial": 6}
SECONDS = 200.0
PATIENT = Retry(attempts=60, seconds=60)


class Witness(AsyncClient):
    """A client that keeps the receipt of every accepted action."""

    def __init__(self, url: str) -> None:
        super().__init__(url, retry=PATIENT)
        self.receipts: list[str] = []

    async def send(self, request: Request[Any]) -> Any:
        answer = await super().send(request)
        if isinstance(answer, ActionAccepted) and answer.hash:
            self.receipts.append(answer.hash)
        return answer


class Table:
    """Bots at several games of one type, and what they were told."""

    def __init__(self, stack: Stack, game: GameType, games: int = 1) -> None:
        self.game = game
        self.bots = seats(game, SIZE[game] * games, seed=f"table {game}")
        self.clients = [Witness(stack.run.gateway) for _ in self.bots]
        self.ids: list[str] = []
        self.goes_on = asyncio.Event()
        """The last seat of each game acts only when this is set: until then no game is over."""
        self.goes_on.set()
        self._holds: set[str] = set()
        """Games whose last seat has been asked to act."""

    async def sit(self) -> None:
        for number, client in enumerate(self.clients):
            await client.register(f"{self.game} {number}")
            self.ids.append((await client.join(self.game)).game_id)

    @property
    def is_played(self) -> bool:
        """Whether somebody has acted in each game, or its last seat could."""
        acted = {game for game, client in zip(self.ids, self.clients, strict=True) if client.receipts}
        return acted | self._holds == {*self.ids}

    async def play(self) -> None:
        paced = [self._paced(bot) for bot in self.bots]
        for last in range(SIZE[self.game] - 1, len(paced), SIZE[self.game]):
            paced[last] = self._held(paced[last], self.ids[last])
        await asyncio.gather(
            *(
                client.play(bot, self.game, game_id=game_id, patience=SECONDS)
                for client, bot, game_id in zip(self.clients, paced, self.ids, strict=True)
            )
        )

    def _held(self, bot: Callable[[Any], Awaitable[Any]], game: str) -> Callable[[Any], Awaitable[Any]]:
        async def act(turn: Any) -> Any:
            self._holds.add(game)
            await self.goes_on.wait()
            return await bot(turn)

        return act

    @staticmethod
    def _paced(bot: Callable[[Any], Any]) -> Callable[[Any], Awaitable[Any]]:
        """Think a moment, so that a fault falls into the game and not behind it."""

        async def act(turn: Any) -> Any:
            await asyncio.sleep(0.05)
            return bot(turn)

        return act

    async def close(self) -> None:
        for client in self.clients:
            await client.aclose()


async def check(stack: Stack, tables: Sequence[Table], feeds: dict[str, list[bytes]]) -> None:
    """The invariants: receipts once in the log, versions and chain whole, every fold exact, every feed complete."""
    pool = await open_pool(stack.run.database_url)
    log = await log_of(pool)
    try:
        result = await verify(log, deciders())
        assert (result.breaks, result.diverged) == ([], 0)
        for table, game_id in [(each, game_id) for each in tables for game_id in set(each.ids)]:
            stored = await log.load(game_id)
            assert stored is not None
            assert [record.version for record in stored.records] == list(range(1, stored.head.version + 1))
            commands = Counter(msgspec.json.decode(record.metadata)["command_id"] for record in stored.records)
            hashes = {record.hash for record in stored.records}
            acted = [
                receipt
                for client, sits in zip(table.clients, table.ids, strict=True)
                if sits == game_id
                for receipt in client.receipts
            ]
            assert len(set(acted)) == len(acted), "one action was answered as two"
            assert set(acted) <= hashes, "an accepted action is not in the log"
            assert commands
            assert stored.records[-1].type == "game_end"
            with urlopen(f"{stack.run.gateway}/api/games/{game_id}/events?limit=1000", timeout=60) as answer:  # noqa: S310, ASYNC210 -- our own gateway, nothing else runs
                events = [bytes(raw) for raw in msgspec.json.decode(answer.read(), type=Events).events]
            assert feeds[game_id] == events
            assert [msgspec.json.decode(event)["version"] for event in events] == list(range(1, len(events) + 1))
    finally:
        await pool.close()


async def play_through(stack: Stack, fault: Callable[[], None], *, games: int = 2, times: int = 2) -> None:
    """Play O/X games and a trial while a fault strikes; then check everything."""
    tables = [Table(stack, "ox", games), Table(stack, "trial")]
    async with AsyncExitStack() as closing, asyncio.timeout(SECONDS):
        for table in tables:
            closing.push_async_callback(table.close)
            await table.sit()
        async with asyncio.TaskGroup() as group:
            watching = {
                game_id: group.create_task(watch(stack, game_id)) for table in tables for game_id in set(table.ids)
            }
            for table in tables:
                group.create_task(table.play())
            for _ in range(times):
                await asyncio.sleep(0.4)
                await asyncio.to_thread(fault)
        await check(stack, tables, {game_id: task.result() for game_id, task in watching.items()})


async def test_both_games_to_the_end_with_watchers(running: Stack) -> None:
    await play_through(running, lambda: None)


@pytest.mark.parametrize("services", [("ox-engine-1", "relay-1"), ("gateway-1", "spectator-1")])
async def test_a_killed_service_loses_nothing(running: Stack, services: tuple[str, str]) -> None:
    names = iter(services * 2)
    await play_through(running, lambda: running.kill(next(names)), times=4)


@pytest.mark.parametrize("server", ["nats", "postgres"])
async def test_a_killed_server_loses_nothing(running: Stack, server: str) -> None:
    await play_through(running, lambda: running.kill(server), times=1)


@pytest.mark.parametrize("platform", ["running", "doubled"])
async def test_nats_may_lose_everything_in_the_middle_of_a_game(platform: str, request: pytest.FixtureRequest) -> None:
    stack: Stack = request.getfixturevalue(platform)

    def lose() -> None:
        folder: Path = stack.folder.nats
        stack.kill("nats")
        for store in folder.rglob("jetstream"):
            shutil.rmtree(store, ignore_errors=True)

    await play_through(stack, lose, times=1)


async def test_a_storm_of_joins_seats_exactly_the_needed_number(doubled: Stack) -> None:
    clients = [AsyncClient(doubled.run.gateway, retry=PATIENT) for _ in range(60)]
    gate = asyncio.Semaphore(20)

    async def enter(number: int) -> tuple[str, str]:
        async with gate:
            await clients[number].register(f"storm {number}")
        first, second = await asyncio.gather(clients[number].join("ox"), clients[number].join("ox"))
        return first.game_id, second.game_id

    async with asyncio.timeout(SECONDS):
        seated = await asyncio.gather(*(enter(number) for number in range(len(clients))))
    assert all(first == second for first, second in seated), "an agent got two games"
    assert sorted(Counter(first for first, _ in seated).values()) == [5] * 12
    listed = {line.game_id: line.seated for line in (await clients[0].games("ox", limit=100)).games}
    assert [listed[first] for first, _ in seated] == [5] * 60
    for client in clients:
        await client.aclose()


async def test_two_replicas_of_everything_and_one_of_each_killed(doubled: Stack) -> None:
    names = iter(("ox-engine-1", "gateway-2", "ox-engine-2", "spectator-1"))
    await play_through(doubled, lambda: doubled.kill(next(names)), games=4, times=4)


@pytest.mark.parametrize("service", ["relay-1", "postgres"])
async def test_a_log_of_several_shards_loses_nothing_either(doubled: Stack, service: str) -> None:
    await play_through(doubled, lambda: doubled.kill(service), times=1)


async def test_after_a_crash_of_the_whole_machine_every_game_is_taken_up(stack: StackFactory, folder: Path) -> None:
    port = str(free_port())
    first = stack("--port", port, data=folder / "one")
    table = Table(first, "ox", 2)
    await table.sit()
    playing = asyncio.create_task(table.play())
    await wait_until(lambda: table.is_played)
    first.kill_tree()
    second = stack("--port", port, data=folder / "one")
    async with asyncio.timeout(SECONDS):
        await playing
        feeds = {game_id: await watch(second, game_id) for game_id in set(table.ids)}
    await check(second, [table], feeds)
    await table.close()
