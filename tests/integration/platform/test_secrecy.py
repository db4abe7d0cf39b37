"""What a game keeps to itself stands in no log line and in no figure of any process."""

import asyncio
import re
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

import httpx
import msgspec
from playmolt.client import AsyncClient
from playmolt_core.db.pool import open_pool
from playmolt_core.log.postgres import PostgresLog

from tests.integration.platform.twin import secret_sessions
from tests.platforms import Stack

SECONDS = 120
SAID = "a-comment-that-nobody-else-would-write"
SEATS = 5


async def played(stack: Stack) -> tuple[str, set[str]]:
    """A game of which the last seat has still to choose; its id, and what is secret of it."""
    secrets: set[str] = set()
    clients = [AsyncClient(stack.run.gateway) for _ in range(SEATS)]
    try:
        for number, client in enumerate(clients):
            agent = await client.register(f"seat {number}")
            secrets.add(agent.api_key)
            game = (await client.join("ox")).game_id
        for number, client in enumerate(clients[:-1]):
            comment = f"{SAID}-{number}"
            secrets.add(comment)
            await client.act(game, {"type": "first_choice", "choice": "OX"[number % 2], "comment": comment})
    finally:
        for client in clients:
            await client.aclose()
    pool = await open_pool(stack.run.database_url)
    try:
        stored = await PostgresLog(pool).load(game)
    finally:
        await pool.close()
    assert stored is not None
    secrets.add(msgspec.json.decode(stored.records[0].data)["seed"])
    return game, secrets


def told(stack: Stack) -> Iterator[tuple[str, str]]:
    """Everything that the processes have printed, and their figures."""
    for path in (stack.folder.path / "logs").iterdir():
        yield path.name, path.read_text(encoding="utf-8", errors="replace")
    for name, ready in stack.run.health.items():
        parts = urlsplit(ready)
        figures = httpx.get(urlunsplit(parts._replace(path="/metrics", query="")), timeout=SECONDS)
        yield f"figures of {name}", figures.text


def test_a_running_games_secrets_are_in_no_log_and_no_figure(running: Stack) -> None:
    game, secrets = asyncio.run(played(running))
    assert len(secrets) > SEATS
    found = dict(told(running))
    assert len(found) > len(running.run.health)
    assert any(re.search(r"playmolt_", text) for name, text in found.items() if name.startswith("figures"))
    leaks = {(name, secret) for name, text in found.items() for secret in secrets if secret in text}
    assert leaks == set(), game


def test_what_is_told_in_a_session_is_in_no_log_and_no_figure(running: Stack) -> None:
    secrets = asyncio.run(secret_sessions(running, SAID))
    leaks = {(name, secret) for name, text in told(running) for secret in secrets if secret in text}
    assert leaks == set()


def test_a_secret_in_a_log_would_be_found(running: Stack) -> None:
    line = running.folder.path / "logs" / "planted.log"
    line.write_text(f"decided {SAID}-0", encoding="utf-8")
    try:
        assert any(SAID in text for _, text in told(running))
    finally:
        line.unlink()
