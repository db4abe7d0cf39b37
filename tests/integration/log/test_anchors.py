"""Anchors on a real log: what somebody with every right rewrites is found, and so is an anchor that was edited."""

import base64
import json
import resource
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log.copies import anchors
from playmolt_core.log.copies.anchor_places import AnchorFile
from playmolt_core.log.copies.anchors import BadAnchor, BadKey, PostgresHeads
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.verify import verify

from core.tests.log.log_contract import Game, unit

AT = "2026-01-02T12:00:00.000000Z"


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url)
    yield pool
    await pool.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere" / "anchors.jsonl"


@pytest.fixture
def key(tmp_path: Path) -> Ed25519PrivateKey:
    return anchors.signing_key(tmp_path / "keys" / "anchor-key.pem")


async def broken(pool: Pool, place: Path) -> list[tuple[str, int, str]]:
    found = await anchors.compare(PostgresHeads(pool), AnchorFile(place))
    return [(each.stream, each.version, each.problem) for each in found]


async def rewrite(pool: Pool, *games: Game) -> None:
    """Empty the log as only a superuser can, and write it anew: consistent in itself."""
    async with pool.transaction() as connection:
        await connection.execute("ALTER TABLE log.record DISABLE TRIGGER USER")
        await connection.execute("DELETE FROM log.record")
        await connection.execute("DELETE FROM log.stream")
        await connection.execute("UPDATE log.head SET position = 0")
        await connection.execute("ALTER TABLE log.record ENABLE TRIGGER USER")
    await PostgresLog(pool).append([unit(game.adds(3)) for game in games])
    assert (await verify(PostgresLog(pool), {})).breaks == []


def lines_of(place: Path) -> list[bytes]:
    return place.read_bytes().splitlines(keepends=True)


def write_lines(place: Path, lines: list[bytes]) -> None:
    place.write_bytes(b"".join(lines))


async def test_each_anchor_holds_what_moved_since_the_one_before(
    pool: Pool, place: Path, key: Ed25519PrivateKey
) -> None:
    one, two = Game("ox-1"), Game("ox-2")
    await PostgresLog(pool).append([unit(one.adds(2)), unit(two.adds(1))])
    first = await anchors.append(PostgresHeads(pool), AnchorFile(place), key, AT)
    await PostgresLog(pool).append([unit(two.adds(3))])
    second = await anchors.append(PostgresHeads(pool), AnchorFile(place), key, AT)
    nothing = await anchors.append(PostgresHeads(pool), AnchorFile(place), key, AT)
    assert [(head.stream, head.version) for head in first.heads] == [("ox-1", 2), ("ox-2", 1)]
    assert [(head.stream, head.version, head.hash) for head in second.heads] == [("ox-2", 4, two.hash)]
    assert (nothing.position, nothing.heads) == (6, [])
    assert len(lines_of(place)) == 3
    assert await broken(pool, place) == []


async def test_many_steps_make_one_anchor(pool: Pool, place: Path, key: Ed25519PrivateKey) -> None:
    games = [Game(f"ox-{number}") for number in range(3)]
    for _ in range(3):
        await PostgresLog(pool).append([unit(game.adds(1)) for game in games])
    said = await anchors.append(PostgresHeads(pool), AnchorFile(place), key, AT, step=2)
    assert [(head.stream, head.version, head.hash) for head in said.heads] == [
        (game.stream, 3, game.hash) for game in games
    ]


async def test_a_log_that_was_rewritten_and_is_consistent_in_itself_is_found(
    pool: Pool, place: Path, key: Ed25519PrivateKey
) -> None:
    kept, changed, gone = Game("ox-1"), Game("ox-2"), Game("ox-3")
    same = kept.twin()
    await PostgresLog(pool).append([unit(game.adds(3)) for game in (kept, changed, gone)])
    await anchors.append(PostgresHeads(pool), AnchorFile(place), key, AT)
    await rewrite(pool, same, Game("ox-2"))
    found = await broken(pool, place)
    assert {(stream, version) for stream, version, _ in found} >= {("ox-2", 3), ("ox-3", 3)}
    assert ("", 0, "the log ends at position 6, but was anchored at 9") in found
    with pytest.raises(BadAnchor, match="set back"):
        await anchors.append(PostgresHeads(pool), AnchorFile(place), key, AT)


