"""Anchors: signed heads of streams, stored outside the database, against anyone who could rewrite all hashes.

Lines in a file or a bucket, each an anchor in JSON: a statement and its Ed25519 signature. An anchor holds the heads of
the streams that changed since the previous anchor, and the digest of its line.
"""

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, Protocol

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from playmolt_schemas.records import ZERO_HASH
from playmolt_schemas.shards import Places, write_places

from playmolt_core.db.pool import Pool, queries
from playmolt_core.game.erasures import ErasedBy
from playmolt_core.log.copies.anchor_places import AnchorPlace
from playmolt_core.log.erasing import Erasure, erasures_between
from playmolt_core.log.postgres import log_places
from playmolt_core.log.verify import Break

STEP: Final = 50_000
"""Positions whose heads are read in one query."""
_OTHERS: Final = 0o037
_SQL = queries("anchors")


class AnchoredHead(msgspec.Struct, frozen=True, array_like=True):
    """The last record of a stream: its version and hash."""

    stream: str
    version: int
    hash: str


class Statement(msgspec.Struct, frozen=True, omit_defaults=True):
    """The statement of an anchor: the position of the log and the heads of streams.

    For a log of several shards `position` is the sum of `positions`, those of each shard. `restored`: the log was set
    back to there. Records beyond these heads that earlier anchors know are lost; version 0: the whole stream.
    """

    at: str
    position: int
    previous: str
    """SHA-256 of the previous line; zeros in the first."""
    key: str
    heads: list[AnchoredHead]
    restored: bool = False
    erased: list[Erasure] = []
    """The sessions erased since the previous anchor."""
    positions: Places = ()

    @property
    def places(self) -> Places:
        """The position of each shard."""
        return self.positions or (self.position,)


class Comparison(msgspec.Struct, frozen=True):
    """Where a log differs from its anchors, and how many records are known to be lost since it was set back."""

    breaks: list[Break]
    lost: int


class Anchor(msgspec.Struct, frozen=True):
    """`statement` is the exact JSON that was signed."""

    statement: msgspec.Raw
    signature: str


class Heads(Protocol):
    """The part of a log that anchors use."""

    async def places(self) -> Places:
        """The end of each shard."""
        ...

    async def heads(self, after: int, to: int, shard: int = 0) -> Mapping[str, tuple[int, str]]:
        """The last version and hash of each stream among the positions of a shard after one, up to another."""
        ...

    async def hashes(self, heads: Sequence[AnchoredHead]) -> Mapping[tuple[str, int], str]:
        """The hashes of the existing ones of these versions; "" for an archived record."""
        ...

    async def erasures(self, after: Places, to: Places) -> Sequence[Erasure]:
        """The erasures recorded after one place, up to another."""
        ...


class PostgresHeads:
    """Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def places(self) -> Places:
        return await log_places(self._pool)

    async def heads(self, after: int, to: int, shard: int = 0) -> Mapping[str, tuple[int, str]]:
        rows = await self._pool.fetch(_SQL["heads"], after, to, shard)
        return {stream: (version, last.hex()) for stream, version, last in rows}

    async def hashes(self, heads: Sequence[AnchoredHead]) -> Mapping[tuple[str, int], str]:
        rows = await self._pool.fetch(_SQL["hashes"], [head.stream for head in heads], [head.version for head in heads])
        return {(stream, version): found.hex() if found else "" for stream, version, found in rows}

    async def erasures(self, after: Places, to: Places) -> Sequence[Erasure]:
        return await erasures_between(self._pool, after, to)


class BadKey(ValueError):
    """The file holds no usable key; the message says why."""


class BadAnchor(ValueError):
    """A line is not an anchor, or differs from the one that was signed."""


def _create(path: Path) -> None:
    """Write a new key whole, unless another process was first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with NamedTemporaryFile(dir=path.parent, prefix=path.name) as file:  # mode 600
        file.write(made)
        file.flush()
        with suppress(FileExistsError):
            os.link(file.name, path)


