"""Batches of an OpenAI-compatible server: upload a file of requests, poll the batch, download its answers.

A batch can be found by its name, so that a process that was killed after submitting does not submit it again.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import httpx2
import msgspec
import openai

from playmolt_core.llm.batch_calls import BatchRefused, BatchUnavailable, WaitingCall
from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.openai.connection import BODY_BYTES, authorized, opened
from playmolt_core.ops.json_values import decode_json

_ENDPOINT: Final = "/v1/chat/completions"
_WINDOW: Final = "24h"
_NAME: Final = "playmolt"
_KEY: Final = re.compile("[0-9a-f]{64}")
_OK: Final = 200
_GONE: Final = 404
_BUSY: Final = 429
_ERRORS: Final = 500


class BatchStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The status of a batch on its server; `answers` are file ids."""

    id: str
    over: bool
    answers: tuple[str, ...] = ()


class Batches:
    """The batches of one model's server. Methods raise BatchUnavailable and BatchRefused."""

    def __init__(self, entry: ModelEntry, key: str) -> None:
        self._client = opened(entry, key)
        self._headers = {"Accept-Encoding": "identity", **authorized(key)}

    async def found(self, name: str) -> str | None:
        """The batch with this name; None if the server lists no such batch."""
        try:
            page = await self._asked(self._client.batches.list(limit=100, extra_headers=self._headers))
        except BatchRefused:
            return None
        named = (each.id for each in page.data or () if (each.metadata or {}).get(_NAME) == name)
        return next(named, None)

    async def submit(self, name: str, lines: Iterable[WaitingCall]) -> str:
        """Submit requests; returns the id of the batch."""
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

    async def poll(self, batch: str) -> BatchStatus:
        """The progress of a batch; a batch that the server does not know is over without answers."""
        status = await self._kept(self._client.batches.retrieve(batch, extra_headers=self._headers))
        if status is None:
            return BatchStatus(id=batch, over=True)
        files = (status.output_file_id, status.error_file_id)
        return BatchStatus(
            id=batch,
            over=status.status in ("completed", "failed", "expired", "cancelled"),
            answers=tuple(each for each in files if each),
        )

    async def cancel(self, batch: str) -> None:
        """Ask the server to end a batch early, as some can; it is over when `poll` says so."""
        with suppress(BatchRefused):
            await self._asked(self._client.batches.cancel(batch, extra_headers=self._headers))

    async def answers(self, batch: BatchStatus) -> dict[str, str]:
        """Key → body of each answer that is a completion; failed requests are omitted."""
        found: dict[str, str] = {}
        for file in batch.answers:
            content = await self._kept(self._client.files.content(file, extra_headers=self._headers))
            found |= {} if content is None else dict(answered(content.content))
        return found

    async def close(self) -> None:
        await self._client.close()

    async def _kept(self, asking: object) -> Any:
        """The result of a call about a stored object; None if the server no longer has it."""
        try:
            return await self._asked(asking)
        except BatchRefused as refused:
            if refused.status == _GONE:
                return None
            raise BatchUnavailable(str(refused)) from refused

    async def _asked(self, asking: Any) -> Any:
        try:
            return await asking
        except openai.APIStatusError as error:
            status = error.response.status_code
            if status == _BUSY or status >= _ERRORS:
                raise BatchUnavailable(f"the server answered {status}") from error
            raise BatchRefused(status) from error
        except (openai.APIError, httpx2.HTTPError, OSError) as error:
            raise BatchUnavailable(f"the connection broke: {type(error).__name__}") from error


def jsonl(lines: Iterable[WaitingCall]) -> bytes:
    """The file of a batch."""
    entries = ({"custom_id": line.key, "method": "POST", "url": _ENDPOINT, "body": line.body} for line in lines)
    return b"".join(msgspec.json.encode(each) + b"\n" for each in entries)


def answered(content: bytes) -> Iterator[tuple[str, str]]:
    """Key and body of each answer with status 200; unreadable lines are skipped."""
    for line in content.splitlines():
        if len(line) > BODY_BYTES:
            continue
        try:
            entry = decode_json(line)
        except msgspec.DecodeError:
            continue
        if not isinstance(entry, Mapping) or not isinstance(entry.get("response"), Mapping):
            continue
        key, response = str(entry.get("custom_id")), entry["response"]
        body = response.get("body")
        if response.get("status_code") == _OK and _KEY.fullmatch(key) and _is_completion(body):
            yield key, msgspec.json.encode(body).decode()


def _is_completion(body: object) -> bool:
    """Whether a 200 body is a completion and not an error."""
    return isinstance(body, Mapping) and bool(body.get("choices")) and not body.get("error")
