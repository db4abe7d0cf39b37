"""Every user × every subject that a stream stores × every way to get something there, on a server with its users.

The services are the real ones, so that whatever would answer does.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import nats
import pytest
from playmolt_cli.local.embedded import Nats
from playmolt_cli.local.embedded.nats import READER, SERVICES, USERS
from playmolt_core.bus.batches import StreamMessage
from playmolt_core.bus.client import NatsBus, connect
from playmolt_core.bus.connection import delivered
from playmolt_core.bus.engine_bus import EngineBus, Respond
from playmolt_core.bus.jetstream import JetStream, open_jetstream
from playmolt_core.relay.feeds import feeds, public_form
from playmolt_core.settings import Settings
from playmolt_schemas import subjects
from playmolt_schemas.envelopes import Answer, Call, encode_pack
from playmolt_schemas.identifiers import ENGINES

from core.tests.waiting import wait_until

GAMES = [game for games in ENGINES.values() for game in games]
FEEDS = feeds(0, 1, public_form)
ID = "00000000-0000-7000-8000-000000000001"
STORED = [
    subject
    for game in GAMES
    for subject in (
        subjects.event(game, f"{game}-{ID}", "game_end"),
        subjects.spectate(game, f"{game}-{ID}"),
        subjects.sealed(game, f"{game}-{ID}"),
    )
]
ASKED = [
    "$SRV.PING", *(f"$SRV.{verb}.{service}" for verb in ("PING", "INFO", "STATS") for service in SERVICES),
    subjects.LAG, subjects.LOG, subjects.HISTORY, subjects.PROJECTED, subjects.KEYS_REVOKED, subjects.COMMITTED,
    "$JS.API.INFO",
    *(subject(game, f"{game}-{ID}") for game in GAMES for subject in (subjects.action, subjects.public)),
    *(
        f"$JS.API.{call}.{feed.stream}"
        for feed in FEEDS
        for call in (
            "STREAM.INFO", "STREAM.CREATE", "STREAM.UPDATE", "STREAM.DELETE", "STREAM.PURGE", "STREAM.MSG.GET",
            "DIRECT.GET", "CONSUMER.CREATE",
        )
    ),
    *(
        f"$JS.API.CONSUMER.{call}.{feed.stream}.mine"
        for feed in FEEDS
        for call in ("CREATE", "DURABLE.CREATE", "MSG.NEXT", "INFO")
    ),
    subjects.reader_call("CONSUMER.CREATE.EVENTS.mine"),
    *(f"_INBOX.{user}.x" for user in USERS),
    *(f"_INBOX.{caller}.{user}.x" for caller in ("gateway", "spectator", "admin") for user in SERVICES),
]  # fmt: skip
"""What a user may ask, with a stored subject as the place of the answer."""
BODY = encode_pack([Call(1, "state", f"ox-{ID}", b"{}", "", "", False, "c", "", 2**52, "")])


def _body(asked: str) -> bytes:
    if asked == subjects.HISTORY:
        return msgspec.json.encode({"game": "ox", "game_id": f"ox-{ID}", "after": 0, "limit": 10})
    return b'{"seq":1}' if asked.startswith("$JS") else BODY


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Nats]:
    with Nats(tmp_path / "nats", passwords={user: f"{user} secret" for user in USERS}) as server:
        yield server


def settings(server: Nats, user: str) -> Settings:
    return Settings(nats_url=server.url, nats_user=user, nats_password=f"{user} secret")


class Platform:
    """One of every service, each with its own login."""

    def __init__(self, server: Nats, gateway: NatsBus, relay: JetStream) -> None:
        self.server = server
        self.gateway = gateway
        self.relay = relay


@pytest.fixture
async def platform(server: Nats) -> AsyncIterator[Platform]:
    def answer(call: Call, respond: Respond) -> None:
        respond(Answer(call.id, 200, b"{}"))

    async def lag(_: bytes) -> bytes:
        return b"{}"

    async with AsyncExitStack() as stack:
        relay = await open_jetstream(settings(server, "relay"), "relay")
        stack.push_async_callback(relay.close)
        for feed in FEEDS:
            await relay.ensure(feed.stream, feed.subjects, first=1, limit=1000)
        await relay.answer(subjects.LAG, lag, "relay")
        await relay.answer(subjects.PROJECTED, lag, "relay")
        await relay.serve_history("relay")
        await relay.serve_consumers("relay")
        await relay.announce("relay")
        for service, games in ENGINES.items():
            engine = EngineBus(settings(server, service), service)
            await engine.open()
            stack.push_async_callback(engine.close)
            for game in games:
                await engine.serve(game, [], receive=answer, receive_public=answer)
        gateway = await connect(settings(server, "gateway"), "gateway")
        stack.push_async_callback(gateway.close)
        spectator = await connect(settings(server, "spectator"), "spectator")
        stack.push_async_callback(spectator.close)
        yield Platform(server, gateway, relay)


async def ends(relay: JetStream) -> list[int]:
    states = [await relay.state(feed.stream) for feed in FEEDS]
    return [state.last for state in states if state]


async def test_nobody_but_the_relay_gets_anything_into_a_stream(platform: Platform) -> None:
    held = StreamMessage(subjects.spectate("ox", f"ox-{ID}"), b'{"version":1}')
    await platform.relay.publish([held], after=0)
    before = await ends(platform.relay)
    trespasses: list[str] = []
    for user in (user for user in (*SERVICES, READER) if user != "relay"):
        failures: list[Exception] = []

        async def failed(error: Exception, failures: list[Exception] = failures) -> None:
            failures.append(error)

        stranger = await nats.connect(
            platform.server.url,
            user=user,
            password=f"{user} secret",
            error_cb=failed,
            allow_reconnect=False,
            connect_timeout=60,
        )
        for stored in STORED:
            if stored.split(".")[1] not in ENGINES.get(user, ()):  # an engine publishes its own games
                await stranger.publish(stored, b"{}")
            for asked in ASKED:
                await stranger.publish(asked, _body(asked), reply=stored)
        await delivered(stranger, 60)
        await wait_until(lambda failures=failures: failures, 60)  # the server refuses some of it
        await asyncio.sleep(0.3)
        await stranger.close()
        if (now := await ends(platform.relay)) != before:
            trespasses.append(f"{user}: {before} → {now}")
            before = now
    assert trespasses == []


async def test_every_other_service_is_found_and_answers_the_gateway(platform: Platform) -> None:
    async with asyncio.timeout(60):
        while (platform.gateway.services(), platform.gateway.present()) != ({*SERVICES} - {"gateway"}, {*GAMES}):
            await asyncio.sleep(0.05)
    assert await platform.gateway.request(subjects.LAG) == b"{}"
    for game in GAMES:
        answer = await platform.gateway.submit(game, "state", f"{game}-{ID}", b"{}")
        assert answer.status == 200


async def test_an_answer_of_another_engine_is_not_taken(platform: Platform) -> None:
    """An engine that knows the inbox and the number of a call still answers only for its own games."""
    admin = await nats.connect(platform.server.url, user="admin", password="admin secret")
    seen: asyncio.Queue[str] = asyncio.Queue()

    async def note(message: object) -> None:
        seen.put_nowait(message.reply)  # type: ignore[attr-defined]

    await admin.subscribe("actions.ox.>", cb=note)
    await delivered(admin, 60)
    await platform.gateway.submit("ox", "state", f"ox-{ID}", b"{}")
    reply = await asyncio.wait_for(seen.get(), 60)
    forged = encode_pack([Answer(number, 200, b'"forged"') for number in range(1, 500)])
    forger = await nats.connect(platform.server.url, user="trial-engine", password="trial-engine secret")
    answers = [platform.gateway.submit("ox", "state", f"ox-{ID}", b"{}") for _ in range(100)]
    await forger.publish(reply, forged)
    await forger.publish(reply.replace(".ox-engine.", ".trial-engine."), forged)
    await delivered(forger, 60)
    more = [platform.gateway.submit("ox", "state", f"ox-{ID}", b"{}") for _ in range(100)]
    await forger.publish(reply.replace(".ox-engine.", ".trial-engine."), forged)
    assert all([(await answer).body == b"{}" for answer in (*answers, *more)])
    await forger.close()
    await admin.close()