def signing_key(path: Path) -> Ed25519PrivateKey:
    """The key of a file (PKCS 8, PEM), which is created with mode 600 if missing. Raises BadKey.

    Of several processes that create it at once, all get the key of the first.
    """
    if not path.exists():
        _create(path)
    if path.stat().st_mode & _OTHERS:
        raise BadKey(f"{path} is accessible to other users: give it mode 600")
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError) as error:
        raise BadKey(f"{path}: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise BadKey(f"{path} holds no Ed25519 key")
    return key


def _public(key: Ed25519PrivateKey) -> str:
    return base64.b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


async def append(
    log: Heads, place: AnchorPlace, key: Ed25519PrivateKey, at: str, *, restored: bool = False, step: int = STEP
) -> Statement:
    """Sign the heads of the streams that changed since the last anchor of a place, and add them durably.

    `restored`: state that the log was set back to its position, and what remains of each stream. Raises BadAnchor for a
    place that was edited or signed with another key, PlaceTaken, OSError and LogUnavailable.
    """
    with place.held():
        chain = Chain(_public(key), from_first=place.tells_all)
        for line in await place.before():
            chain.follow(line)
        last = chain.last
        ends = await log.places()
        since = nowhere = (0,) * len(ends)
        if last and len(last.places) != len(ends):
            raise BadAnchor(f"the log has {len(ends)} shards, and the one that was anchored {len(last.places)}")
        if restored:
            heads = await _kept(log, place, ends, step)
        else:
            since = last.places if last else nowhere
            if not _reaches(ends, since):
                places = f"the log is at {write_places(ends)}, but was anchored at {write_places(since)}"
                raise BadAnchor(f"{places}: it was set back")
            heads = await _heads(log, since, ends, step)
        statement = Statement(
            at=at,
            position=sum(ends),
            positions=ends if len(ends) > 1 else (),
            previous=chain.digest,
            key=_public(key),
            heads=[AnchoredHead(stream, *heads[stream]) for stream in sorted(heads)],
            restored=restored,
            erased=list(await log.erasures(since, ends)),
        )
        await place.add(_signed(statement, key))
    return statement


def _reaches(ends: Places, places: Places) -> bool:
    """Whether a log with these ends includes these places."""
    return all(end >= each for end, each in zip(ends, places, strict=True))


async def _heads(log: Heads, after: Places, to: Places, step: int) -> dict[str, tuple[int, str]]:
    found: dict[str, tuple[int, str]] = {}
    for shard, (first, last) in enumerate(zip(after, to, strict=True)):
        for begin in range(first, last, step):
            found |= await log.heads(begin, min(begin + step, last), shard)
    return found


async def _kept(log: Heads, place: AnchorPlace, ends: Places, step: int) -> dict[str, tuple[int, str]]:
    """The heads of streams that anchors record beyond the log, and of all changed since the last complete anchor."""
    nowhere = (0,) * len(ends)
    chain, lost, whole = Chain(), set[str](), nowhere
    async for line in place.lines():
        said = chain.follow(line)
        differing = {each.stream for each in await _differing(log, said.heads)}
        lost |= differing
        if not differing and _reaches(ends, said.places) and _reaches(said.places, whole):
            whole = said.places
    now = await _heads(log, nowhere, ends, step)
    moved = await _heads(log, whole, ends, step)
    return moved | {stream: now.get(stream, (0, ZERO_HASH)) for stream in lost}


def _signed(statement: Statement, key: Ed25519PrivateKey) -> bytes:
    said = msgspec.json.encode(statement)
    signature = base64.b64encode(key.sign(said)).decode()
    return msgspec.json.encode(Anchor(msgspec.Raw(said), signature)) + b"\n"


class Chain:
    """A chain of anchors. `key`: the public key that must have signed them; "": that of the first.

    `from_first`: the first given line is the first of the place.
    """

    def __init__(self, key: str = "", *, from_first: bool = True) -> None:
        self._key = key
        self._joined = from_first
        self._number = 0
        self.last: Statement | None = None
        self.digest = ZERO_HASH
        """The digest of the last line; zeros before the first."""

    def follow(self, line: bytes) -> Statement:
        """The statement of the next line. Raises BadAnchor if it was edited or does not follow the last."""
        self._number += 1
        statement = _checked(line, self._number)
        if self._joined and statement.previous != self.digest:
            raise BadAnchor(f"anchor {self._number} does not follow the previous one: an anchor was removed or edited")
        if self._key and statement.key != self._key:
            raise BadAnchor(f"anchor {self._number} was signed with another key")
        self.last, self.digest, self._key = statement, hashlib.sha256(line).hexdigest(), statement.key
        self._joined = True
        return statement


def _checked(line: bytes, number: int) -> Statement:
    try:
        anchor = msgspec.json.decode(line, type=Anchor)
        statement = msgspec.json.decode(anchor.statement, type=Statement)
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(statement.key, validate=True))
        key.verify(base64.b64decode(anchor.signature, validate=True), bytes(anchor.statement))
    except InvalidSignature as error:
        raise BadAnchor(f"anchor {number} was edited: its signature is invalid") from error
    except ValueError as error:
        raise BadAnchor(f"anchor {number} cannot be read: {error}") from error
    if not line.endswith(b"\n"):
        raise BadAnchor(f"anchor {number} is cut off")
    return statement


