"""Fills seats with house bots, and plays whole games with them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from typing import TypeVar

from playmolt_schemas.api import GameType, Joined

from playmolt.bots.house_bots import MIXED, HouseBot, house_bots
from playmolt.client import AsyncClient
from playmolt.loop import Bot, GameResult

T = TypeVar("T")
PATIENCE_SECONDS = 600.0
LEAVING_SECONDS = 5.0
JOINING = 16
"""House bots that register concurrently."""


def seats(game: GameType, n: int, policy: str = MIXED, seed: object = "house") -> list[HouseBot]:
    """`n` house bots, each deterministic by the seed and its number. Raises LookupError for an unknown game or
    policy."""
    if game not in house_bots():
        raise LookupError(f"no house bots for {game!r}; choose from {', '.join(house_bots())}")
    return house_bots()[game].seats(n, policy, seed)


async def run_house_bots(
    url: str,
    game: GameType,
    n: int,
    policy: str = MIXED,
    seed: object = "house",
    *,
    key: str = "",
    patience: float = PATIENCE_SECONDS,
    seated: Callable[[Joined], None] = lambda _: None,
) -> list[GameResult]:
    """Register n house bots, seat them in order, and play until all their games have ended.

    Returns one result per bot, in order. `seated` is called for each seat. With fewer bots than a game needs, they wait
    for other agents. If a bot fails, the others stop and its error is raised. With the house key or the operator key
    the agents are of kind `house`, which leaderboards list separately; without a key they are ordinary bots.
    """

    async def register(client: AsyncClient, number: int) -> None:
        await client.register(f"house {policy} {number + 1}", kind="house" if key else "bot")

    bots = seats(game, n, policy, seed)
    return await run_bots(url, game, bots, register, key=key, patience=patience, seated=seated)


async def run_bots(
    url: str,
    game: GameType,
    bots: Sequence[Bot],
    register: Callable[[AsyncClient, int], Awaitable[None]],
    *,
    key: str = "",
    patience: float = PATIENCE_SECONDS,
    seated: Callable[[Joined], None] = lambda _: None,
) -> list[GameResult]:
    """As `run_house_bots`, with any bots. `register` gets a client and the bot's number, and registers its agent."""
    async with AsyncExitStack() as closing:
        clients = [await closing.enter_async_context(AsyncClient(url, key)) for _ in bots]
        return await _seated(clients, bots, game, register, patience, seated)


async def _seated(
    clients: Sequence[AsyncClient],
    bots: Sequence[Bot],
    game: GameType,
    register: Callable[[AsyncClient, int], Awaitable[None]],
    patience: float,
    seated: Callable[[Joined], None],
) -> list[GameResult]:
    gate = asyncio.Semaphore(JOINING)
    taken: list[Joined] = []

    async def enter(number: int) -> None:
        async with gate:
            await register(clients[number], number)

    async def play(number: int, seat: Joined) -> GameResult:
        return await clients[number].play(bots[number], game, game_id=seat.game_id, patience=patience)

    try:
        await _all(enter(number) for number in range(len(bots)))
        for client in clients:
            seat = await client.join(game)
            seated(seat)
            taken.append(seat)
        return await _all(play(number, seat) for number, seat in enumerate(taken))
    except BaseException:
        await _give_back(clients, taken)
        raise


async def _give_back(clients: Sequence[AsyncClient], seats: Sequence[Joined]) -> None:
    """Leave the games that are still waiting, so that none starts with absent bots; running games refuse it."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LEAVING_SECONDS):
            leaving = (client.leave(seat.game_id) for client, seat in zip(clients, seats, strict=False))
            await asyncio.gather(*leaving, return_exceptions=True)


async def _all(work: Iterable[Coroutine[None, None, T]]) -> list[T]:
    """Run all concurrently; the first failure cancels the rest and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]
