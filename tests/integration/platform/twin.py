"""One of two games that differ only in a secret, as seen by everyone who may not know the secret.

Values that differ between any two games are made equal before a comparison: ids, handles, times, hashes, random draws,
roles. Sizes are those of the sent bytes, without the values that were made equal.
"""

import asyncio
import json
import re
import time
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import httpx

from tests.platforms import Stack

SECONDS = 120
_DRAWN = (
    re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"),
    re.compile(r"\b[0-9a-f]{32,64}\b"),
    re.compile(r'"seconds_left": ?[\d.]+'),
    re.compile(r'"seed": ?"\d+"'),
    re.compile(r'"next_cursor": ?("[^"]+"|null)'),
)


NEW = 2
"""The version of a game after one agent has opened it by joining."""


class Twin:
    """A game of `seats` agents. `labels` maps the texts that only this game has to texts that replace them."""

    kind: ClassVar[str]
    seats: ClassVar[int]
    asked: ClassVar[str] = "/api/games/{game}/state"
    """The route that another agent calls to learn something about the game."""
    own_routes: ClassVar[tuple[str, ...]] = (
        "/api/games/{game}/state",
        "/api/games/{game}/state?at=9",
        "/api/games/{game}/events?after=0&limit=100",
        "/api/games/{game}/log",
        "/api/games?agent={owner}",
        "/api/games?gameType={kind}&limit=1",
        "/api/agents/{owner}",
        "/api/agents/me/turn?wait=0",
        "/api/agents/me",
    )

    def __init__(self, stack: Stack) -> None:
        self.http = httpx.AsyncClient(base_url=stack.run.gateway, timeout=SECONDS)
        self.spectator = stack.run.spectator
        self.operator = {"Authorization": f"Bearer {stack.run.operator_key}"}
        self.agents: list[dict[str, Any]] = []
        self.labels: dict[str, str] = {}
        self.game = ""

    async def __aenter__(self) -> Self:
        for number in range(self.seats):
            made = await self.http.post("/api/agents", json={"name": f"seat {number}"})
            self.agents.append(made.raise_for_status().json())
        await self.opened()
        self.labels[self.game] = "GAME"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    def key(self, seat: int) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.agents[seat]['api_key']}"}

    async def opened(self) -> None:
        """Seat all agents and find out what was drawn."""
        await self.join(0)
        while (await self.http.get(f"/api/games/{self.game}/state")).json()["version"] > NEW:
            # Another test left this waiting game; its joins and leaves would change the versions.
            ended = await self.http.post(
                f"/api/admin/games/{self.game}/end", json={"reason": "not new"}, headers=self.operator
            )
            ended.raise_for_status()
            await self.join(0)
        for number in range(1, self.seats):
            await self.join(number)

    async def join(self, seat: int) -> None:
        joined = await self.http.post("/api/games/join", json={"gameType": self.kind}, headers=self.key(seat))
        self.game = joined.raise_for_status().json()["game_id"]

    async def act(self, seat: int, body: Any) -> httpx.Response:
        answer = await self.http.post(f"/api/games/{self.game}/actions", json=body, headers=self.key(seat))
        return answer.raise_for_status()

    def viewers(self) -> Mapping[str, dict[str, str]]:
        return {"a spectator": {}, "another seat": self.key(1)}

    async def ask(self) -> httpx.Response:
        """Make the call of another agent, which is answered in any case."""
        return await self.http.get(self.asked.format(game=self.game), headers=self.key(1))

    async def answers(self) -> dict[str, str]:
        """The answers of every route that shows the game to others: route and caller → status, headers, size, body."""
        owner, found = self.agents[0]["id"], {}
        for who, headers in self.viewers().items():
            for route in self.own_routes:
                path = route.format(game=self.game, owner=owner, kind=self.kind)
                found[f"{route} for {who}"] = self.plain(await self.http.get(path, headers=headers))
            found[f"the gateway's feed for {who}"] = await self.feed(f"/api/games/{self.game}/stream", headers)
        found["the spectator's feed"] = await self.feed(f"{self.spectator}/sse/games/{self.game}", {})
        return found

    async def feed(self, url: str, headers: dict[str, str]) -> str:
        """The events of a feed up to the newest one."""
        version = (await self.http.get(f"/api/games/{self.game}/state")).json()["version"]
        lines = []
        async with self.http.stream("GET", url, headers=headers) as answer:
            async for line in answer.aiter_lines():
                lines.append(line)
                if line == "" and f"id: {version}" in lines[-3:]:
                    break
        messages = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
        return self.same(self.sorted_by_role(messages))

    def plain(self, answer: httpx.Response) -> str:
        kind, text = answer.headers.get("content-type", ""), answer.text
        kept = {name: value for name, value in answer.headers.items() if name not in ("date", "content-length")}
        body = self.same(self.sorted_by_role(json.loads(text)) if "json" in kind and text else text)
        return f"{answer.status_code} {kept} {self.size(answer.content)}\n{body}"

    def size(self, sent: bytes) -> int:
        return len(self.same(sent.decode()).encode())

    def same(self, text: str) -> str:
        labels = dict(self.labels)
        for number, agent in enumerate(self.agents):
            label = labels.pop(f"seat {number}", str(number))
            labels |= {agent["id"]: f"AGENT {label}", agent["handle"]: f"HANDLE {label}", f"seat {number}": label}
        for own in sorted(labels, key=len, reverse=True):
            text = text.replace(own, labels[own])
        for drawn in _DRAWN:
            text = drawn.sub("DRAWN", text)
        return text

    def sorted_by_role(self, value: Any) -> str:
        """JSON with lists in one order, because the seats are drawn, too."""
        return json.dumps(self._sorted(value), ensure_ascii=False)

    def _sorted(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._sorted(item) for key, item in value.items()}
        if isinstance(value, list):
            items = [self._sorted(item) for item in value]
            roles = bool(items) and all(
                isinstance(item, dict) and "role" in item and "text" not in item for item in items
            )
            return sorted(items, key=self._named) if roles else [*self._joined(items), *_others(items)]
        return value

    def _joined(self, items: list[Any]) -> list[Any]:
        """The seated agents, independent of their order."""
        joined = [{**item, "version": 0} for item in items if _tells_of_joining(item)]
        return sorted(joined, key=self._named)

    def _named(self, item: Any) -> str:
        return self.same(json.dumps(item))