async def erased_at(place: AnchorPlace, key: str = "") -> Mapping[str, ErasedBy]:
    """The sessions that were erased according to the anchors of a place, and by whom. Raises BadAnchor and OSError."""
    chain, found = Chain(key), dict[str, ErasedBy]()
    async for line in place.lines():
        found |= {each.stream: each.by for each in chain.follow(line).erased}
    return found


async def compare(log: Heads, place: AnchorPlace, key: str = "") -> list[Break]:
    return (await compared(log, place, key)).breaks


async def compared(log: Heads, place: AnchorPlace, key: str = "") -> Comparison:
    """Where a log differs from the anchors of a place, or these from what was signed; each stream once.

    `key`: the public key (base64) that must have signed them; "": that of the first anchor. Raises OSError.
    """
    breaks: dict[str, Break] = {}
    lost: dict[tuple[int, str], int] = {}
    ends, chain, number = await log.places(), Chain(key), 0
    try:
        set_back = await _set_back(place, key)
        async for line in place.lines():
            number += 1
            after = next(((at, kept) for at, kept in set_back if at > number), None)
            for each in await _differing(log, chain.follow(line).heads):
                if after and each.version > after[1].get(each.stream, each.version):
                    beyond = each.version - after[1][each.stream]
                    lost[after[0], each.stream] = max(beyond, lost.get((after[0], each.stream), 0))
                else:
                    breaks.setdefault(each.stream, each)
    except BadAnchor as error:
        breaks[""] = Break("", 0, str(error))
    said = chain.last.places if chain.last else (0,) * len(ends)
    if len(said) != len(ends) or not _reaches(ends, said):
        problem = f"the log ends at position {write_places(ends)}, but was anchored at {write_places(said)}"
        breaks.setdefault("", Break("", 0, problem))
    return Comparison(list(breaks.values()), sum(lost.values()))


async def _set_back(place: AnchorPlace, key: str) -> list[tuple[int, Mapping[str, int]]]:
    """The anchors that state that the log was set back, and to which version of each stream."""
    chain, found, number = Chain(key), list[tuple[int, Mapping[str, int]]](), 0
    async for line in place.lines():
        number += 1
        said = chain.follow(line)
        if said.restored:
            found.append((number, {head.stream: head.version for head in said.heads}))
    return found


async def _differing(log: Heads, heads: Sequence[AnchoredHead]) -> list[Break]:
    found: list[Break] = []
    for place in range(0, len(heads), 1_000):
        some = heads[place : place + 1_000]
        hashes = await log.hashes(some)
        for head in some:
            if not head.version:  # the whole stream was lost
                continue
            present = hashes.get((head.stream, head.version))
            if present not in (head.hash, ""):
                what = "differs from the anchored one" if present else "was anchored and is missing"
                found.append(Break(head.stream, head.version, f"the record {what}"))
    return found


def public_key(path: Path) -> str:
    """The public key of a signing key's file; "" if the file is missing. Raises BadKey."""
    return _public(signing_key(path)) if path.exists() else ""
