"""Shards of the log, and positions in all shards (api.md, Shards)."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

MOST_SHARDS: Final = 64
EVENTS_STREAM: Final = "EVENTS"
SPECTATE_STREAM: Final = "SPECTATE"

Places = tuple[int, ...]
"""One position per shard, in the order of the shards."""


@lru_cache(65_536)
def shard_of(stream: str, shards: int) -> int:
    """The shard of a stream, given the number of shards: by the first four bytes of the SHA-256 of its name."""
    return int.from_bytes(hashlib.sha256(stream.encode()).digest()[:4]) % shards if shards > 1 else 0


def token_of(stream: str, shards: int) -> str:
    """The shard token in subjects of a stream; "" if there is one shard."""
    return f".{shard_of(stream, shards)}" if shards > 1 else ""


def of_shard(name: str, shard: int, shards: int) -> str:
    """The name of a shard's NATS stream; the plain name if there is one shard."""
    return f"{name}_{shard}" if shards > 1 else name


def streams(shards: int, names: Sequence[str] = (EVENTS_STREAM, SPECTATE_STREAM)) -> tuple[str, ...]:
    """All NATS streams of a log with so many shards, given their plain names."""
    return tuple(of_shard(name, shard, shards) for name in names for shard in range(shards))


class BadPlaces(ValueError):
    """A text that is not a valid place for the number of shards."""


def read_places(text: str, shards: int) -> Places:
    """Parse `12.0.7`; with one shard, a plain number. Raises BadPlaces."""
    parts = text.split(".")
    if len(parts) != shards:
        raise BadPlaces(f"a place in this log has {shards} numbers joined by dots, but {text[:200]!r} has {len(parts)}")
    if not all(part.isascii() and part.isdigit() and len(part) < 20 for part in parts):
        raise BadPlaces(f"{text[:200]!r} is not a place in a log; use whole numbers joined by dots")
    return tuple(map(int, parts))


def write_places(places: Sequence[int]) -> str:
    return ".".join(map(str, places))
