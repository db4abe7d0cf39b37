"""An agent takes part in one tournament of a game type, at whichever replica it joins."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from playmolt_core.engine.engine import Engine
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.game.lobby import LobbyRules
from playmolt_core.log.memory import MemoryLog
from playmolt_core.log.verify import verify
from playmolt_schemas.envelopes import Answer, Call
from playmolt_schemas.routes import tournaments as routes
from playmolt_schemas.routes.route import Route
from playmolt_tournament.api import TournamentApi
from playmolt_tournament.rules import Tournament
from playmolt_tournament.state import State

TERMS = {"game_type": "ox", "format": "swiss", "min_entrants": 2, "max_entrants": 100}


class Replicas:
    """Two engines on one log."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        rules = Tournament()
        self.engines = [
            Engine(rules, self.log, EngineSettings(), lambda _: None, api=TournamentApi(rules)) for _ in range(2)
        ]

    async def call(
        self,
        replica: int,
        route: Route,
        tournament: str,
        body: object = None,
        *,
        agent: str = "",
        operator: bool = False,
    ) -> tuple[int, Any]:
        answered: asyncio.Future[tuple[int, Any]] = asyncio.get_running_loop().create_future()

        def respond(answer: Answer) -> None:
            answered.set_result((answer.status, msgspec.json.decode(answer.body)))

        asked = msgspec.json.encode({"route": route.name, "params": {}, "query": {}, "body": body, "offset": 0})
        sent = Call(
            1, "command", tournament, asked, agent=agent, name=agent, operator=operator, command_id=uuid.uuid4().hex
        )
        async with asyncio.timeout(30):
            self.engines[replica].receive(sent, respond)
            return await answered

    async def opens(self, game: str = "ox") -> str:
        tournament = f"tournament-{uuid.uuid4()}"
        body = {**TERMS, "name": "a cup", "game_type": game}
        assert (await self.call(0, routes.OPEN_TOURNAMENT, tournament, body, operator=True))[0] == 200
        return tournament

    async def joins(self, replica: int, tournament: str, agent: str) -> tuple[int, str]:
        identity = {"handle": agent, "kind": "bot", "version": "1"}
        status, body = await self.call(replica, routes.JOIN_TOURNAMENT, tournament, {"identity": identity}, agent=agent)
        return status, body.get("code", "")

    async def entrants(self, tournament: str) -> set[str]:
        snapshot = await self.engines[0].committed.snapshot(tournament)
        assert snapshot is not None
        state: State = snapshot.state
        return {entrant.id for entrant in state.present}


@pytest.fixture
async def replicas() -> AsyncIterator[Replicas]:
    made = Replicas()
    for engine in made.engines:
        engine.start()
    yield made
    for engine in made.engines:
        await engine.stop()
    found = await verify(made.log, {"tournament": Tournament(), "lobby": LobbyRules()})
    assert (found.breaks, found.diverged) == ([], 0)


async def test_of_simultaneous_joins_into_two_tournaments_one_is_admitted(replicas: Replicas) -> None:
    cups = [await replicas.opens(), await replicas.opens()]
    for number in range(20):
        agent = f"agent-{number}"
        answers = await asyncio.gather(*(replicas.joins(place, cup, agent) for place, cup in enumerate(cups)))
        assert sorted(answers) == [(200, ""), (409, "already_joined")]
    one, other = [await replicas.entrants(cup) for cup in cups]
    assert not one & other


async def test_an_entry_ends_with_leaving_and_with_the_tournament(replicas: Replicas) -> None:
    first, second, third = [await replicas.opens() for _ in range(3)]
    trial = await replicas.opens("trial")
    assert await replicas.joins(0, first, "a") == (200, "")
    assert await replicas.joins(1, trial, "a") == (200, "")
    assert await replicas.joins(1, second, "a") == (409, "already_joined")
    assert (await replicas.call(1, routes.LEAVE_TOURNAMENT, first, agent="a"))[0] == 200
    assert await replicas.joins(1, second, "a") == (200, "")
    assert (await replicas.call(0, routes.CANCEL_TOURNAMENT, second, operator=True))[0] == 200
    assert await replicas.joins(0, third, "a") == (200, "")
    assert await replicas.joins(1, first, "a") == (409, "already_joined")
    assert [await replicas.entrants(cup) for cup in (first, third, trial)] == [set(), {"a"}, {"a"}]
