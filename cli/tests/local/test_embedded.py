"""The embedded servers: real, durable, on the same port after a restart, and never alive without their parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import asyncpg
import pytest
from playmolt_cli.local.embedded import Nats, Postgres, ServerError, free_port
from playmolt_cli.local.folder import Folder

from core.tests.waiting import suspend

PARENT = """
import sys, time
from playmolt_cli.local.embedded import Nats, Postgres
servers = [Postgres(sys.argv[1] + "/postgres").start(), Nats(sys.argv[1] + "/nats").start()]
print(*(server.process.pid for server in servers), flush=True)
time.sleep(60)
"""


async def _ask(server: Postgres, statement: str) -> object:
    connection = await asyncpg.connect(server.url, timeout=60)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def test_committed_data_survives_kill_and_restart_on_the_same_port(folder: Path) -> None:
    with Postgres(folder / "postgres") as server:
        url = server.url
        await _ask(server, "CREATE TABLE managed AS SELECT 42 AS answer")
        server.kill()
        assert not server.alive()
        server.start()
        assert (server.url, await _ask(server, "SELECT answer FROM managed")) == (url, 42)
        server.restart()
        assert (server.url, await _ask(server, "SELECT answer FROM managed")) == (url, 42)
        assert [await _ask(server, f"SHOW {name}") for name in ("fsync", "synchronous_commit")] == ["on", "on"]


def test_a_server_without_anybody_who_recovers_or_writes_is_stalled(folder: Path) -> None:
    with Postgres(folder / "postgres") as server:
        assert server.process
        until = time.monotonic() + 60
        while server.stalled():
            assert time.monotonic() < until
        suspend(server.process.pid)  # so that nothing is started in its place
        for pid in Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text("ascii").split():
            if b"walwriter" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(int(pid), signal.SIGKILL)
        while not server.stalled():
            assert time.monotonic() < until
        os.kill(server.process.pid, signal.SIGCONT)
        while server.stalled() or not server.answers():
            assert time.monotonic() < until


async def test_the_database_wants_a_password(folder: Path) -> None:
    with Postgres(folder / "postgres") as server:
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(f"postgresql://postgres:guess@127.0.0.1:{server.port}/postgres", timeout=60)
        assert server.folder.joinpath("password").stat().st_mode & 0o077 == 0


def test_a_cluster_settles_where_its_user_may_go_and_is_removed_with_the_folder(folder: Path, tmp_path: Path) -> None:
    data = Folder(tmp_path / "data")
    data.make()
    with Postgres(data.postgres, root_store=folder / "store") as server:
        assert server.alive()
        # Root's Postgres runs as somebody else, to whom this folder is closed.
        assert data.postgres.resolve().parent == (folder / "store" if os.geteuid() == 0 else data.path.resolve())
    data.remove()
    assert not data.path.exists()
    assert list((folder / "store").glob("postgres-*")) == []


def test_a_second_server_waits_for_the_first_to_go_down(folder: Path) -> None:
    first = Postgres(folder / "postgres").start()
    assert first.process is not None
    first.process.send_signal(signal.SIGTERM)  # waits for sessions; ends soon, but not at once
    with Postgres(folder / "postgres") as second:
        assert second.alive()
    first.stop()


def test_a_pid_file_that_names_another_program_is_stale(folder: Path) -> None:
    with Postgres(folder / "postgres") as server:
        server.kill()
        pid_file = server.cluster / "postmaster.pid"
        lines = pid_file.read_text().splitlines()
        pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
        server.start()
        assert server.answers()


def test_a_taken_port_is_reported(folder: Path) -> None:
    with Nats(folder / "one") as first, pytest.raises(ServerError, match="address already in use"):
        Nats(folder / "two", port=first.port).start(8)


def test_a_port_is_given_to_one_process_while_that_lives() -> None:
    ask = """
from playmolt_cli.local.embedded import free_port
print(*{free_port(range(31_000, 31_300)) for _ in range(40)})
input()
"""
    rivals = [
        subprocess.Popen([sys.executable, "-c", ask], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    given = [rival.stdout.readline().split() for rival in rivals if rival.stdout]
    for rival in rivals:
        rival.communicate("\n", timeout=60)
    assert [len(ports) for ports in given] == [40, 40]
    assert set(given[0]).isdisjoint(given[1])


def test_nats_keeps_its_port(folder: Path) -> None:
    with Nats(folder / "nats", port=free_port()) as server:
        port = server.port
        server.kill()
        assert not server.answers()
        server.start()
        assert server.port == port


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_nats_collects_seldom_on_half_the_cores_unless_the_environment_says_otherwise(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOMEMLIMIT", "100MiB")
    with Nats(folder / "nats") as server:
        assert server.process
        environment = Path(f"/proc/{server.process.pid}/environ").read_text("utf-8").split("\0")
        seen = dict(each.split("=", 1) for each in environment if each)
        assert (seen["GOGC"], seen["GOMEMLIMIT"]) == ("400", "100MiB")
        assert int(seen["GOMAXPROCS"]) == max(1, (os.cpu_count() or 1) // 2)
        assert seen["PATH"] == os.environ["PATH"]


def test_nothing_survives_a_killed_parent(folder: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, folder], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout:
        pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.kill()
    parent.wait(60)
    until = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < until
        time.sleep(0.02)
