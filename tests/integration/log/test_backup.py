"""A base backup taken while games are played, restored elsewhere: the log verifies and the platform goes on on it.

What leaves the database, an export or an archive of old games, is checked from the file alone.
"""

import asyncio
import gzip
import json
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import rfc8785
from click.testing import CliRunner, Result
from playmolt_cli.local.embedded import binaries, free_port
from playmolt_cli.main import cli
from playmolt_schemas.records import ZERO_HASH, record_hash

from tests.integration.platform.test_play import Table, check, watch
from tests.platforms import Stack

StackFactory = Callable[..., Stack]
SECONDS = 120


def base_backup(url: str, target: Path, *options: str) -> None:
    """What docs/telemetry.md tells an operator to do, with the tools of the embedded Postgres."""
    owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    programs = binaries.postgres_bin(owner.pw_uid if owner else None)
    at = urlsplit(url)
    as_postgres: dict[str, Any] = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if owner else {}
    target.mkdir(parents=True)
    if owner:
        os.chown(target, owner.pw_uid, owner.pw_gid)
    environment = {"PGPASSWORD": at.password or "", "PATH": os.environ["PATH"]}
    connection = ["-h", str(at.hostname), "-p", str(at.port), "-U", str(at.username)]
    for command in (
        [
            programs / "pg_basebackup",
            *connection,
            "-D",
            target / "data",
            "--wal-method=stream",
            "--checkpoint=fast",
            *options,
        ],
        [programs / "pg_verifybackup", target / "data"],
    ):
        done = subprocess.run(
            command, env=environment, cwd="/", capture_output=True, text=True, timeout=SECONDS, check=False,
            **as_postgres,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def playmolt(*arguments: str, **environment: str) -> Result:
    """Run a command here: a process for each would spend more on its start than on its work."""
    return CliRunner().invoke(cli, arguments, env={"DATABASE_URL": "", **environment})


def verified(folder: Path) -> dict[str, Any]:
    done = playmolt("log", "verify", "--json", "--data", str(folder))
    assert done.exit_code == 0, done.output
    return dict(json.loads(done.stdout))


def verify_file(path: Path) -> dict[str, int]:
    """Check an export as anybody could who has nothing but the file: positions, versions, hash chains."""
    heads: dict[str, tuple[int, str]] = {}
    last = 0
    for line in path.read_bytes().splitlines():
        record = json.loads(line)
        version, previous = heads.get(record["stream"], (0, ZERO_HASH))
        assert record["position"] > last
        assert (record["version"], record["prev_hash"]) == (version + 1, previous), record["stream"]
        last = record.pop("position")
        told = record.pop("hash")
        body = {**record, "data": _canonical(record["data"]), "metadata": _canonical(record["metadata"])}
        assert told == record_hash(**body), f"{record['stream']} {record['version']}"
        heads[record["stream"]] = (record["version"], told)
    return {stream: version for stream, (version, _) in heads.items()}


def _canonical(value: Any) -> bytes:
    return rfc8785.dumps(value)


async def test_a_backup_is_restored_verifies_and_goes_on(stack: StackFactory, folder: Path) -> None:
    port = str(free_port())
    first = stack("--port", port, data=folder / "first")
    finished, running = Table(first, "ox"), Table(first, "trial")
    await asyncio.gather(finished.sit(), running.sit())
    await finished.play()
    await asyncio.to_thread(base_backup, first.run.database_url, folder / "backup")
    games = {*finished.ids, *running.ids}
    before = {game_id: await _events(first, game_id) for game_id in games}
    first.kill_tree()
    restored = await asyncio.to_thread(_restore, folder)
    counts = await asyncio.to_thread(verified, restored)
    assert (counts["diverged"], counts["exact"] > 0) == (0, True)

    second = stack("--port", port, data=restored)
    assert {game_id: await _events(second, game_id) for game_id in games} == before, "NATS was filled from the log"
    async with asyncio.timeout(200):
        await running.play()
        feeds = {game_id: await watch(second, game_id) for game_id in games}
    await check(second, [finished, running], feeds)
    for table in (finished, running):
        await table.close()
    await asyncio.to_thread(_export_and_check, restored, folder / "log.jsonl", games)
    await _archive_and_check(second, finished.ids[0], running.ids[0], folder / "old")


def _remove(folder: Path) -> None:
    """Remove a folder whose server was killed a moment ago: its last children may still write into it."""
    for _ in range(300):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.2)
    raise AssertionError(f"{folder} is still written to")


def _restore(folder: Path) -> Path:
    """The machine is gone with all it held but the password; the backup is brought up elsewhere."""
    shutil.copy2(folder / "first" / "postgres" / "password", folder / "backup" / "password")
    _remove(folder / "first")
    restored = folder / "restored"
    restored.mkdir(mode=0o711)
    shutil.move(folder / "backup", restored / "postgres")
    return restored


def _export_and_check(data: Path, file: Path, games: set[str]) -> None:
    done = playmolt("log", "export", "--out", str(file), "--data", str(data))
    assert done.exit_code == 0, done.output
    exported = verify_file(file)
    assert set(exported) == games
    assert f"{sum(exported.values())} records" in done.stderr
    lines = file.read_bytes().splitlines()
    file.write_bytes(b"\n".join([lines[0].replace(b'"version":1', b'"version":2'), *lines[1:]]))
    with pytest.raises(AssertionError):
        verify_file(file)


async def _archive_and_check(running: Stack, old: str, newest: str, folder: Path) -> None:
    """The older game goes into a file; its points stay, the services say where it is, the other game is as it was."""
    async with httpx.AsyncClient(base_url=running.run.gateway, timeout=60) as client:
        board = (await client.get("/api/leaderboard")).json()
        state = (await client.get(f"/api/games/{newest}/state")).json()
        options = ("--out", str(folder), "--idle-days", "0", "--data", str(running.folder.path))
        done = await asyncio.to_thread(playmolt, "log", "archive", *options, PLAYMOLT_STREAM_EVENTS="1")
        assert done.exit_code == 0, done.output
        (name,) = os.listdir(folder)
        assert done.stdout.startswith(f"{name}: ")
        plain = folder.with_suffix(".jsonl")
        plain.write_bytes(gzip.decompress((folder / name).read_bytes()))
        assert set(verify_file(plain)) == {old}
        for path in ("state", "events", "log"):
            answer = await client.get(f"/api/games/{old}/{path}")
            assert (answer.status_code, answer.json()["code"]) == (404, "archived")
        listed = (await client.get("/api/games?gameType=ox")).json()["games"]
        assert old not in {game["game_id"] for game in listed}
        assert (await client.get(f"/api/games/{newest}/state")).json() == state
        assert board["leaderboard"]
        assert (await client.get("/api/leaderboard")).json() == board
    assert (await asyncio.to_thread(verified, running.folder.path))["archived"] == 1


async def _events(running: Stack, game_id: str) -> list[Any]:
    async with httpx.AsyncClient(base_url=running.run.gateway, timeout=60) as client:
        return list((await client.get(f"/api/games/{game_id}/events?limit=1000")).json()["events"])