def _tells_of_joining(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "agent_joined"


def _others(items: list[Any]) -> list[Any]:
    return [item for item in items if not _tells_of_joining(item)]


class OxTwin(Twin):
    """Seat 0 has chosen; its choice and comment are secret until all have chosen."""

    kind, seats = "ox", 5

    async def opened(self) -> None:
        await super().opened()
        state = (await self.http.get(f"/api/games/{self.game}/state")).json()
        self.labels[state["question"]] = "QUESTION"

    async def hides(self, secret: Any) -> str:
        """The answer to the agent that acts."""
        choice, comment = secret
        return self.plain(await self.act(0, {"type": "first_choice", "choice": choice, "comment": comment}))


class TrialTwin(Twin):
    """A juror has voted; its vote is secret until all three have voted."""

    kind, seats = "trial", 6
    own_routes = tuple(route.replace("at=9", "at=30") for route in Twin.own_routes)

    async def opened(self) -> None:
        await super().opened()
        state = (await self.http.get(f"/api/games/{self.game}/state")).json()
        roles = {each["id"]: each["role"] for each in state["participants"]}
        of_seats = [roles[agent["id"]] for agent in self.agents]
        order = sorted(range(self.seats), key=lambda seat: (of_seats[seat] != "JUROR", of_seats[seat], seat))
        self.agents = [self.agents[seat] for seat in order]
        for number, seat in enumerate(order):
            self.labels[f"seat {seat}"] = f"NAME {number}"
        for field, text in _texts(state["case"]):
            self.labels[text] = f"CASE {field}"
        for phase in ("opening", "argument", "argument", "argument", "rebuttal"):
            for number in range(self.seats):
                if phase != "rebuttal" or of_seats[order[number]] in ("PROSECUTOR", "DEFENSE"):
                    await self.act(number, {"type": "speak", "text": f"{phase} of {number}"})

    def same(self, text: str) -> str:
        labels = dict(self.labels)
        for number, agent in enumerate(self.agents):
            labels |= {agent["id"]: f"AGENT {number}", agent["handle"]: f"HANDLE {number}"}
        for own in sorted(labels, key=len, reverse=True):
            text = text.replace(own, labels[own])
        for drawn in _DRAWN:
            text = drawn.sub("DRAWN", text)
        return text

    async def hides(self, secret: Any) -> str:
        return self.plain(await self.act(0, {"type": "vote", "verdict": secret}))


class SpeechTwin(TrialTwin):
    """A finished trial in which the operator hid what the judge said."""

    own_routes = (
        *(route for route in TrialTwin.own_routes if not route.endswith("/log")),
        "/api/games/{game}/state?at=40", "/oembed?url=http://localhost/watch/{game}", "/agents/{owner}",
        "/watch/{game}/picture.png?v=40",
    )  # fmt: skip
    """Logs and pages are left out: they have seats in the drawn order, and they follow from these."""

    async def hides(self, secret: Any) -> str:
        state = (await self.http.get(f"/api/games/{self.game}/state")).json()
        roles = {each["id"]: each["role"] for each in state["participants"]}
        for number, agent in enumerate(self.agents):
            if roles[agent["id"]] == "JUROR":
                await self.act(number, {"type": "vote", "verdict": "GUILTY"})
        judge = next(number for number, agent in enumerate(self.agents) if roles[agent["id"]] == "JUDGE")
        await self.act(judge, {"type": "speak", "text": secret})
        events = (await self.http.get(f"/api/games/{self.game}/events?limit=100")).json()["events"]
        version = next(each["version"] for each in events if each.get("text") == secret)
        body = {"kind": "speech", "game_id": self.game, "version": version, "reason": "rude"}
        report = (await self.http.post("/api/reports", json=body)).raise_for_status().json()["id"]
        decision = {"decision": "hide", "note": "house rule"}
        decided = await self.http.post(f"/api/admin/reports/{report}", json=decision, headers=self.operator)
        decided.raise_for_status()
        return str(version)

    def plain(self, answer: httpx.Response) -> str:
        if "png" in answer.headers["content-type"]:  # a picture has no text that could be made equal
            return str(answer.status_code)
        return super().plain(answer)

    def same(self, text: str) -> str:
        return re.sub(r"\bm=[0-9a-f]{12}\b", "DRAWN", super().same(text))


def _texts(value: Any, field: str = "") -> list[tuple[str, str]]:
    if isinstance(value, str):
        return [(field, value)] if len(value) > 3 else []
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for name, part in parts for found in _texts(part, f"{field}.{name}")]


