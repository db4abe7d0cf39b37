"""Atom feeds (RFC 4287), and documents that are made once for many readers."""

import asyncio
import hashlib
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from html import escape
from time import monotonic
from typing import Final, Generic, TypeVar

import msgspec

T = TypeVar("T")
_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may contain."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Entry(msgspec.Struct, frozen=True):
    """A finished game in a feed. `changed` is the time of the newest change that a reader sees."""

    id: str
    title: str
    summary: str
    address: str
    category: str
    published: datetime
    changed: datetime


class Feed(msgspec.Struct, frozen=True, kw_only=True):
    """A feed; `address` is its own, `page` that of the page which shows the same. `changed` is the time of the newest
    change of what it shows beside its entries."""

    id: str
    title: str
    author: str
    language: str
    address: str
    page: str
    entries: Sequence[Entry]
    changed: datetime = _BEGINNING

    def document(self) -> bytes:
        """The feed as XML."""
        changed = max((self.changed, *(entry.changed for entry in self.entries)))
        author = f"<author><name>{text(self.author)}</name></author>"
        lines = [
            '<?xml version="1.0" encoding="utf-8"?>',
            f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{self.language}">',
            f"<id>{text(self.id)}</id>",
            f"<title>{text(self.title)}</title>",
            f"<updated>{stamp(changed)}</updated>",
            author,
            f'<link rel="self" type="application/atom+xml" href="{text(self.address)}"/>',
            f'<link rel="alternate" type="text/html" href="{text(self.page)}"/>',
            # Entries inherit it (RFC 4287, 4.2.1), but most readers do not know that: findings/feed_readers_differ.sh.
            *(_entry(entry, author) for entry in self.entries),
            "</feed>\n",
        ]
        return "\n".join(lines).encode()


def _entry(entry: Entry, author: str) -> str:
    return (
        f"<entry><id>{text(entry.id)}</id><title>{text(entry.title)}</title>{author}"
        f"<published>{stamp(entry.published)}</published><updated>{stamp(entry.changed)}</updated>"
        f'<link rel="alternate" type="text/html" href="{text(entry.address)}"/>'
        f'<category term="{text(entry.category)}"/><summary>{text(entry.summary)}</summary></entry>'
    )


def text(value: str) -> str:
    """A text for XML: markup escaped, characters that XML does not allow replaced."""
    return escape(_FORBIDDEN.sub("\ufffd", value))


def stamp(at: datetime) -> str:
    """A time as Atom and sitemaps write it, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def name_of(identifier: str) -> str:
    """The permanent id of a game or an agent in feeds: its UUID, whatever the address of the server."""
    found = _UUID.search(identifier)
    return f"urn:uuid:{found[0] if found else uuid.UUID(bytes=hashlib.sha256(identifier.encode()).digest()[:16])}"


def name_here(secret: bytes, what: str) -> str:
    """The permanent id of a feed of this installation."""
    return f"urn:uuid:{uuid.UUID(bytes=hashlib.sha256(secret + what.encode()).digest()[:16])}"


class Kept(Generic[T]):
    """Answers that are made once for equal requests and kept for a while."""

    def __init__(self, seconds: float = 60.0, most: int = 64) -> None:
        self._seconds = seconds
        self._most = most
        self._tasks: OrderedDict[object, tuple[float, asyncio.Task[T]]] = OrderedDict()

    async def of(self, key: object, make: Callable[[], Coroutine[object, object, T]]) -> T:
        """The answer to a key. A failure is not kept, but all who wait for it get it."""
        until, task = self._tasks.get(key, (0.0, None))
        if task is None or until < monotonic():
            task = asyncio.create_task(make())
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # also if no one waits any more
            self._tasks[key] = monotonic() + self._seconds, task
            self._tasks.move_to_end(key)
            if len(self._tasks) > self._most:
                self._tasks.popitem(last=False)
        try:
            return await asyncio.shield(task)
        except Exception:
            if self._tasks.get(key, (0.0, None))[1] is task:
                del self._tasks[key]
            raise
