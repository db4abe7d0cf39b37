"""An O/X game over HTTP that records all requests, answers, messages and stored records."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Self

import httpx
import msgspec
from playmolt_cli.games import deciders
from playmolt_core.db.pool import open_pool
from playmolt_core.log.postgres import log_of
from playmolt_core.log.verify import verify
from playmolt_core.relay.feeds import public_form
from playmolt_schemas.records import Record

from tests.integration.faults.history import Act, History, Read, Stored, faults
from tests.integration.watching import watch
from tests.platforms import Stack

SECONDS = 120.0
"""Time limit of a call with all its repeats, also on a slow machine."""
SEATS = 5
_SUBMITTED = ("first_choice_submitted", "switch_submitted")


class Game:
    """A game with five seats and two watchers. A call without an answer is repeated with its key."""

    def __init__(self, stack: Stack, gateway: str = "") -> None:
        self._stack = stack
        self._run = stack.run
        self._http = httpx.AsyncClient(base_url=gateway or self._run.gateway, timeout=SECONDS)
        self._keys: list[dict[str, str]] = []
        self._acts: list[Act] = []
        self._reads: list[Read] = []
        self._tasks: list[asyncio.Task[Any]] = []
        self.agents: list[str] = []
        self.id = ""

    async def __aenter__(self) -> Self:
        for number in range(SEATS):
            agent = await self._asked("/api/agents", {"name": f"seat {number}"})
            self.agents.append(agent["id"])
            self._keys.append({"Authorization": f"Bearer {agent['api_key']}"})
            joined = await self._asked("/api/games/join", {"gameType": "ox"}, self._keys[-1])
            self.id = joined["game_id"]
        self._tasks = [asyncio.create_task(watch(self._stack, self.id)) for _ in range(2)]
        self._tasks.append(asyncio.create_task(self._look()))
        return self

    async def _asked(self, path: str, body: Any, headers: dict[str, str] | None = None) -> dict[str, Any]:
        """Repeat a request until the platform answers, because it may still recover from the previous test."""
        until = time.monotonic() + SECONDS
        while (answer := await self._http.post(path, json=body, headers=headers)).status_code == 503:
            assert time.monotonic() < until, answer.text
            await asyncio.sleep(0.05)
        told: dict[str, Any] = answer.raise_for_status().json()
        return told

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await self._http.aclose()

    async def choose(self, seat: int, choice: str = "O", comment: str = "So.") -> Act:
        """Make the first choice of a seat; repeat it until an answer gives the result."""
        body = {"type": "first_choice", "choice": choice, "comment": comment}
        key = f"{self.agents[seat]}:first_choice_submitted"
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            act = await self.call(seat, key, body)
            if 0 < act.status < 500:
                return act
            await asyncio.sleep(0.05)
        raise AssertionError(f"{key} was not answered in {SECONDS} s: {self._acts[-3:]}")

    async def call(self, seat: int, key: str, body: dict[str, Any]) -> Act:
        invoked, status, told = time.monotonic(), 0, {}
        try:
            answer = await self._http.post(
                f"/api/games/{self.id}/actions", json=body, headers={**self._keys[seat], "Idempotency-Key": key}
            )
            status, told = answer.status_code, answer.json()
        except httpx.TransportError:
            pass
        act = Act(
            client=self.agents[seat], key=key, invoked=invoked, returned=time.monotonic(), status=status,
            code=told.get("code", ""),
            hash=told.get("hash") if status == 200 else None, version=told.get("version", 0) if status == 200 else 0,
        )  # fmt: skip
        self._acts.append(act)
        return act

    async def _look(self) -> None:
        while True:
            invoked = time.monotonic()
            try:
                answer = await self._http.get(f"/api/games/{self.id}/state")
                if answer.status_code == 200:
                    version = answer.json()["version"]
                    self._reads.append(
                        Read(client="watcher", invoked=invoked, returned=time.monotonic(), version=version)
                    )
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)

    async def end(self) -> None:
        bearer = {"Authorization": f"Bearer {self._run.operator_key}"}
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            answer = await self._http.post(
                f"/api/admin/games/{self.id}/end", json={"reason": "Enough."}, headers=bearer
            )
            if answer.status_code in (200, 409):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"the game was not ended: {answer.text}")

    async def checked(self, database_url: str) -> Sequence[Record]:
        """End the game, check its history, and return its records."""
        await self.end()
        *watching, looking = self._tasks
        async with asyncio.timeout(SECONDS):
            feeds = await asyncio.gather(*watching)
        looking.cancel()
        pool = await open_pool(database_url)
        try:
            log = await log_of(pool)
            stored = await log.load(self.id)
            assert stored is not None
            shown = [public_form(record) or b"" for record in stored.records]
            verified = await verify(log, deciders())
        finally:
            await pool.close()
        told = [
            Stored(version=record.version, hash=record.hash, key=_key(record), public=message)
            for record, message in zip(stored.records, shown, strict=True)
        ]
        found = list(faults(History(acts=self._acts, reads=self._reads, log=told, feeds=feeds)))
        assert found == [], found
        assert (verified.breaks, verified.diverged) == ([], 0)
        return stored.records


def _key(record: Record) -> str:
    if record.type not in _SUBMITTED:
        return ""
    return f"{msgspec.json.decode(record.data)['agent_id']}:{record.type}"
