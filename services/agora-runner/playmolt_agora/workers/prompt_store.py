"""Prompts on their way to the blob store: those of one moment travel together."""

import asyncio

from playmolt_core.db.blobs import PgBlobs


class PromptStore:
    """Keeps texts under their hash; `put` returns when they are stored."""

    def __init__(self, blobs: PgBlobs) -> None:
        self._blobs = blobs
        self._waiting: list[str] = []
        self._next: asyncio.Task[list[str]] | None = None

    async def put(self, text: str) -> None:
        """Keep a text. Raises LogUnavailable."""
        self._waiting.append(text)
        if self._next is None:
            self._next = asyncio.create_task(self._store())
        await asyncio.shield(self._next)

    async def _store(self) -> list[str]:
        await asyncio.sleep(0)  # whoever asks in this turn of the loop comes along
        texts, self._waiting, self._next = self._waiting, [], None
        return await self._blobs.put(texts)