class SessionTwin(Twin):
    """A session of agent 0: only its owner may know that it exists."""

    seats = 2
    path: ClassVar[str]
    file: ClassVar[str]
    opening: ClassVar[dict[str, Any]]
    routes: ClassVar[tuple[str, ...]]

    async def opened(self) -> None:
        made = await self.http.post(self.path, json=self.opening, headers=self.key(0))
        document = made.raise_for_status().json()
        self.game = document.get("session_id") or document["id"]

    def viewers(self) -> Mapping[str, dict[str, str]]:
        return {"nobody": {}, "another agent": self.key(1), "the operator": self.operator}

    async def answers(self) -> dict[str, str]:
        found, owner = {}, self.agents[0]["id"]
        common = ("/api/games/{game}/state", "/api/games/{game}/events", "/api/games/{game}/log", "/api/agents/{owner}",
                  "/api/games?agent={owner}", "/watch/{game}", "/api/games/{game}/replay.html", "/embed/{game}",
                  "/api/admin/games/{game}", "/metrics?x")  # fmt: skip
        for who, headers in self.viewers().items():
            for route in (*(f"{self.path}/{{game}}{rest}" for rest in self.routes), *common):
                path = route.format(game=self.game, owner=owner)
                found[f"{route} for {who}"] = self.plain(await self.http.get(path, headers=headers))
        for feed in ("sse", "ws"):
            answer = await self.http.get(f"{self.spectator}/{feed}/games/{self.game}")
            found[f"the spectator's {feed}"] = self.plain(answer)
        return found

    async def opened_file(self) -> str:
        """Open the address of a file and return its token."""
        asked = {"path": f"{self.path}/{self.game}/{self.file}"}
        made = await self.http.post("/api/files", json=asked, headers=self.key(0))
        url = str(made.raise_for_status().json()["url"])
        await self.http.get(url)
        return url.rpartition("/")[2]

    async def settled(self, rest: str, ready: Any) -> dict[str, Any]:
        """The session as its owner sees it, once it waits for its owner again."""
        end = time.monotonic() + SECONDS
        while True:
            answer = await self.http.get(f"{self.path}/{self.game}{rest}", headers=self.key(0))
            document: dict[str, Any] = answer.raise_for_status().json()
            if ready(document):
                return document
            assert time.monotonic() < end, document
            await asyncio.sleep(0.1)


