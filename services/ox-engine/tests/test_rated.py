"""Which games are rated, and where the lobby seats the agents of one owner, on an engine over the log in memory."""

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Sequence

import msgspec
import pytest
from msgspec import UNSET
from playmolt_core.engine.engine import Engine
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.log.memory import MemoryLog
from playmolt_ox.rules import Ox
from playmolt_schemas.envelopes import Answer, Call
from playmolt_schemas.stored.values import Identity, Kind


class Site:
    """An engine, and who asked it for seats. `same` are the agents of one address."""

    def __init__(self, **settings: bool) -> None:
        self.log = MemoryLog()
        self.same: set[str] = set()
        self.asked: list[tuple[str, ...]] = []
        self.engine = Engine(Ox(), self.log, EngineSettings(**settings), lambda _: None, one_address=self._one_address)
        self.engine.start()

    async def _one_address(self, agents: Sequence[str]) -> bool:
        self.asked.append(tuple(agents))
        await asyncio.sleep(0)  # others plan their seats meanwhile
        return len(self.same.intersection(agents)) > 1

    async def join(self, agent: str, owner: str = "", kind: Kind = "bot") -> str:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        identity = Identity(handle=agent, kind=kind, version=None, model=None, owner_id=owner or UNSET)
        self.engine.receive(
            Call(1, "join", "", b"{}", agent=agent, name=agent, identity=identity, command_id=uuid.uuid4().hex),
            future.set_result,
        )
        async with asyncio.timeout(30):
            answer = await future
        assert answer.status == 200, answer.body
        return str(msgspec.json.decode(answer.body)["game_id"])

    async def start_of(self, game: str) -> dict[str, object]:
        stored = await self.log.load(game)
        assert stored is not None
        return next(msgspec.json.decode(one.data) for one in stored.records if one.type == "game_started")


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()
    yield made
    await made.engine.stop()


async def seated(site: Site, *owners: str, kinds: Sequence[Kind] = ("bot",) * 5) -> dict[str, object]:
    games = {
        await site.join(f"agent-{n}", owner, kind) for n, (owner, kind) in enumerate(zip(owners, kinds, strict=True))
    }
    assert len(games) == 1
    return await site.start_of(games.pop())


async def test_a_game_of_strangers_is_rated(site: Site) -> None:
    started = await seated(site, "", "owner-1", "owner-2", "", "")
    assert (started["rated"], "unrated" in started) == (True, False)
    assert site.asked == [tuple(f"agent-{n}" for n in range(5))], "asked once, by the join that fills the game"


async def test_of_many_who_join_at_once_only_those_who_fill_a_game_ask(site: Site) -> None:
    games = await asyncio.gather(*(site.join(f"agent-{number}") for number in range(100)))
    assert sorted(Counter(games).values()) == [5] * 20
    assert len(site.asked) == 20


async def test_a_game_with_two_agents_of_an_owner_is_not(site: Site) -> None:
    started = await seated(site, "owner-1", "", "owner-1", "", "")
    assert (started["rated"], started["unrated"]) == (False, "one_owner")


async def test_a_game_with_two_agents_of_an_address_is_not(site: Site) -> None:
    site.same = {"agent-1", "agent-4"}
    started = await seated(site, "", "", "", "", "")
    assert (started["rated"], started["unrated"]) == (False, "one_address")


async def test_a_game_of_house_bots_gives_no_reason(site: Site) -> None:
    started = await seated(site, *[""] * 5, kinds=("bot", *["house"] * 4))
    assert (started["rated"], "unrated" in started) == (False, False)


@pytest.mark.parametrize(
    ("owners", "kinds", "reason"),
    [
        (["owner-1", "owner-2", "", "owner-3", "owner-4"], ("bot",) * 5, "no_owner"),
        (["owner-1", "owner-2", "", "owner-3", "owner-4"], ("bot", "bot", "house", "bot", "bot"), None),
    ],
)
async def test_where_owners_are_required(owners: list[str], kinds: tuple[Kind, ...], reason: str | None) -> None:
    site = Site(rated_owners=True)
    started = await seated(site, *owners, kinds=kinds)
    assert (started["rated"], started.get("unrated")) == (reason is None, reason)
    await site.engine.stop()


async def test_an_owners_second_agent_goes_where_others_wait(site: Site) -> None:
    first = await site.join("agent-0", "owner-1")
    assert await site.join("agent-1", "owner-1") == first, "no other game waits"
    for number in range(2, 5):
        await site.join(f"agent-{number}")
    second = await site.join("agent-5", "owner-2")
    assert second != first
    assert await site.join("agent-6", "owner-1") == second
    assert await site.join("agent-7", "owner-1") == second
