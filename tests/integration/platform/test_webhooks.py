"""Notices on a whole platform: a program in another language receives each once, also when processes are killed."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from playmolt.bots import seats
from playmolt.client import AsyncClient
from playmolt.retries import Retry
from playmolt_cli.local.embedded import free_port
from playmolt_schemas.api import GameType

from core.tests.listening import listening
from core.tests.waiting import wait_until
from tests.platforms import Stack

PAGE = Path(__file__).parents[3] / "docs" / "webhooks.md"
NPM, NODE = shutil.which("npm"), shutil.which("node")
PATIENT = Retry(attempts=60, seconds=60)
SECONDS = 120.0
WEBHOOK = "/api/owners/me/webhook"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's receiver, and beside it the library in the page's version, kept beside this interpreter's packages."""
    assert NPM, "this test needs Node and npm on PATH"
    text = PAGE.read_text("utf-8")
    (source,) = re.findall(r"^```js\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    (library,) = re.findall(r"npm install (standardwebhooks@[0-9.]+)", text)
    kept = Path(sys.prefix) / "npm" / library.replace("@", "-")
    if not (kept / "made").exists():
        kept.mkdir(parents=True, exist_ok=True)
        (kept / "package.json").write_text('{"private": true}')
        words = [NPM, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", library]
        subprocess.run(words, cwd=kept, check=True, timeout=SECONDS)
        (kept / "made").touch()
    folder = tmp_path_factory.mktemp("receiver")
    (folder / "node_modules").symlink_to(kept / "node_modules")
    (folder / "receiver.mjs").write_text(source, "utf-8")
    return folder / "receiver.mjs"


class Owner:
    """An owner with an agent."""

    def __init__(self, url: str) -> None:
        self.account = AsyncClient(url, retry=PATIENT)
        self.agent = AsyncClient(url, retry=PATIENT)
        self.agent_id = ""

    async def open(self) -> "Owner":
        await self.account.open_owner("Ada")
        made = await self.account.register_owned("mine")
        self.agent_id, self.agent = made.id, AsyncClient(str(self.account.url), made.api_key, retry=PATIENT)
        return self

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        async with httpx.AsyncClient(base_url=str(self.account.url), trust_env=False, timeout=60) as client:
            headers = {"Authorization": f"Bearer {self.account.key}"}
            answer = await client.request(method, path, json=body, headers=headers)
            assert answer.status_code in (200, 204), answer.text
            return answer.json() if answer.content else None

    async def set_webhook(self, port: int) -> str:
        events = ["turn", "game_over", "tournament", "moderation"]
        made = await self.call("PUT", WEBHOOK, {"url": f"http://127.0.0.1:{port}/hook", "events": events})
        secret: str = made["secret"]
        return secret

    async def deliveries(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.call("GET", f"{WEBHOOK}/deliveries"))["deliveries"]
        return found

    async def close(self) -> None:
        await self.account.aclose()
        await self.agent.aclose()


class Receiver:
    """The page's program, and the notices that it printed."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._reading: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def listening(self, program: Path, port: int, secret: str) -> AsyncIterator["Receiver"]:
        assert NODE
        process = await asyncio.create_subprocess_exec(
            NODE, program, env={"SECRET": secret, "PORT": str(port)}, stdout=asyncio.subprocess.PIPE
        )

        async def read() -> None:
            assert process.stdout
            async for line in process.stdout:
                self.lines.append(line.decode())

        reading = asyncio.create_task(read())
        try:
            yield self
        finally:
            process.kill()
            await process.wait()
            await reading

    def notices(self, kind: str) -> list[dict[str, Any]]:
        return [notice for notice in map(json.loads, self.lines) if notice["type"] == kind]


class Noted:
    """A bot that keeps the ids of its turns."""

    def __init__(self, bot: Callable[[Any], Any]) -> None:
        self.bot = bot
        self.turns: list[str] = []

    async def __call__(self, turn: Any) -> Mapping[str, Any]:
        if turn.turn_id not in self.turns:
            self.turns.append(turn.turn_id)
        answer: Mapping[str, Any] = self.bot(turn)
        return answer


async def play(owner: Owner, game: GameType, size: int, fault: Callable[[], None]) -> tuple[str, str, list[str]]:
    """A private game of the owner's agent and others: its id, its invite, and the turns of that agent."""
    url = str(owner.account.url)
    others = [AsyncClient(url, retry=PATIENT) for _ in range(size - 1)]
    for number, client in enumerate(others):
        await client.register(f"other {number}")
    opened = await owner.agent.open_game(game)
    for client in others:
        await client.join(game, invite=opened.invite)
    bots = [Noted(bot) for bot in seats(game, size, seed="webhooks")]
    playing = [
        asyncio.create_task(client.play(bot, game, game_id=opened.game_id, patience=SECONDS))
        for client, bot in zip((owner.agent, *others), bots, strict=True)
    ]
    await wait_until(lambda: bool(bots[0].turns), SECONDS)
    await asyncio.to_thread(fault)
    async with asyncio.timeout(SECONDS):
        await asyncio.gather(*playing)
    for client in others:
        await client.aclose()
    return opened.game_id, opened.invite, bots[0].turns


@pytest.mark.parametrize(("game", "size", "turns"), [("ox", 5, 10), ("trial", 6, 5)])
async def test_a_receiver_in_node_gets_every_turn_and_the_end_although_the_relay_is_killed(
    running: Stack, program: Path, game: GameType, size: int, turns: int
) -> None:
    owner, port = await Owner(running.run.gateway).open(), free_port()
    secret = await owner.set_webhook(port)

    def kill() -> None:
        with suppress(ProcessLookupError):
            running.kill("relay-1")

    async with Receiver().listening(program, port, secret) as receiver:
        game_id, invite, seen = await play(owner, game, size, kill)
        await wait_until(lambda: bool(receiver.notices("game_over")), SECONDS)
        await wait_until(lambda: {one["data"]["turn_id"] for one in receiver.notices("turn")} >= set(seen), SECONDS)
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            forged = await client.post(f"http://127.0.0.1:{port}/", content=receiver.lines[0], headers={})
            assert forged.status_code == 401

        async def all_recorded() -> bool:
            return all(row["status"] == "delivered" for row in await owner.deliveries())

        await wait_until(all_recorded, SECONDS)
    notified = [one["data"]["turn_id"] for one in receiver.notices("turn")]
    assert len(notified) == len(set(notified)) == len(seen)
    assert turns - 1 <= len(seen) <= turns
    (end,) = receiver.notices("game_over")
    link = f"{running.run.gateway}/watch/{game_id}"
    named = {"agent_id": owner.agent_id, "game_id": game_id, "gameType": game, "link": link}
    assert end["data"] == {**named, "phase": "end"}
    for one in receiver.notices("turn"):
        assert one["data"].keys() == {*named, "phase", "turn_id"}
        assert one["data"].items() >= named.items()
    assert not [line for line in receiver.lines if invite in line or secret in line]
    await owner.close()


Answer = Callable[[bytes], Awaitable[bytes]]


@asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[int]:
    """A server that answers each request's head; its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await answer(await reader.readuntil(b"\r\n\r\n")))
        await writer.drain()

    async with listening(serve) as port:
        yield port


async def aborted_game(stack: Stack, owner: Owner) -> None:
    """A game of the owner's agent that the operator ends: one notice."""
    game_id = (await owner.agent.open_game("ox")).game_id
    headers = {"Authorization": f"Bearer {stack.run.operator_key}"}
    async with httpx.AsyncClient(base_url=stack.run.gateway, trust_env=False, headers=headers, timeout=60) as client:
        answer = await client.post(f"/api/admin/games/{game_id}/end", json={"reason": "a test"})
        assert answer.status_code == 200, answer.text


async def test_a_gateway_killed_between_a_call_and_its_record_repeats_it_under_the_same_id(running: Stack) -> None:
    owner = await Owner(running.run.gateway).open()
    ids: list[str] = []
    never = asyncio.Event()

    async def answer(head: bytes) -> bytes:
        (one,) = re.findall(rb"(?im)^webhook-id: (\S+)\r", head)
        ids.append(one.decode())
        if len(ids) == 1:
            await never.wait()
        return b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    async with server(answer) as port:
        await owner.set_webhook(port)
        await aborted_game(running, owner)
        await wait_until(lambda: bool(ids), SECONDS)
        running.kill("gateway-1")
        await lease_over(running)
        await wait_until(lambda: len(ids) > 1, SECONDS)

        async def recorded() -> bool:
            rows = await owner.deliveries()
            return [(row["id"], row["status"], row["tries"]) for row in rows] == [(ids[0], "delivered", 2)]

        await wait_until(recorded, SECONDS)
    assert set(ids) == {ids[0]}
    await owner.close()


async def lease_over(stack: Stack) -> None:
    """What a killed gateway was delivering is due."""
    connection = await asyncpg.connect(stack.run.database_url)
    await connection.execute("UPDATE account.delivery SET next_at = now() WHERE status = 'waiting'")
    await connection.execute("UPDATE account.webhook SET due_at = now()")
    await connection.close()


async def test_a_server_that_is_gone_switches_the_webhook_off_and_its_owner_sees_it(running: Stack) -> None:
    owner = await Owner(running.run.gateway).open()

    async def gone(_: bytes) -> bytes:
        return b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    async with server(gone) as port:
        await owner.set_webhook(port)
        await aborted_game(running, owner)

        async def off() -> bool:
            found = await owner.call("GET", "/api/owners/me")
            return bool((found["webhook"]["off"] or {}).get("reason") == "gone")

        await wait_until(off, SECONDS)
    assert [row["status"] for row in await owner.deliveries()] == ["failed"]
    await owner.call("DELETE", WEBHOOK)
    await owner.close()


async def test_an_owner_is_notified_of_what_happens_to_its_entrant_in_a_tournament(
    running: Stack, program: Path
) -> None:
    owner, port = await Owner(running.run.gateway).open(), free_port()
    secret = await owner.set_webhook(port)
    headers = {"Authorization": f"Bearer {running.run.operator_key}"}
    terms = {"name": f"cup {uuid.uuid4()}", "game_type": "ox", "format": "swiss", "rounds": 1,
             "min_entrants": 2, "max_entrants": 8}  # fmt: skip
    async with (
        Receiver().listening(program, port, secret) as receiver,
        httpx.AsyncClient(base_url=running.run.gateway, trust_env=False, timeout=60) as client,
    ):
        made = (await client.post("/api/tournaments", json=terms, headers=headers)).json()
        key = {"Authorization": f"Bearer {owner.agent.key}"}
        joined = await client.post(f"/api/tournaments/{made['id']}/join", json={}, headers=key)
        assert joined.status_code == 200, joined.text
        left = await client.post(f"/api/tournaments/{made['id']}/leave", json={}, headers=key)
        assert left.status_code == 200, left.text
        await wait_until(lambda: len(receiver.notices("tournament")) == 2, SECONDS)
        await client.delete(f"/api/tournaments/{made['id']}", headers=headers)
    shown = [one["data"] for one in receiver.notices("tournament")]
    assert sorted(one["event"] for one in shown) == ["entrant_joined", "entrant_left"]
    link = f"{running.run.gateway}/tournaments/{made['id']}"
    assert {(one["agent_id"], one["tournament_id"], one["link"]) for one in shown} == {
        (owner.agent_id, made["id"], link)
    }
    await owner.close()


async def test_an_owner_is_notified_of_decisions_about_it_and_its_agent_without_the_reason(
    running: Stack, program: Path
) -> None:
    owner, port = await Owner(running.run.gateway).open(), free_port()
    account = await owner.account.owner()
    secret = await owner.set_webhook(port)
    headers = {"Authorization": f"Bearer {running.run.operator_key}"}
    async with (
        Receiver().listening(program, port, secret) as receiver,
        httpx.AsyncClient(base_url=running.run.gateway, trust_env=False, timeout=60, headers=headers) as client,
    ):
        for whom in ({"agent_id": owner.agent_id}, {"owner_id": account.id}):
            made = await client.post("/api/admin/bans", json={**whom, "note": "a reason"})
            assert made.status_code == 201, made.text
            ended = await client.delete(f"/api/admin/bans/{made.json()['id']}")
            assert ended.status_code == 204, ended.text
        await wait_until(lambda: len(receiver.notices("moderation")) == 4, SECONDS)
    shown = [one["data"] for one in receiver.notices("moderation")]
    link = f"{running.run.gateway}/me"
    for name, subject in (("agent_id", owner.agent_id), ("owner_id", account.id)):
        (ban,) = [one for one in shown if one["kind"] == "banned" and name in one]
        assert ban == {name: subject, "kind": "banned", "until": None, "link": link}
        assert {name: subject, "kind": "unbanned", "link": link} in shown
    assert not [line for line in receiver.lines if "a reason" in line]
    await owner.close()