class LegalTwin(SessionTwin):
    """Facts were entered, and the models have used them."""

    kind, path, routes = "legal", "/api/sessions", ("", "/report", "/stream")
    file = "report?format=pdf"
    asked = "/api/sessions/{game}"
    opening: ClassVar[dict[str, Any]] = {
        "case_type": "civil", "jurisdiction": "Korea", "title": "Price of goods", "language": "en",
    }  # fmt: skip

    async def hides(self, secret: str) -> str:
        facts = {
            "overview": secret, "acts": f"The goods were sent. {secret}", "opposing_claims": "They were faulty.",
            "timeline": [{"when": "2024-03-05", "what": "the goods were delivered", "agreed": True}],
            "evidence": [{"title": "receipt", "description": "signed for the goods"}],
        }  # fmt: skip
        answer = await self.http.post(f"{self.path}/{self.game}/facts", json=facts, headers=self.key(0))
        answer.raise_for_status()
        await self.settled("", lambda document: document["gate"] is not None)
        return ""


class JuryTwin(SessionTwin):
    """A person has written to a juror, which has answered."""

    kind, path = "jury", "/api/jury/sessions"
    file = "transcript?format=md"
    asked = "/api/jury/sessions/{game}"
    routes = ("", "/dossier", "/evidence", "/evidence/E1", "/witnesses", "/verdict", "/ending", "/log", "/stream")
    opening: ClassVar[dict[str, Any]] = {"language": "en"}

    def same(self, text: str) -> str:
        # The number of events of an answer is drawn with the session's seed.
        return re.sub(r'"version": ?\d+', '"version": DRAWN', super().same(text))

    async def hides(self, secret: str) -> str:
        for phase in ("investigation", "persuasion"):
            moved = await self.http.post(f"{self.path}/{self.game}/phase", json={"to": phase}, headers=self.key(0))
            moved.raise_for_status()
        said = await self.http.post(f"{self.path}/{self.game}/chat/radical", json={"text": secret}, headers=self.key(0))
        assert said.raise_for_status().status_code == 200
        return ""


async def secret_sessions(stack: Stack, said: str) -> set[str]:
    """Open sessions in which a person enters a secret text, and play them until models have answered it."""
    secrets = set()
    for kind in (LegalTwin, JuryTwin):
        async with kind(stack) as twin:
            secret = f"{said} in a session of kind {twin.kind}"
            await twin.hides(secret)
            secrets |= {secret, *(agent["api_key"] for agent in twin.agents), await twin.opened_file()}
    return secrets
