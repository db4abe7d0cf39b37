"""Programs that are forked of a process which has imported their libraries."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from playmolt_core.ops.forks import Forks, Program

from core.tests.waiting import wait_until

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
"""


@pytest.fixture
async def forks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Forks]:
    (tmp_path / "stand_in.py").write_text(PROGRAM, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    made = Forks()
    yield made
    await made.close()


async def done(forks: Forks, *arguments: str, given: str = "") -> tuple[int, str]:
    """The status and the output of a program."""
    with TemporaryFile() as body, TemporaryFile() as out:
        body.write(given.encode())
        body.seek(0)
        streams = (body.fileno(), out.fileno(), out.fileno())
        program = await forks.start("stand_in", *arguments, libraries=("json",), streams=streams)
        status = await program.wait()
        out.seek(0)
        return status, out.read().decode()


async def asleep(forks: Forks, pid: Path) -> Program:
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


async def test_programs_are_forked_of_one_process(forks: Forks) -> None:
    (status, said), (_, other) = await asyncio.gather(
        done(forks, "says", "words", given="a body"), done(forks, "says", given="another")
    )
    origin = said.split()[0]
    assert (status, said, other) == (0, f"{origin} a body words\n", f"{origin} another\n")
    assert int(origin) != os.getpid()


@pytest.mark.parametrize(("what", "status", "said"), [("fails", 1, "no such figure"), ("refuses", 3, "")])
async def test_a_program_ends_as_a_process_of_its_own_would(forks: Forks, what: str, status: int, said: str) -> None:
    found = await done(forks, what)
    assert (found[0], said in found[1]) == (status, True)


async def test_a_killed_origin_takes_its_programs_along_and_is_replaced(forks: Forks, tmp_path: Path) -> None:
    program = await asleep(forks, tmp_path / "pid")
    assert forks._origin is not None
    forks._origin.send_signal(signal.SIGKILL)
    assert await program.wait() == -signal.SIGKILL
    await wait_until(lambda: is_gone(program.pid))
    assert (await done(forks, "says"))[0] == 0


async def test_an_origin_without_programs_ends_and_the_next_one_starts_another(forks: Forks) -> None:
    forks._idle_seconds = 0.0
    _, first = await done(forks, "says")
    assert forks._origin is not None
    assert await forks._origin.wait() == 0
    assert is_gone(int(first))
    status, second = await done(forks, "says")
    assert (status, first != second) == (0, True)


async def test_the_end_of_the_owner_kills_a_program(forks: Forks, tmp_path: Path) -> None:
    program = await asleep(forks, tmp_path / "pid")
    await forks.close()
    assert is_gone(program.pid)
    assert await program.wait() == -signal.SIGKILL


async def test_a_program_that_is_no_longer_wanted_is_killed(forks: Forks, tmp_path: Path) -> None:
    first, second = await asleep(forks, tmp_path / "first"), await asleep(forks, tmp_path / "second")
    await first.end(asyncio.create_task(first.wait()))
    assert is_gone(first.pid)
    second._writer.close()  # as a start that is cancelled
    await wait_until(lambda: is_gone(second.pid))
