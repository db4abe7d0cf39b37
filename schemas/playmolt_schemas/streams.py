"""The names of the streams that a log is copied to (api.md, Shards)."""

from collections.abc import Sequence

from playmolt_schemas.subjects import EVENTS_STREAM, SPECTATE_STREAM


def of_shard(name: str, shard: int, shards: int) -> str:
    """The name of a shard's stream: the plain one where there is one shard."""
    return f"{name}_{shard}" if shards > 1 else name


def streams(shards: int, names: Sequence[str] = (EVENTS_STREAM, SPECTATE_STREAM)) -> tuple[str, ...]:
    """All streams of a log of so many shards, by their plain names."""
    return tuple(of_shard(name, shard, shards) for name in names for shard in range(shards))
