"""Two O/X games that differ in what one seat has chosen: every route gives everybody else the same bytes.

What differs between any two games is made the same before: ids, handles, times, hashes, the question that was drawn.
"""

import asyncio
import re
from typing import Any, Self

import httpx
import pytest
from playmolt_cli.local.stack import Stack

SEATS = 5
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_HASHES = re.compile(r"\b[0-9a-f]{32,64}\b")
_SECONDS_LEFT = re.compile(r'"seconds_left":[\d.]+')


class Twin:
    """A game in which seat 0 has chosen, as everybody else is told of it."""

    def __init__(self, stack: Stack) -> None:
        self._http = httpx.AsyncClient(base_url=stack.run.gateway, timeout=60)
        self.agents: list[dict[str, Any]] = []
        self.game = self.question = ""

    async def __aenter__(self) -> Self:
        for number in range(SEATS):
            answer = await self._http.post("/api/agents", json={"name": f"seat {number}"})
            self.agents.append(answer.raise_for_status().json())
            joined = await self._http.post("/api/games/join", json={"gameType": "ox"}, headers=self._key(number))
            self.game = joined.raise_for_status().json()["game_id"]
        self.question = (await self._http.get(f"/api/games/{self.game}/state")).json()["question"]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    def _key(self, seat: int) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.agents[seat]['api_key']}"}

    async def choose(self, choice: str, comment: str) -> str:
        """Seat 0 chooses; its answer."""
        body = {"type": "first_choice", "choice": choice, "comment": comment}
        answer = await self._http.post(f"/api/games/{self.game}/actions", json=body, headers=self._key(0))
        return self._plain(answer.raise_for_status())

    async def told(self) -> dict[str, str]:
        """Every route that tells others of the game: its name and who asks → status, headers and body."""
        game, owner = self.game, self.agents[0]["id"]
        paths = (
            f"/api/games/{game}/state",
            f"/api/games/{game}/state?at=9",
            f"/api/games/{game}/events?after=0&limit=100",
            f"/api/games/{game}/log",
            f"/api/games?agent={owner}",
            f"/api/agents/{owner}",
            "/api/agents/me/turn?wait=0",
            "/api/agents/me",
        )
        found = {}
        for who, headers in (("a spectator", {}), ("another seat", self._key(1))):
            for path in paths:
                answer = await self._http.get(path, headers=headers)
                found[f"{path} for {who}".replace(game, "GAME").replace(owner, "OWNER")] = self._plain(answer)
        return found

    def _plain(self, answer: httpx.Response) -> str:
        text = answer.text.replace(self.game, "GAME").replace(self.question, "QUESTION")
        for number, agent in enumerate(self.agents):
            text = text.replace(agent["id"], f"AGENT{number}").replace(agent.get("handle", "\0"), f"HANDLE{number}")
        for drawn in (_TIMES, _HASHES, _SECONDS_LEFT):
            text = drawn.sub("DRAWN", text)
        length = len(answer.content) - len(answer.text.encode()) + len(text.encode())
        kept = {name: value for name, value in answer.headers.items() if name not in ("date", "content-length")}
        return f"{answer.status_code} {kept} {length}\n{text}"


async def twins(stack: Stack, *choices: tuple[str, str]) -> list[tuple[str, dict[str, str]]]:
    found = []
    for choice, comment in choices:
        async with Twin(stack) as twin:
            found.append((await twin.choose(choice, comment), await twin.told()))
    return found


def test_a_choice_changes_no_byte_for_anybody_else(running: Stack) -> None:
    (answered, told), (answered_other, told_other) = asyncio.run(
        twins(running, ("O", "a"), ("X", "a much longer comment, in which seat 0 says what it thinks"))
    )
    assert answered == answered_other
    assert told.keys() == told_other.keys()
    for route, answer in told.items():
        assert answer == told_other[route], route


def test_what_is_public_does_change_bytes(running: Stack) -> None:
    """Else nothing would be compared."""

    async def work() -> None:
        async with Twin(running) as twin:
            before = await twin.told()
            await twin.choose("O", "a")
            after = await twin.told()
        assert before != after

    asyncio.run(work())
    with pytest.raises(httpx.HTTPStatusError):
        asyncio.run(twins(running, ("neither", "a")))