async def test_the_end_of_an_archived_stream_is_compared(pool: Pool, place: Path, key: Ed25519PrivateKey) -> None:
    old = Game("ox-1")
    await PostgresLog(pool).append([unit(old.adds(2))])
    await anchors.append(PostgresHeads(pool), AnchorFile(place), key, AT)
    await PostgresLog(pool).append([unit(old.ends())])
    await anchors.append(PostgresHeads(pool), AnchorFile(place), key, AT)
    ended = json.dumps([{"stream": old.stream, "version": old.version, "hash": old.hash}])
    await pool.value("SELECT log.prune($1, 'a file', $2)", ended, bytes(32))
    assert await broken(pool, place) == []
    async with pool.transaction() as connection:
        await connection.execute("ALTER TABLE log.record DISABLE TRIGGER USER")
        await connection.execute("UPDATE log.record SET hash = $1", bytes(32))
        await connection.execute("ALTER TABLE log.record ENABLE TRIGGER USER")
    assert [each[:2] for each in await broken(pool, place)] == [(old.stream, old.version)]


def _edited_position(line: bytes) -> bytes:
    return line.replace(b'"position":3', b'"position":2')


def _signed_by_another(line: bytes) -> bytes:
    """By somebody who makes a whole new chain of anchors with a key of their own."""
    statement = msgspec.json.decode(msgspec.json.decode(line, type=anchors.Anchor).statement, type=anchors.Statement)
    other = Ed25519PrivateKey.generate()
    public = base64.b64encode(other.public_key().public_bytes_raw()).decode()
    said = msgspec.json.encode(msgspec.structs.replace(statement, key=public))
    signature = base64.b64encode(other.sign(said)).decode()
    return msgspec.json.encode(anchors.Anchor(msgspec.Raw(said), signature)) + b"\n"


@pytest.mark.parametrize("place_in_file", [0, 1, 2])
@pytest.mark.parametrize(
    "edit",
    [
        _edited_position, _signed_by_another, lambda _: b"", lambda _: b"\n", lambda _: b"{}\n", lambda line: line[:-1],
        lambda line: line.replace(b'"signature":"', b'"signature":"A'),
    ],
)  # fmt: skip
async def test_an_anchor_that_was_edited_or_taken_out_is_found(
    pool: Pool, place: Path, key: Ed25519PrivateKey, place_in_file: int, edit: Callable[[bytes], bytes]
) -> None:
    game = Game("ox-1")
    await PostgresLog(pool).append([unit(game.adds(3))])
    for _ in range(3):
        await anchors.append(PostgresHeads(pool), AnchorFile(place), key, AT)
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    lines = lines_of(place)
    edited = [*lines[:place_in_file], edit(lines[place_in_file]), *lines[place_in_file + 1 :]]
    write_lines(place, edited)
    found = await anchors.compare(PostgresHeads(pool), AnchorFile(place), public)
    if edited[place_in_file] == b"" and place_in_file == 2:
        assert found == [], "without its newest anchor a file is an older one"
    else:
        assert [each.stream for each in found] == [""]


async def test_a_full_disk_leaves_no_half_of_an_anchor(pool: Pool, place: Path, key: Ed25519PrivateKey) -> None:
    """Seen: after it every anchor was refused, and `log verify` reported an edited one."""
    await PostgresLog(pool).append([unit(Game("ox-1").adds(2))])
    await anchors.append(PostgresHeads(pool), AnchorFile(place), key, AT)
    whole = lines_of(place)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(b"".join(whole)) + 40, limits[1]))
    try:
        with pytest.raises(OSError, match=place.name):
            await anchors.append(PostgresHeads(pool), AnchorFile(place), key, AT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert lines_of(place) == whole
    await anchors.append(PostgresHeads(pool), AnchorFile(place), key, AT)
    assert await broken(pool, place) == []


async def test_another_key_does_not_go_on_in_a_file(pool: Pool, place: Path, key: Ed25519PrivateKey) -> None:
    await anchors.append(PostgresHeads(pool), AnchorFile(place), key, AT)
    with pytest.raises(BadAnchor, match="another key"):
        await anchors.append(PostgresHeads(pool), AnchorFile(place), Ed25519PrivateKey.generate(), AT)


def test_processes_that_create_the_key_at_once_get_the_same(tmp_path: Path) -> None:
    path, together = tmp_path / "anchor-key.pem", threading.Barrier(8)

    def create(_: int) -> bytes:
        together.wait()
        return anchors.signing_key(path).private_bytes_raw()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(create, range(8)))) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["anchor-key.pem"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_key_is_made_for_its_owner_alone_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "key.pem"
    made = anchors.signing_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----")
    assert anchors.signing_key(path).private_bytes_raw() == made.private_bytes_raw()
    path.chmod(0o644)
    with pytest.raises(BadKey, match="mode 600"):
        anchors.signing_key(path)
    path.chmod(0o600)
    path.write_text("no key")
    with pytest.raises(BadKey):
        anchors.signing_key(path)
