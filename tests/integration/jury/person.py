"""A person who oversees a jury over HTTP, and a model that plays all jurors."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Self

import httpx

from core.tests.llm.fake_server import Canned, ReceivedRequest, reply
from tests.integration.contract import heard, judged

JURORS = ("ophiuchus", "radical", "sympathizer", "opportunist", "philosopher")
SECRETS = (
    '"stance":', "stances", "initial_stance", "topic_weights", "trigger_keywords", "role_prompt", "speaker_power",
    '"weakness":', '"parts":', '"before":', '"after":',
)  # fmt: skip
"""Texts that no answer may contain before the verdict."""
DOUBT = {"topics": [{"topic": "procedural_justice", "impact": "positive"}]}
Answer = Canned | Callable[[ReceivedRequest], Canned]


def turn_of(asked: ReceivedRequest) -> str:
    return asked.turn.split(" ")[1]


def kind_of(asked: ReceivedRequest) -> str:
    return asked.turn.split(" ")[2]


def conclusion(asked: ReceivedRequest) -> bool:
    """Whether a juror's prompt asks for its vote."""
    prompt = next(message["content"] for message in asked.body["messages"] if message["role"] == "user")
    return bool(json.loads(prompt)["conclusion"] == "guilty")


def cast(asked: ReceivedRequest, guilty: bool | None = None) -> Canned:
    vote = conclusion(asked) if guilty is None else guilty
    return reply(tool_calls=[("cast_vote", {"guilty": vote})])


class Bench:
    """Plays every juror. `first` maps a turn's name to answers that it gives first, one after the other."""

    def __init__(self) -> None:
        self.first: dict[str, list[Answer]] = {}
        self.topics: dict[str, Any] = {"topics": []}

    def __call__(self, asked: ReceivedRequest) -> Canned:
        turn = turn_of(asked)
        if self.first.get(turn):
            answer = self.first[turn].pop(0)
            return answer(asked) if callable(answer) else answer
        match turn.split(":")[0]:
            case "classify":
                return reply(json.dumps(self.topics))
            case "speech":
                return reply(json.dumps({"text": f"So I say: {turn}.", "topics": []}))
            case "vote":
                return cast(asked)
        return reply(f"I have heard you: {turn}.")


class Overseer:
    """A person with a key and a session. Calls are made once; `patient` calls are repeated while a part restarts."""

    def __init__(self, gateway: str) -> None:
        self.client = httpx.AsyncClient(base_url=gateway, timeout=60, event_hooks=judged())
        self.headers: dict[str, str] = {}
        self.session = ""
        self.answers: list[str] = []

    async def __aenter__(self) -> Self:
        registered = await _until_answered(lambda: self.client.post("/api/agents", json={"name": "overseer"}))
        self.headers = {"Authorization": f"Bearer {registered.json()['api_key']}"}
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()

    async def moved(self, gateway: str) -> None:
        """Continue at another gateway."""
        await self.client.aclose()
        self.client = httpx.AsyncClient(base_url=gateway, timeout=60, event_hooks=judged())

    def path(self, rest: str = "") -> str:
        return f"/api/jury/sessions/{self.session}" + (f"/{rest}" if rest else "")

    async def post(self, rest: str, body: Any = None, *, key: str = "", patient: bool = False) -> httpx.Response:
        headers = self.headers | ({"Idempotency-Key": key} if key else {})

        async def call() -> httpx.Response:
            return await self.client.post(self.path(rest), json={} if body is None else body, headers=headers)

        return await self._kept(lambda: _until_answered(call)) if patient else await self._kept(call)

    async def get(self, rest: str = "", *, patient: bool = False) -> httpx.Response:
        async def call() -> httpx.Response:
            return await self.client.get(self.path(rest), headers=self.headers)

        return await (_until_answered(call) if patient else self._kept(call))

    async def _kept(self, call: Callable[[], Any]) -> httpx.Response:
        answer: httpx.Response = await call()
        self.answers.append(answer.text)
        return answer

    async def did(self, rest: str, body: Any = None, *, key: str = "") -> dict[str, Any]:
        answer = await self.post(rest, body, key=key)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def votes(self) -> dict[str, Any]:
        """Let the jury vote and return the verdict, even if the vote takes longer than a call waits."""
        answer = await self.post("vote")
        if answer.status_code == 202:
            await self.until(lambda session: session["phase"] == "ended")
            return await self.has("verdict")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def has(self, rest: str = "") -> dict[str, Any]:
        answer = await self.get(rest)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def refused(self, status: int, code: str, rest: str, body: Any = None, *, get: bool = False) -> Any:
        answer = await (self.get(rest) if get else self.post(rest, body))
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"]
        return answer.json()

    async def open(self, language: str = "en", model: str = "scripted") -> dict[str, Any]:
        body = {"language": language, "model": model}
        opened = await self.client.post("/api/jury/sessions", json=body, headers=self.headers)
        assert opened.status_code == 201, opened.text
        self.session = opened.json()["id"]
        return dict(opened.json())

    async def to(self, phase: str) -> Self:
        """Continue to a phase by the shortest way."""
        path = ("prologue", "investigation", "persuasion", "deliberation")
        now = (await self.has())["phase"]
        while now != phase:
            if now == "deliberation":
                now = (await self.did("deliberation/next"))["phase"]
            else:
                now = (await self.did("phase", {"to": path[path.index(now) + 1]}))["phase"]
        return self

    async def chat(self, juror: str = "ophiuchus", text: str = "Listen to me.", **options: Any) -> httpx.Response:
        return await self.post(f"chat/{juror}", {"text": text}, **options)

    async def stream(self, after: int = 0) -> list[dict[str, Any]]:
        """Follow the session's feed to its end."""
        return await heard(self.client, self.path(f"stream?after={after}"), self.headers)

    async def until(self, ready: Callable[[dict[str, Any]], Any], seconds: float = 120) -> dict[str, Any]:
        async with asyncio.timeout(seconds):
            while True:
                answer = await self.get(patient=True)
                if ready(answer.json()):
                    return dict(answer.json())
                await asyncio.sleep(0.1)


async def _until_answered(call: Callable[[], Any], seconds: float = 120) -> httpx.Response:
    async with asyncio.timeout(seconds):
        while True:
            try:
                answer: httpx.Response = await call()
            except httpx.TransportError:
                await asyncio.sleep(0.3)
                continue
            if answer.status_code != 503:
                return answer
            await asyncio.sleep(0.3)
