import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playmolt_cli.local.forkserver import Fork, ForkServer

SECONDS = 60
TELLS = """
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
"""What is looked for is told backwards, and is nowhere whole by being looked for."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ForkServer]:
    for name, text in (("tells", TELLS), ("waits", WAITS), ("searches", SEARCHES)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "__main__.py").write_text(f"if __name__ == '__main__':\n    exec({text!r})\n", "utf-8")
    bare = {"PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"], "OF_THE_SERVER": "1"}
    server = ForkServer(["tells", "waits", "searches"], tmp_path / "logs" / "forkserver.log", bare)
    yield server
    server.end()


@pytest.fixture
def start(server: ForkServer, tmp_path: Path) -> Callable[..., Fork]:
    def started(module: str, *arguments: str, fds: tuple[int, ...] = ()) -> Fork:
        log = tmp_path / "logs" / f"{module}.log"
        return server.start(module, module, arguments, log=log, environment={"OWN": "yes"}, fds=fds)

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
    fork = start("tells", "--all", "x y")
    assert fork.wait(SECONDS) == 0
    log = tmp_path / "logs" / "tells.log"
    told = json.loads(log.read_bytes())
    assert (told["name"], told["argv"], told["stdin"]) == ("__main__", ["--all", "x y"], "")
    assert told["environment"] == {"OWN": "yes", "PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:replace"}
    environ, command, title = told["shown"]
    assert dict(line.split("=", 1) for line in environ) == told["environment"]
    assert (command[1:], title) == (["-P", "-m", "tells", "--all", "x y"], ["tells\n"])
    assert (told["session"], told["threads"]) == (fork.pid, 1)
    assert log.stat().st_mode & 0o777 == 0o600


def test_it_has_the_descriptors_it_is_told_of_by_their_numbers(start: Callable[..., Fork]) -> None:
    """In whichever order they are named: some come under the numbers that others are to have."""
    mine, its = zip(*(socket.socketpair() for _ in range(4)), strict=True)
    numbers = [one.fileno() for one in reversed(its)]
    assert start("tells", "--fds", *map(str, numbers), fds=tuple(numbers)).wait(SECONDS) == 7
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


def test_with_the_server_its_forks_end_and_the_next_start_begins_it_anew(start: Callable[..., Fork]) -> None:
    fork = start("waits")
    server = int(Path(f"/proc/{fork.pid}/stat").read_text("ascii").rpartition(")")[2].split()[1])
    os.kill(server, signal.SIGKILL)
    assert fork.wait(SECONDS) == -signal.SIGKILL
    until(lambda: not alive(fork.pid))
    again = start("waits")
    assert (again.poll(), alive(again.pid)) == (None, True)


def test_no_memory_holds_what_another_was_told(server: ForkServer, tmp_path: Path) -> None:
    told, others = secrets.token_hex(16), secrets.token_hex(16)

    def run(module: str, **environment: str) -> None:
        log = tmp_path / f"{module}.log"
        assert server.start(module, module, [], log=log, environment=environment).wait(SECONDS) == 0

    run("tells", SECRET=others)
    run("searches", SECRET=told, FOR=" ".join(secret[::-1] for secret in (told, others)))
    assert (tmp_path / "searches.log").read_text("utf-8") == "True\nFalse\n"


def test_nobody_outlives_who_began_the_server(tmp_path: Path, server: ForkServer) -> None:
    program = f"""
import os, sys, time
from pathlib import Path
from playmolt_cli.local.forkserver import ForkServer
server = ForkServer(["waits"], Path({str(tmp_path / "log")!r}), {{"PYTHONPATH": {str(tmp_path)!r}}})
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
    server = ForkServer(["no_such_module"], log, {})
    with pytest.raises(OSError, match=str(log)):
        server.start("none", "no_such_module", [], log=tmp_path / "none.log", environment={})
    assert "No module named 'no_such_module'" in log.read_text("utf-8")
    server.end()
