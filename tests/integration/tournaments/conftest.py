"""Tournaments on a whole platform."""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playmolt.bots import seats
from playmolt.client import AsyncClient, Client
from playmolt.loop import Bot, Turn, decide
from playmolt.retries import Retry
from playmolt.tournament import TournamentResult
from playmolt_schemas.games.tournament import TournamentView
from playmolt_schemas.routes import tournaments as routes

from tests.platforms import Stack

SECONDS = 200.0
UNLIMITED = {"PLAYMOLT_REGISTRATION_LIMIT": "off", "PLAYMOLT_RATE_LIMIT": "off", "PLAYMOLT_ACTION_RATE_LIMIT": "off"}
PATIENT = Retry(attempts=60, seconds=60)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("tournaments") / "data"
    with Stack(folder, ("--engines", "2"), environment={**UNLIMITED, "PLAYMOLT_OPEN_TOURNAMENTS": "true"}) as running:
        yield running


class Organizer:
    """The operator of a platform, who opens tournaments."""

    def __init__(self, stack: Stack) -> None:
        self.url = stack.run.gateway
        self.client = Client(self.url, stack.run.operator_key, retry=PATIENT)

    def opens(self, **terms: Any) -> str:
        body = {"name": "a cup", "game_type": "ox", "format": "swiss", "min_entrants": 2, "max_entrants": 100} | terms
        return self.client.call(routes.OPEN_TOURNAMENT, body=body).id

    def starts(self, tournament: str) -> TournamentView:
        return self.client.call(routes.START_TOURNAMENT, tournament)

    def state(self, tournament: str) -> TournamentView:
        return self.client.tournament(tournament)

    def adds_house(self, tournament: str, number: int) -> TournamentView:
        return self.client.call(routes.ADD_HOUSE, tournament, body={"number": number})


@pytest.fixture(scope="module")
def organizer(stack: Stack) -> Iterator[Organizer]:
    made = Organizer(stack)
    yield made
    made.client.close()


class Field:
    """Scripted bots that enter a tournament and play it to its end."""

    def __init__(self, url: str, count: int, game: Any = "ox") -> None:
        self.bots: list[Bot] = [*seats(game, count, seed="field")]
        self.clients = [AsyncClient(url, retry=PATIENT) for _ in self.bots]

    async def enters(self, tournament: str) -> None:
        for number, client in enumerate(self.clients):
            await client.register(f"entrant {number}")
            await client.join_tournament(tournament)

    def holds(self, last_round: int, until: asyncio.Future[Any]) -> None:
        """Let the first bot act in the last round only after `until` is done, so that the tournament lasts as long."""
        bot = self.bots[0]

        async def held(turn: Turn) -> Any:
            if turn.state["tournament"]["round"] == last_round:
                await asyncio.wait([until])
            action = decide(bot, turn)
            return await action if inspect.isawaitable(action) else action

        self.bots[0] = held

    async def plays(self, tournament: str) -> list[TournamentResult]:
        async with asyncio.timeout(SECONDS):
            return await asyncio.gather(
                *(
                    client.play_tournament(bot, tournament, patience=SECONDS)
                    for client, bot in zip(self.clients, self.bots, strict=True)
                )
            )


@asynccontextmanager
async def field(url: str, count: int, game: Any = "ox") -> AsyncIterator[Field]:
    made = Field(url, count, game)
    try:
        yield made
    finally:
        await asyncio.gather(*(client.aclose() for client in made.clients))


def until(true: Callable[[], Any], seconds: float = SECONDS) -> Any:
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)
    return found


def check(view: TournamentView, rounds: int) -> None:
    """Check that each entrant has exactly one game in each round."""
    everybody = sorted(entrant.id for entrant in view.entrants)
    assert (view.state, len(view.rounds)) == ("ended", rounds)
    for each in view.rounds:
        seated = [seat.id for game in each.games for seat in game.seats]
        own = [agent for agent in seated if agent in set(everybody)]
        assert sorted(own) == everybody, each.round
        assert len(set(seated)) == len(seated)
        assert {game.phase for game in each.games} == {"end"}
        assert all(len(game.seats) == view.seats for game in each.games)
