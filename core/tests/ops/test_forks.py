"""Processes that are forked of one which has imported their modules."""

import asyncio
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from playmolt_core.ops.forks import IDLE_SECONDS, AsyncForkServer, Fork, ForkServer

from core.tests.waiting import wait_until

SECONDS = 60
SAYS = """
import json, os, sys, threading
os.write(2, json.dumps({
    "name": __name__, "argv": sys.argv[1:], "environment": dict(os.environ), "session": os.getsid(0),
    "threads": threading.active_count(), "stdin": os.read(0, 1).decode(),
    "shown": [open(f"/proc/self/{what}").read().strip(chr(0)).split(chr(0)) for what in ("environ", "cmdline", "comm")],
}).encode())
if sys.argv[1:2] == ["--fds"]:
    for fd in sys.argv[2:]:
        os.write(int(fd), fd.encode())
    sys.exit(7)
"""
WAITS = "import time; print('waiting', flush=True); time.sleep(600)"

SEARCHES = """
import os, re
for secret in os.environ["FOR"].split():
    found, pattern = False, re.compile("".join(f"[{letter}]" for letter in reversed(secret)).encode())
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            place, rights = line.split()[:2]
            if rights.startswith("rw") and "[v" not in line:
                first, last = (int(end, 16) for end in place.split("-"))
                memory.seek(first)
                found = found or bool(pattern.search(memory.read(last - first)))
    print(found, flush=True)
"""
"""The secrets are given backwards: the search itself must not have them in memory."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ForkServer]:
    for name, text in (("says", SAYS), ("waits", WAITS), ("searches", SEARCHES)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "__main__.py").write_text(f"if __name__ == '__main__':\n    exec({text!r})\n", "utf-8")
    bare = {"PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"], "OF_THE_SERVER": "1"}
    server = ForkServer(["says", "waits", "searches"], log=tmp_path / "logs" / "forkserver.log", environment=bare)
    yield server
    server.end()


@pytest.fixture
def start(server: ForkServer, tmp_path: Path) -> Callable[..., Fork]:
    def started(module: str, *arguments: str, fds: Sequence[int] = ()) -> Fork:
        log = tmp_path / "logs" / f"{module}.log"
        given = dict(zip(fds, fds, strict=True))
        return server.start(module, module, arguments, log=log, environment={"OWN": "yes"}, fds=given)

    return started


def alive(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text("ascii")
    except FileNotFoundError:
        return False


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_fork_is_as_a_process_of_its_own(start: Callable[..., Fork], tmp_path: Path) -> None:
    fork = start("says", "--all", "x y")
    assert fork.wait(SECONDS) == 0
    log = tmp_path / "logs" / "says.log"
    shown = json.loads(log.read_bytes())
    assert (shown["name"], shown["argv"], shown["stdin"]) == ("__main__", ["--all", "x y"], "")
    assert shown["environment"] == {"OWN": "yes"}
    environ, command, title = shown["shown"]
    assert dict(line.split("=", 1) for line in environ) == shown["environment"]
    assert (command[1:], title) == (["-P", "-m", "says", "--all", "x y"], ["says\n"])
    assert (shown["session"], shown["threads"]) == (fork.pid, 1)
    assert log.stat().st_mode & 0o777 == 0o600


def test_it_has_the_descriptors_that_are_sent_by_their_numbers(start: Callable[..., Fork]) -> None:
    """In whichever order they are named: some come under the numbers that others are to have."""
    mine, its = zip(*(socket.socketpair() for _ in range(4)), strict=True)
    numbers = [one.fileno() for one in reversed(its)]
    assert start("says", "--fds", *map(str, numbers), fds=tuple(numbers)).wait(SECONDS) == 7
    for ours, theirs in zip(mine, its, strict=True):
        with ours, theirs:
            assert int(ours.recv(9)) == theirs.fileno()


def test_forks_end_by_themselves_and_by_signals(start: Callable[..., Fork]) -> None:
    one, other = start("waits"), start("waits")
    assert (one.poll(), other.poll()) == (None, None)
    other.send_signal(signal.SIGTERM)
    assert other.wait(SECONDS) == -signal.SIGTERM
    assert one.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        one.wait(0.05)
    one.kill()
    assert one.wait(SECONDS) == -signal.SIGKILL
    one.send_signal(signal.SIGTERM)  # goes nowhere: its number may be another's by now


def test_with_the_server_its_forks_end_and_the_next_start_begins_another(start: Callable[..., Fork]) -> None:
    fork = start("waits")
    server = int(Path(f"/proc/{fork.pid}/stat").read_text("ascii").rpartition(")")[2].split()[1])
    os.kill(server, signal.SIGKILL)
    assert fork.wait(SECONDS) == -signal.SIGKILL
    until(lambda: not alive(fork.pid))
    again = start("waits")
    assert (again.poll(), alive(again.pid)) == (None, True)


def test_no_memory_holds_what_another_was_given(server: ForkServer, tmp_path: Path) -> None:
    known, others = secrets.token_hex(16), secrets.token_hex(16)

    def run(module: str, **environment: str) -> None:
        log = tmp_path / f"{module}.log"
        assert server.start(module, module, [], log=log, environment=environment).wait(SECONDS) == 0

    run("says", SECRET=others)
    run("searches", SECRET=known, FOR=" ".join(secret[::-1] for secret in (known, others)))
    assert (tmp_path / "searches.log").read_text("utf-8") == "True\nFalse\n"


def test_no_fork_outlives_the_owner(tmp_path: Path, server: ForkServer) -> None:
    program = f"""
