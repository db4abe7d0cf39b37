"""Who may say what on NATS, tried on a real server with the rendered configuration."""

import socket
from collections.abc import Iterator
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from playmolt_cli.local.embedded import Nats, users
from playmolt_cli.local.embedded.nats import READER, USERS
from playmolt_core.bus.connection import delivered
from playmolt_schemas import subjects

ID = "ox-00000000-0000-0000-0000-000000000001"
TRIAL = "trial-00000000-0000-0000-0000-000000000001"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Nats]:
    with Nats(tmp_path / "nats", passwords={user: f"{user} secret" for user in USERS}) as server:
        yield server


class Guest:
    """A connection that remembers what it was refused."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.connection: Client

    async def open(self, server: Nats, user: str) -> "Guest":
        async def failed(error: Exception) -> None:
            self.refused.append(str(error))

        self.connection = await nats.connect(
            server.url,
            user=user,
            password=f"{user} secret",
            inbox_prefix=f"_INBOX.{user}".encode(),
            error_cb=failed,
            allow_reconnect=False,
            connect_timeout=60,
        )
        return self

    async def may_publish(self, subject: str) -> bool:
        return await self._tried(self.connection.publish(subject, b""))

    async def may_subscribe(self, subject: str) -> bool:
        return await self._tried(self.connection.subscribe(subject))

    async def _tried(self, attempt: object) -> bool:
        before = len(self.refused)
        await attempt  # type: ignore[misc]
        await delivered(self.connection, 30)  # behind it, as the server refuses in the order of what was sent
        return len(self.refused) == before


PING = "$SRV.PING.relay"
MAY_PUBLISH = {
    "gateway": {
        subjects.action("ox", ID),
        subjects.PROJECTED,
        subjects.LOG,
        subjects.KEYS_REVOKED,
        subjects.COMMITTED,
        "$SRV.PING.relay",
        "$SRV.PING.relay.ID",
        subjects.announced("gateway"),
        "_INBOX.spectator.gateway.x",
    },
    "spectator": {
        subjects.public("ox", ID),
        subjects.HISTORY,
        "$SRV.PING.relay",
        "$SRV.PING.relay.ID",
        subjects.announced("spectator"),
        "_INBOX.gateway.spectator.x",
    },
    "ox-engine": {
        subjects.COMMITTED,
        subjects.event("ox", ID, "game_end"),
        subjects.spectate("ox", ID),
        subjects.sealed("ox", ID),
        subjects.lobby("ox"),
        "$SRV.PING.relay",
        "$SRV.PING.relay.ID",
        subjects.announced("ox-engine"),
        "_INBOX.gateway.ox-engine.x",
        "_INBOX.spectator.ox-engine.x",
    },
    "tournament-engine": {
        subjects.COMMITTED,
        subjects.event("tournament", ID, "round_paired"),
        subjects.spectate("tournament", ID),
        subjects.table("ox", ID),
        subjects.public("ox", ID),
        "$SRV.PING.relay",
        "$SRV.PING.relay.ID",
        subjects.announced("tournament-engine"),
        "_INBOX.gateway.tournament-engine.x",
    },
    "relay": {
        subjects.event("tournament", ID, "round_paired"),
        subjects.spectate("tournament", ID),
        "$JS.API.DIRECT.GET.SPECTATE",
        subjects.event("ox", ID, "game_end"),
        subjects.spectate("ox", ID),
        subjects.sealed("ox", ID),
        "$JS.API.STREAM.CREATE.EVENTS",
        "$JS.API.STREAM.DELETE.EVENTS",
        "$JS.API.STREAM.INFO.SPECTATE",
        "$JS.API.STREAM.MSG.DELETE.SPECTATE",
        "_INBOX.gateway.relay.x",
        subjects.announced("relay"),
    },
}
MAY_SUBSCRIBE = {
    "gateway": {subjects.spectate("ox", ID), subjects.KEYS_REVOKED, "_INBOX.gateway.x"},
    "spectator": {subjects.spectate("ox", ID), "spectate.>", subjects.lobby("*"), "_INBOX.spectator.x"},
    "ox-engine": {
        subjects.action("ox", "*"),
        subjects.public("ox", "*"),
        subjects.table("ox", "*"),
        "_INBOX.ox-engine.x",
    },
    "tournament-engine": {subjects.action("tournament", "*"), "_INBOX.tournament-engine.x"},
    "relay": {subjects.COMMITTED, subjects.PROJECTED, "_INBOX.relay.x"},
}
NOBODY_PUBLISHES = {
    "$JS.API.STREAM.MSG.DELETE.EVENTS",
    "$JS.API.STREAM.PURGE.SPECTATE",
    "$SYS.REQ.SERVER.PING",
    "_INBOX.gateway.x",
    "$SRV.PING",
}


@pytest.mark.parametrize("user", MAY_PUBLISH)
async def test_a_service_publishes_its_own_subjects_and_no_other(server: Nats, user: str) -> None:
    guest = await Guest().open(server, user)
    everything = set().union(*MAY_PUBLISH.values()) | NOBODY_PUBLISHES | {subjects.action("trial", TRIAL)}
    allowed = MAY_PUBLISH[user] | ({subjects.action("trial", TRIAL)} if user == "gateway" else set())
    assert {subject for subject in everything if await guest.may_publish(subject)} == allowed
    await guest.connection.close()


@pytest.mark.parametrize("user", MAY_SUBSCRIBE)
async def test_a_service_hears_its_own_subjects_and_no_other(server: Nats, user: str) -> None:
    guest = await Guest().open(server, user)
    shared = {
        "gateway": {subjects.spectate("ox", ID)},
        "spectator": {subjects.spectate("ox", ID), subjects.lobby("*")},
    }.get(user, set())
    shared |= {subjects.announced("relay")} if user != "relay" else set()
    shared |= {"spectate.>"} if user == "gateway" else set()
    everything = set().union(*MAY_SUBSCRIBE.values()) | {"events.>", ">", "_INBOX.>"}
    everything |= {subjects.announced("relay"), subjects.action("trial", "*")}
    assert {subject for subject in everything if await guest.may_subscribe(subject)} == MAY_SUBSCRIBE[user] | shared
    await guest.connection.close()


async def test_a_service_answers_below_its_own_part_of_a_callers_inbox(server: Nats) -> None:
    relay, gateway = await Guest().open(server, "relay"), await Guest().open(server, "gateway")

    async def answer(message: object) -> None:
        await message.respond(b"here")  # type: ignore[attr-defined]

    await relay.connection.subscribe("$SRV.PING.relay", cb=answer)
    heard = await gateway.connection.subscribe("_INBOX.gateway.>")
    await delivered(relay.connection, 30)
    await delivered(gateway.connection, 30)
    for reply in ("_INBOX.gateway.ox-engine.x", "_INBOX.gateway.x", "_INBOX.gateway.relay.x"):
        await gateway.connection.publish("$SRV.PING.relay", b"", reply=reply)
    assert (await heard.next_msg(timeout=30)).subject == "_INBOX.gateway.relay.x"
    await relay.connection.close()
    await gateway.connection.close()


def test_a_wrong_password_is_refused(server: Nats) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as wire, wire.makefile("rb") as lines:
        assert lines.readline().startswith(b"INFO")
        wire.sendall(b'CONNECT {"user":"admin","pass":"guess"}\r\nPING\r\n')
        assert b"Authorization Violation" in lines.readline()


def test_every_user_has_its_own_password_and_only_the_operator_is_unlimited() -> None:
    block = {user["user"]: user for user in users(lambda user: f"{user} secret")}
    assert {*block, READER} == set(USERS)
    assert all(user["password"] == f"{name} secret" for name, user in block.items())
    assert [name for name, user in block.items() if "permissions" not in user] == ["admin"]


def test_the_configuration_with_its_passwords_is_for_its_owner_alone(server: Nats) -> None:
    assert (server.folder / "nats.conf").stat().st_mode & 0o077 == 0
