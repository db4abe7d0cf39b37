"""Batches of an OpenAI-compatible server: a file of requests goes up, the batch is polled, its answers come down.

A batch is found again by the name that it was given: who was killed after asking asks no second time.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import httpx2
import msgspec
import openai

from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.openai.connection import BODY_BYTES, authorized, opened

_ENDPOINT: Final = "/v1/chat/completions"
_WINDOW: Final = "24h"
_NAME: Final = "playmolt"
_KEY: Final = re.compile("[0-9a-f]{64}")
_OK: Final = 200
_GONE: Final = 404
_BUSY: Final = 429
_ERRORS: Final = 500


class BatchAway(Exception):
    """The server did not answer, or has no room now: what was asked for may be asked again."""


class BatchRefused(Exception):
    """The server takes no such batch."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the server answered {status}")
        self.status = status


class Line(msgspec.Struct, frozen=True):
    """A request of a batch under the key of its reply."""

    key: str
    body: dict[str, Any]


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch as its server tells of it; `answers` are files."""

    id: str
    over: bool
    answers: tuple[str, ...] = ()


class Batches:
    """The batches of one model's server. Methods raise BatchAway and BatchRefused."""

    def __init__(self, entry: ModelEntry, key: str) -> None:
        self._client = opened(entry, key)
        self._headers = {"Accept-Encoding": "identity", **authorized(key)}

    async def found(self, name: str) -> str | None:
        """The batch of this name; None also where the server lists none."""
        try:
            page = await self._asked(self._client.batches.list(limit=100, extra_headers=self._headers))
        except BatchRefused:
            return None
        named = (each.id for each in page.data or () if (each.metadata or {}).get(_NAME) == name)
        return next(named, None)

    async def submit(self, name: str, lines: Iterable[Line]) -> str:
        """Have requests answered; gives the id of the batch."""
        file = await self._asked(
            self._client.files.create(
                file=(f"{name}.jsonl", jsonl(lines), "application/jsonl"), purpose="batch", extra_headers=self._headers
            )
        )
        batch = await self._asked(
            self._client.batches.create(
                input_file_id=file.id,
                endpoint=_ENDPOINT,
                completion_window=_WINDOW,
                metadata={_NAME: name},
                extra_headers={**self._headers, "Idempotency-Key": name},
            )
        )
        return str(batch.id)

    async def poll(self, batch: str) -> Batch:
        """How far a batch is; one that its server does not know is over without an answer."""
        told = await self._kept(self._client.batches.retrieve(batch, extra_headers=self._headers))
        if told is None:
            return Batch(id=batch, over=True)
        files = (told.output_file_id, told.error_file_id)
        return Batch(
            id=batch,
            over=told.status in ("completed", "failed", "expired", "cancelled"),
            answers=tuple(each for each in files if each),
        )

    async def answers(self, batch: Batch) -> dict[str, str]:
        """Key → body of each answer that is a completion; what the server could not answer is left out."""
        found: dict[str, str] = {}
        for file in batch.answers:
            content = await self._kept(self._client.files.content(file, extra_headers=self._headers))
            found |= {} if content is None else dict(answered(content.content))
        return found

    async def close(self) -> None:
        await self._client.close()

    async def _kept(self, asking: Any) -> Any:
        """What the server was given to keep; None where it has it no more."""
        try:
            return await self._asked(asking)
        except BatchRefused as refused:
            if refused.status == _GONE:
                return None
            raise BatchAway(str(refused)) from refused

    async def _asked(self, asking: Any) -> Any:
        try:
            return await asking
        except openai.APIStatusError as error:
            status = error.response.status_code
            if status == _BUSY or status >= _ERRORS:
                raise BatchAway(f"the server answered {status}") from error
            raise BatchRefused(status) from error
        except (openai.APIError, httpx2.HTTPError, OSError) as error:
            raise BatchAway(f"the connection broke: {type(error).__name__}") from error


def jsonl(lines: Iterable[Line]) -> bytes:
    """The file of a batch."""
    told = ({"custom_id": line.key, "method": "POST", "url": _ENDPOINT, "body": line.body} for line in lines)
    return b"".join(msgspec.json.encode(each) + b"\n" for each in told)


def answered(content: bytes) -> Iterator[tuple[str, str]]:
    """Key and body of each answer with status 200; lines that cannot be read answer nothing."""
    for line in content.splitlines():
        if len(line) > BODY_BYTES:
            continue
        try:
            told = msgspec.json.decode(line)
        except msgspec.DecodeError:
            continue
        if not isinstance(told, Mapping) or not isinstance(told.get("response"), Mapping):
            continue
        key, response = str(told.get("custom_id")), told["response"]
        body = response.get("body")
        if response.get("status_code") == _OK and _KEY.fullmatch(key) and _is_completion(body):
            yield key, msgspec.json.encode(body).decode()


def _is_completion(body: object) -> bool:
    """An error that a 200 tells of answers nothing either."""
    return isinstance(body, Mapping) and bool(body.get("choices")) and not body.get("error")
