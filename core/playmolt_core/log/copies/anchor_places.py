"""Stores of anchors: a file of lines, or an S3 bucket with an object a line."""

import asyncio
import fcntl
import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Final, Protocol

from playmolt_core.log.copies.buckets import SCHEME, Access, Bucket
from playmolt_core.settings import Settings

_NAME: Final = re.compile(r"(\d{10})\.json")
_AT_ONCE: Final = 16


class PlaceTaken(RuntimeError):
    """Another process wrote there meanwhile; nothing was overwritten."""


class AnchorPlace(Protocol):
    """Lines in the order of their addition. Every method raises OSError if the place is unavailable."""

    tells_all: bool
    """Whether `before` returns every line, or only the last."""

    def held(self) -> AbstractContextManager[None]:
        """Keep other processes of this machine from adding lines."""
        ...

    async def before(self) -> list[bytes]:
        """The lines that the next line must follow."""
        ...

    async def add(self, line: bytes) -> None:
        """Add a line after those that `before` returned, for good. Raises PlaceTaken if another was first."""
        ...

    def lines(self) -> AsyncIterator[bytes]:
        """Every line; an empty one for each that was removed."""
        ...


class AnchorFile:
    """A file of lines, each written through."""

    tells_all = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    @contextmanager
    def held(self) -> Iterator[None]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    async def before(self) -> list[bytes]:
        return self._path.read_bytes().splitlines(keepends=True)

    async def add(self, line: bytes) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        whole = os.fstat(descriptor).st_size
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        except OSError as error:
            # Half a line, as on a full disk, would be an edited anchor to every reader.
            os.ftruncate(descriptor, whole)
            error.filename = str(self._path)
            raise
        finally:
            os.close(descriptor)

    async def lines(self) -> AsyncIterator[bytes]:
        with self._path.open("rb") as file:
            for line in file:
                yield line


class AnchorBucket:
    """An object a line, `PREFIX/0000000001.json` the first. None is written twice: the store refuses a second."""

    tells_all = False  # a year has thousands

    def __init__(self, url: str, settings: Settings) -> None:
        access = Access(
            settings.anchor_endpoint, settings.anchor_region, settings.anchor_access_key, settings.anchor_secret_key
        )
        self._bucket = Bucket(url, access)
        self._next = 1

    def __str__(self) -> str:
        return self._bucket.url

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def before(self) -> list[bytes]:
        numbers = await self._numbers()
        self._next = max(numbers, default=0) + 1
        return [await self._get(self._next - 1)] if numbers else []

    async def add(self, line: bytes) -> None:
        if not await self._bucket.create(_name(self._next), line):
            raise PlaceTaken(f"{self}: another anchor was added at the same time")

    async def lines(self) -> AsyncIterator[bytes]:
        numbers = set(await self._numbers())
        last = max(numbers, default=0)
        for first in range(1, last + 1, _AT_ONCE):
            some = range(first, min(first + _AT_ONCE, last + 1))
            for line in await asyncio.gather(*(self._line(number, numbers) for number in some)):
                yield line

    async def _line(self, number: int, there: set[int]) -> bytes:
        return await self._get(number) if number in there else b""

    async def _numbers(self) -> list[int]:
        return [int(found[1]) for name in await self._bucket.names() if (found := _NAME.fullmatch(name))]

    async def _get(self, number: int) -> bytes:
        return await self._bucket.get(_name(number))


def _name(number: int) -> str:
    return f"{number:010}.json"


def anchor_place(where: str | Path, settings: Settings) -> AnchorPlace:
    """The place of a path, or of `s3://BUCKET/PREFIX`. Raises PlaceAway where it cannot be one."""
    return AnchorBucket(str(where), settings) if str(where).startswith(SCHEME) else AnchorFile(Path(where))
