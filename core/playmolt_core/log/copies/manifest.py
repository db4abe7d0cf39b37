"""The manifest of an export, a file beside it: it shows when a game was removed from the copy."""

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from playmolt_schemas.records import Record
from playmolt_schemas.shards import shard_of

from playmolt_core.game.erasures import erasure_in

_SUFFIX: Final = ".manifest.json"


class ListedStream(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a stream: its last version, the hash of that record, and whether it is over."""

    version: int
    hash: str
    over: bool


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`digest` is the SHA-256 over the hashes of all records, 32 bytes each, in the order of the export.

    `head` is the position of its last record; for a log of several `shards` the sum of `heads`, those of each shard
    (both absent for one shard). It does not depend on the spelling of records: a copy with other spaces is equal.
    """

    records: int
    head: int
    digest: str
    streams: dict[str, ListedStream]
    erased: list[str] = []
    """The sessions that were erased according to the export's records."""
    shards: int | msgspec.UnsetType = msgspec.UNSET
    heads: list[int] | msgspec.UnsetType = msgspec.UNSET


class NoManifest(ValueError):
    """The file beside an export is not a manifest."""


class ManifestBuilder:
    """Builds a manifest from records, of a log with this number of shards, as they are written or read."""

    def __init__(self, shards: int = 1) -> None:
        self.shards = shards
        self._records = 0
        self._heads: dict[int, int] = {}
        self._digest = hashlib.sha256()
        self._streams: dict[str, ListedStream] = {}
        self._erased: list[str] = []

    def take(self, record: Record, *, over: bool) -> None:
        """Add the next record; `over`: its stream is over if this is its last record."""
        self._records += 1
        self._heads[shard_of(record.stream, self.shards)] = record.position
        self._digest.update(_bytes(record.hash))
        self._streams[record.stream] = ListedStream(version=record.version, hash=record.hash, over=over)
        with suppress(msgspec.MsgspecError):  # a copy may contain anything
            if erasure := erasure_in(record):
                self._erased.append(erasure.stream)

    def finish(self) -> Manifest:
        several = self.shards > 1
        return Manifest(
            records=self._records, head=sum(self._heads.values()), digest=self._digest.hexdigest(),
            streams=dict(self._streams), erased=sorted(self._erased),
            shards=self.shards if several else msgspec.UNSET,
            heads=[self._heads.get(shard, 0) for shard in range(self.shards)] if several else msgspec.UNSET,
        )  # fmt: skip


def _bytes(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:  # a copy may contain anything; it will not match the manifest
        return digits.encode(errors="replace")


def beside(export: Path) -> Path:
    """The path of an export's manifest."""
    return export.with_name(export.name + _SUFFIX)


def write_manifest(manifest: Manifest, path: Path) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(manifest, order="sorted"), indent=1) + b"\n")


def manifest_of(export: Path) -> Manifest | None:
    """The manifest of an export; None if there is none. Raises NoManifest and OSError."""
    path = beside(export)
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except msgspec.MsgspecError as error:
        raise NoManifest(f"{path} is not a manifest: {error}") from error
