"""Pictures and replays that were made before, found by a hash of what they were made of."""

import asyncio
import hashlib
import os
from asyncio import Task
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, Literal

from playmolt_core.ops.telemetry import log

_log = log("gateway")
MEMORY_BYTES: Final = 16 * 1024 * 1024
_ENOUGH: Final = 0.8
"""Cleaning up leaves this part of the allowed size, so that not every new file needs one."""


Kept = Literal["disk", "memory", "nowhere"]


def name_of(*parts: str | bytes) -> str:
    """The name of what is made of these parts."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()


class PictureStore:
    """Keeps content in memory and, if there is a folder, on disk; several processes may share the folder.

    The content follows from its name, so an entry is never outdated. A folder that cannot be used costs only time.
    """

    def __init__(self, folder: str, most_bytes: int, memory_bytes: int = MEMORY_BYTES) -> None:
        self._folder = Path(folder) if folder and most_bytes else None
        self._most_bytes = most_bytes
        self._memory_bytes = memory_bytes
        self._memory: OrderedDict[str, bytes] = OrderedDict()
        self._in_memory = 0
        self._making: dict[str, Task[bytes]] = {}
        self._on_disk: int | None = None
        """Bytes in the folder, as far as this process knows; None before its first write."""

    async def get(self, name: str, make: Callable[[], Awaitable[bytes]], kept: Kept) -> bytes:
        """The content of this name, made at most once at a time and then kept on disk, in memory or nowhere."""
        found = self._memory.get(name)
        if found is not None:
            self._memory.move_to_end(name)
            return found
        making = self._making.get(name)
        if making is None:
            making = self._making[name] = asyncio.create_task(self._made(name, make, kept))
            making.add_done_callback(lambda done: self._end(name, done))
        # Shielded: a client that disconnects must not cancel the work for the others waiting for it.
        return await asyncio.shield(making)

    def _end(self, name: str, done: "Task[bytes]") -> None:
        del self._making[name]
        if not done.cancelled():
            done.exception()  # its callers may be gone; avoids "never retrieved"

    async def _made(self, name: str, make: Callable[[], Awaitable[bytes]], kept: Kept) -> bytes:
        on_disk = kept == "disk" and self._folder is not None
        content = await asyncio.to_thread(self._read, name) if on_disk else None
        if content is None:
            content = await make()
            if on_disk:
                await asyncio.to_thread(self._write, name, content)
        if kept != "nowhere":
            self._remember(name, content)
        return content

    def _remember(self, name: str, content: bytes) -> None:
        self._memory[name] = content
        self._in_memory += len(content)
        while self._in_memory > self._memory_bytes:
            _, dropped = self._memory.popitem(last=False)
            self._in_memory -= len(dropped)

    def _read(self, name: str) -> bytes | None:
        if self._folder is None:
            return None
        path = self._folder / name
        with suppress(OSError):
            content = path.read_bytes()
            os.utime(path)
            return content or None  # empty after a crash of the machine
        return None

    def _write(self, name: str, content: bytes) -> None:
        if self._folder is None or len(content) > self._most_bytes:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=self._folder, prefix=".", delete=False) as file:
                file.write(content)
            Path(file.name).replace(self._folder / name)
            if self._on_disk is not None:
                self._on_disk += len(content)
            if self._on_disk is None or self._on_disk > self._most_bytes:
                self._on_disk = self._cleaned(self._folder)
        except OSError as error:
            _log.warning("picture_not_kept", detail=f"{type(error).__name__}: {error}"[:300])

    def _cleaned(self, folder: Path) -> int:
        """Delete the files used longest ago if there are too many bytes; returns the bytes left."""
        files = []
        for path in folder.iterdir():
            with suppress(FileNotFoundError):
                status = path.stat()
                files.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in files)
        if total <= self._most_bytes:
            return total
        for _, size, path in sorted(files):
            if total <= self._most_bytes * _ENOUGH:
                break
            path.unlink(missing_ok=True)
            total -= size
        return total
