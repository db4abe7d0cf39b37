"""A model on a fake server, for tests of its answers."""

from collections.abc import Callable
from typing import Any

from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.openai.model import OpenAIModel
from playmolt_core.llm.port import Attempt, ChatMessage, Failed, ModelRequest, Reply

from core.tests.clock import Clock
from core.tests.llm.fake_server import FakeServer


def request(**parts: Any) -> ModelRequest:
    return ModelRequest(**({"alias": "fake", "messages": (ChatMessage("user", "안녕"),)} | parts))


class ConnectedModel:
    """A model on a fake server, with a record of its waits and attempts."""

    def __init__(self, server: FakeServer, key: str = "", **entry: Any) -> None:
        self.server = server
        self.attempts: list[Attempt] = []
        self.waits: list[float] = []
        self.clock = Clock()
        self.model = OpenAIModel(
            server.entry(**entry), key, MemoryLimits(clock=self.clock), sleep=self.wait, clock=self.clock
        )

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        await self.clock.sleep(seconds)

    async def record(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    async def ask(self, **parts: Any) -> Reply | Failed:
        return await self.model.ask(request(**parts), self.record)

    @property
    def outcomes(self) -> list[str]:
        return [attempt.outcome for attempt in self.attempts]

    def formats(self) -> list[str]:
        return [each.body.get("response_format", {}).get("type", "prompt") for each in self.server.received]


Connect = Callable[..., ConnectedModel]
