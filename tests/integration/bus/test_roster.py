"""Who is on the bus: told by each itself, asked of who is silent, believed of nobody else."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import msgspec
import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from playmolt_core.bus.client import NatsBus, connect
from playmolt_core.bus.connection import delivered, open_connection
from playmolt_core.bus.engine_bus import EngineBus, Respond
from playmolt_core.bus.roster import Roster
from playmolt_core.bus.service import Presence
from playmolt_core.settings import Settings
from playmolt_schemas import subjects
from playmolt_schemas.envelopes import Answer, Call

GAME = "ox-00000000-0000-7000-8000-000000000001"


@pytest.fixture
async def closing() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
async def stranger(nats_url: str, closing: AsyncExitStack) -> Client:
    connection = await nats.connect(nats_url)
    closing.push_async_callback(connection.close)
    return connection


async def engine(nats_url: str, closing: AsyncExitStack) -> EngineBus:
    def answer(call: Call, respond: Respond) -> None:
        respond(Answer(call.id, 200, b"{}"))

    bus = EngineBus(Settings(nats_url=nats_url), "ox-engine")
    await bus.open()
    closing.push_async_callback(bus.close)
    await bus.serve("ox", [], receive=answer, receive_public=answer)
    return bus


async def gateway(nats_url: str, closing: AsyncExitStack) -> NatsBus:
    bus = await connect(Settings(nats_url=nats_url), "gateway")
    closing.push_async_callback(bus.close)
    return bus


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.02)


def here(**more: object) -> Presence:
    told: dict[str, object] = {"name": "ox-engine", "id": "X", "metadata": {"game": "ox", "instance": "silent"}}
    return Presence(**{**told, **more})  # type: ignore[arg-type]  # fields of a presence


async def tell(connection: Client, service: str, presence: Presence) -> None:
    await connection.publish(subjects.announced(service), msgspec.json.encode(presence))
    await delivered(connection, 60)


async def test_a_newcomer_learns_who_was_there_before(nats_url: str, closing: AsyncExitStack) -> None:
    await engine(nats_url, closing)
    late = await gateway(nats_url, closing)
    await until(lambda: late.present() == {"ox"})


async def test_who_comes_is_seen_and_who_leaves_is_gone_without_a_question(
    nats_url: str, closing: AsyncExitStack, stranger: Client
) -> None:
    bus = await gateway(nats_url, closing)
    asked: list[str] = []

    async def note(question: Msg) -> None:
        asked.append(question.subject)

    await stranger.subscribe("$SRV.>", cb=note)
    await delivered(stranger, 60)
    came = await engine(nats_url, closing)
    await until(lambda: bus.present() == {"ox"})
    asked.clear()
    await came.withdraw()
    await until(lambda: not bus.present())
    assert [subject for subject in asked if subject.startswith("$SRV.PING.ox-engine")] == []


async def test_what_changes_is_told(nats_url: str, closing: AsyncExitStack) -> None:
    bus, changing = await gateway(nats_url, closing), await engine(nats_url, closing)
    await until(bus.present)
    changing.announce_cut_prompts(["small"])
    await until(lambda: bus.cut_prompts() == {("ox-engine", "small")})


async def roster(nats_url: str, closing: AsyncExitStack, **seconds: float) -> Roster:
    """A gateway's, on a connection of its own."""
    connection = await open_connection(Settings(nats_url=nats_url), "gateway", lambda: None)
    closing.push_async_callback(connection.close)
    made = Roster(connection, "gateway", **seconds)
    await made.start()
    closing.push_async_callback(made.close)
    await delivered(connection, 60)  # the server knows its subscriptions
    return made


async def test_who_is_silent_is_asked_and_who_answers_stays(nats_url: str, closing: AsyncExitStack) -> None:
    """Announcements are further apart than the silence that is believed: it is the answer that keeps an engine."""
    await engine(nats_url, closing)
    others = await roster(nats_url, closing, quiet_seconds=0.1)
    await until(others.games)
    began = others.engine_seen_at()
    await until(lambda: others.engine_seen_at() != began)
    assert others.games() == {"ox"}


async def test_who_answers_nothing_is_forgotten(nats_url: str, closing: AsyncExitStack, stranger: Client) -> None:
    others = await roster(nats_url, closing, quiet_seconds=0.1, answer_seconds=0.2)
    await stranger.subscribe("$SRV.PING.ox-engine")  # it hangs: the server knows of it, and it says nothing
    await tell(stranger, "ox-engine", here())
    await until(others.engine_seen_at)
    await until(lambda: not others.games())


async def test_a_replica_that_answers_no_call_is_asked_and_its_calls_go_elsewhere(
    nats_url: str, closing: AsyncExitStack, stranger: Client
) -> None:
    bus = await gateway(nats_url, closing)
    await stranger.subscribe(subjects.replica("ox", "silent"))
    await tell(stranger, "ox-engine", here())
    await until(lambda: bus._roster.replica_for("ox", GAME) == "silent")
    await engine(nats_url, closing)
    assert (await bus.submit("ox", "state", GAME)).status == 200
    await until(lambda: bus._roster.replica_for("ox", GAME) != "silent")
    assert bus.present() == {"ox"}


@pytest.mark.parametrize(
    ("service", "presence"),
    [
        ("trial-engine", here()),
        ("trial-engine", here(name="trial-engine")),
        ("relay", here(name="ox-engine")),
    ],
    ids=["another's name", "another's game", "another's subject"],
)
async def test_nobody_speaks_for_another(
    service: str, presence: Presence, nats_url: str, closing: AsyncExitStack, stranger: Client
) -> None:
    bus = await gateway(nats_url, closing)
    await tell(stranger, service, presence)
    await tell(stranger, "relay", here(name="relay", id="R", metadata={}))
    await until(lambda: "relay" in bus.services())
    assert bus.present() == frozenset()
    assert bus.services() == {"relay"}


async def test_the_tools_of_nats_find_a_service(nats_url: str, closing: AsyncExitStack, stranger: Client) -> None:
    await engine(nats_url, closing)
    for asked in ("$SRV.PING", "$SRV.INFO.ox-engine", "$SRV.STATS.ox-engine"):
        assert msgspec.json.decode((await stranger.request(asked, b"", timeout=30)).data)["name"] == "ox-engine"
