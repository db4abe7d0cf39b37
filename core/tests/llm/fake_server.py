"""An OpenAI-compatible server on loopback that gives scripted answers, including faults, and keeps its requests.

    async with FakeServer(status(429, retry_after="1"), reply('{"a": 1}')) as server:
        entry = server.entry()

Each request takes the next step; when none is left, `server.otherwise` answers. Steps are canned answers or functions
of the request.
"""

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

import msgspec
from playmolt_core.llm.catalogue import ModelEntry

from core.tests.listening import listening

GATED_SECONDS = 110
"""Less than the default time limit of a model in a catalogue."""


class ReceivedRequest(msgspec.Struct, frozen=True):
    """A received request; header names are in lower case. The content of a form is in `text`."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float

    @property
    def turn(self) -> str:
        return self.headers.get("x-playmolt-turn", "")

    @property
    def last(self) -> str:
        return str(self.body["messages"][-1]["content"])


class Canned(msgspec.Struct, frozen=True, kw_only=True):
    """An answer. `hang`: it never comes. `cut`: the connection breaks half way through the body. `delay`: seconds.

    With a `gate` the answer waits until another thread sets the event, for at most `GATED_SECONDS`.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}
    delay: float = 0
    hang: bool = False
    cut: bool = False
    gate: threading.Event | None = None


Step = Canned | Callable[[ReceivedRequest], Canned]


def reply(
    text: str | None = None,
    *,
    tool_calls: Sequence[tuple[str, Any]] = (),
    refusal: str | None = None,
    finish_reason: str = "stop",
    usage: tuple[int, int] | None = (10, 5),
    model: str = "fake-model-1",
    delay: float = 0,
    padding: str = "",
) -> Canned:
    """A completion. Tool calls are (name, arguments); arguments that are not text are sent as JSON. `padding` makes the
    body longer."""
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": value if isinstance(value, str) else json.dumps(value)},
        }
        for number, (name, value) in enumerate(tool_calls, 1)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": refusal}
    message |= {"tool_calls": calls} if calls else {}
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
    }
    if usage:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    body |= {"padding": padding} if padding else {}
    return Canned(body=json.dumps(body).encode(), delay=delay)


def fenced(value: Any) -> Canned:
    """A completion with one object in a code fence."""
    return reply(f"```json\n{json.dumps(value, ensure_ascii=False)}\n```")


def huge(size: int = 65 * 1024) -> Canned:
    """A completion over 64 KiB."""
    return reply(json.dumps({"text": "x" * size}))


def status(
    code: int,
    message: str = "no",
    *,
    param: str | None = None,
    error: str | None = None,
    retry_after: str | None = None,
) -> Canned:
    """An error in OpenAI's form."""
    body = {"error": {"message": message, "type": "error", "param": param, "code": error}}
    headers = {"Retry-After": retry_after} if retry_after is not None else {}
    return Canned(status=code, body=json.dumps(body).encode(), headers=headers)


def raw(body: bytes, code: int = 200) -> Canned:
    """Any body."""
    return Canned(status=code, body=body)


def hang() -> Canned:
    """No answer at all."""
    return Canned(hang=True)


def truncated() -> Canned:
    """A completion whose connection breaks half way."""
    return Canned(body=reply("x" * 100).body, cut=True)


def offers_tools(request: ReceivedRequest) -> bool:
    return "tools" in request.body


CALLS_TOOLS = reply(tool_calls=[("lookup_evidence", {"id": "E1"})])


def is_probe(request: ReceivedRequest) -> bool:
    return request.turn.endswith(" tools probe")


class FakeServer:
    """The server. `rejects` names body parameters (or response format types) that it answers with 400; with
    `ignores_tools` it accepts `tools` but never calls one.

    `probe` answers a jury's question whether its model calls tools. That request takes no step and is not kept.
    """

    def __init__(self, *steps: Step, rejects: Sequence[str] = (), ignores_tools: bool = False) -> None:
        self.received: list[ReceivedRequest] = []
        self.otherwise: Step = reply("hello")
        self.rejects = set(rejects)
        self.ignores_tools = ignores_tools
        self.probe = CALLS_TOOLS
        self.most_at_once = 0
        self._at_once = 0
        self._steps = deque(steps)
        self._listening = AsyncExitStack()
        self._port = 0

    def script(self, *steps: Step) -> None:
        self._steps.extend(steps)

    def forget(self) -> None:
        """Drop the remaining steps and the received requests."""
        self._steps.clear()
        self.received.clear()

    @property
    def base_url(self) -> str:
        assert self._port, "enter the server first"
        return f"http://127.0.0.1:{self._port}/v1"

    def entry(self, alias: str = "fake", **fields: Any) -> ModelEntry:
        """A catalogue entry of this server."""
        known = {"alias": alias, "base_url": self.base_url, "model": "fake-model"}
        return msgspec.convert(known | fields, type=ModelEntry)

    def toml(self, alias: str = "fake", **fields: str | int) -> str:
        """The same entry as text of a catalogue."""
        lines = {"base_url": self.base_url, "model": "fake-model"} | fields
        return f"[models.{alias}]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in lines.items())

    async def __aenter__(self) -> Self:
        self._port = await self._listening.enter_async_context(listening(self._serve))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._listening.aclose()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await _read(reader)) is not None:
            if not is_probe(request):
                self.received.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            try:
                answer = self._answer(request)
                if answer.hang:
                    await asyncio.Event().wait()
                if answer.gate:
                    await _opened(answer.gate)
                await asyncio.sleep(answer.delay)
            finally:
                self._at_once -= 1
            await _write(writer, answer)
            if answer.cut:
                return

    def _answer(self, request: ReceivedRequest) -> Canned:
        format_type = request.body.get("response_format", {}).get("type", "")
        for name in self.rejects:
            if name in request.body or name == format_type:
                param = "response_format" if name == format_type else name
                other = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
                return status(400, f"Unsupported parameter: '{name}'.{other}", param=param)
        if is_probe(request):
            step: Step = self.probe
        else:
            step = self._steps.popleft() if self._steps else self.otherwise
        answer = step(request) if callable(step) else step
        if self.ignores_tools and offers_tools(request):
            return reply("I would rather talk.")
        return answer


async def _opened(gate: threading.Event) -> None:
    until = time.monotonic() + GATED_SECONDS
    while not gate.is_set() and time.monotonic() < until:
        await asyncio.sleep(0.01)


async def _read(reader: asyncio.StreamReader) -> ReceivedRequest | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    content = {"text": body.decode()} if "multipart" in headers.get("content-type", "") else json.loads(body or b"{}")
    return ReceivedRequest(head[0].split(" ")[1], headers, content, time.monotonic())


async def _write(writer: asyncio.StreamWriter, answer: Canned) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": str(len(answer.body)), **answer.headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    body = answer.body[: len(answer.body) // 2] if answer.cut else answer.body
    writer.write(f"HTTP/1.1 {answer.status} X\r\n{head}\r\n".encode() + body)
    await writer.drain()