import os, sys, time
from pathlib import Path
from playmolt_core.ops.forks import ForkServer
log, environment = Path({str(tmp_path / "log")!r}), {{"PYTHONPATH": {str(tmp_path)!r}}}
server = ForkServer(["waits"], log=log, environment=environment)
fork = server.start("waits", "waits", [], log=Path({str(tmp_path / "waits.log")!r}), environment={{}})
print(fork.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout
        pid = int(caller.stdout.readline())
        assert alive(pid)
        caller.kill()
    until(lambda: not alive(pid))


def test_what_cannot_be_imported_is_said_in_the_servers_log(tmp_path: Path) -> None:
    log = tmp_path / "forkserver.log"
    server = ForkServer(["no_such_module"], log=log, environment={})
    with pytest.raises(OSError, match=str(log)):
        server.start("none", "no_such_module", [], log=tmp_path / "none.log", environment={})
    assert "No module named 'no_such_module'" in log.read_text("utf-8")
    server.end()


PROGRAM = """
import os, pathlib, sys, time

def main(what, *words):
    if what == "says":
        print(os.getppid(), sys.stdin.read(), *words)
    elif what == "fails":
        raise ValueError("no such figure")
    elif what == "refuses":
        sys.exit(3)
    elif what == "sleeps":
        pathlib.Path(words[0]).touch()
        time.sleep(600)

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


@pytest.fixture
async def forks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[AsyncForkServer]:
    """Given how long it may be idle, if a test says so."""
    (tmp_path / "stand_in.py").write_text(PROGRAM, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    made = AsyncForkServer(getattr(request, "param", IDLE_SECONDS))
    yield made
    await made.close()


async def done(forks: AsyncForkServer, *arguments: str, given: str = "") -> tuple[int, str]:
    """The status and the output of a program."""
    with TemporaryFile() as body, TemporaryFile() as out:
        body.write(given.encode())
        body.seek(0)
        streams = (body.fileno(), out.fileno(), out.fileno())
        program = await forks.start("stand_in", *arguments, libraries=("json",), streams=streams)
        status = await program.ended()
        out.seek(0)
        return status, out.read().decode()


async def asleep(forks: AsyncForkServer, pid: Path) -> Fork:
    """A program that runs until it is killed."""
    with TemporaryFile() as stream:
        streams = (stream.fileno(), stream.fileno(), stream.fileno())
        program = await forks.start("stand_in", "sleeps", str(pid), libraries=("json",), streams=streams)
    await wait_until(pid.exists)
    return program


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_programs_are_forked_of_one_process(forks: AsyncForkServer) -> None:
    (status, said), (_, other) = await asyncio.gather(
        done(forks, "says", "words", given="a body"), done(forks, "says", given="another")
    )
    origin = said.split()[0]
    assert (status, said, other) == (0, f"{origin} a body words\n", f"{origin} another\n")
    assert int(origin) != os.getpid()


@pytest.mark.parametrize(("what", "status", "said"), [("fails", 1, "no such figure"), ("refuses", 3, "")])
async def test_a_program_ends_as_a_process_of_its_own_would(
    forks: AsyncForkServer, what: str, status: int, said: str
) -> None:
    found = await done(forks, what)
    assert (found[0], said in found[1]) == (status, True)


async def test_a_killed_origin_takes_its_programs_along_and_is_replaced(forks: AsyncForkServer, tmp_path: Path) -> None:
    program = await asleep(forks, tmp_path / "pid")
    assert forks._server._origin is not None
    forks._server._origin.send_signal(signal.SIGKILL)
    assert await program.ended() == -signal.SIGKILL
    await wait_until(lambda: is_gone(program.pid))
    assert (await done(forks, "says"))[0] == 0


@pytest.mark.parametrize("forks", [0.01], indirect=True)
async def test_an_origin_without_programs_ends_and_the_next_one_starts_another(forks: AsyncForkServer) -> None:
    _, first = await done(forks, "says")
    assert forks._server._origin is not None
    assert await asyncio.to_thread(forks._server._origin.wait, SECONDS) == 0
    assert is_gone(int(first))
    status, second = await done(forks, "says")
    assert (status, first != second) == (0, True)


async def test_the_end_of_the_owner_kills_a_program(forks: AsyncForkServer, tmp_path: Path) -> None:
    program = await asleep(forks, tmp_path / "pid")
    await forks.close()
    assert is_gone(program.pid)
    assert await program.ended() == -signal.SIGKILL


async def test_a_program_that_is_no_longer_wanted_is_killed(forks: AsyncForkServer, tmp_path: Path) -> None:
    first, second = await asleep(forks, tmp_path / "first"), await asleep(forks, tmp_path / "second")
    await first.end(asyncio.create_task(first.ended()))
    assert is_gone(first.pid)
    forks._server._forks.clear()
    pid = second.pid
    del second
    await wait_until(lambda: is_gone(pid))


async def test_a_start_that_is_cancelled_uses_no_stream_of_another(
    forks: AsyncForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, used = threading.Event(), list[int]()

    def start(*_: object, fds: Mapping[int, int], **__: object) -> Fork:
        closed.wait(SECONDS)
        used.extend(os.fstat(fd).st_ino for fd in fds.values())
        raise OSError("not started")

    monkeypatch.setattr(forks._server, "start", start)
    with TemporaryFile() as stream:
        given = os.fstat(stream.fileno()).st_ino
        starting = asyncio.create_task(forks.start("stand_in", streams=(stream.fileno(),) * 3))
        await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait({starting})
    with TemporaryFile():  # has the number of the stream
        closed.set()
        await wait_until(lambda: len(used) == 3)
    assert used == [given] * 3
