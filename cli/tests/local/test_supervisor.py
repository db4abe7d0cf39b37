"""A program is managed alive without being restarted in a frenzy."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from msgspec.structs import replace
from playmolt_cli.local.embedded import child
from playmolt_cli.local.folder import Folder
from playmolt_cli.local.probe import Readiness
from playmolt_cli.local.services import Counts, Process, Program
from playmolt_cli.local.supervisor import BACKOFF_MOST, ManagedProcess, Supervisor
from playmolt_cli.settings import CliSettings


@pytest.fixture
def short_lived(tmp_path: Path) -> Iterator[ManagedProcess]:
    log = tmp_path / "logs" / "short-lived.log"

    def start() -> subprocess.Popen[bytes]:
        return child.spawn([sys.executable, "-c", "raise SystemExit('no reason')"], log=log)

    managed = ManagedProcess(Program("short-lived", 0, start, lambda: Readiness(False), log))
    yield managed
    assert managed.pid is None


def _wait_for_death(managed: ManagedProcess) -> None:
    assert managed.process is not None
    managed.process.wait(60)


def test_the_first_death_is_repaired_at_once_and_later_ones_after_growing_pauses(short_lived: ManagedProcess) -> None:
    for pause in (0, 0.25, 0.5, 1, 2, 4, *[BACKOFF_MOST] * 3):
        short_lived.start()
        _wait_for_death(short_lived)
        before = time.monotonic()
        assert short_lived.died()
        if pause:
            assert before + pause <= short_lived.start_at <= time.monotonic() + pause
        else:
            assert short_lived.start_at <= time.monotonic()


def test_a_program_that_ran_steadily_is_forgiven(short_lived: ManagedProcess) -> None:
    short_lived = ManagedProcess(short_lived.program, steady_seconds=0)
    short_lived.start()
    _wait_for_death(short_lived)
    short_lived.deaths = 7
    assert short_lived.died()
    assert short_lived.start_at <= time.monotonic()


def test_a_living_program_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "living.log"
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    managed = ManagedProcess(Program("living", 0, lambda: child.spawn(command, log=log), lambda: Readiness(True), log))
    managed.start()
    assert not managed.died()
    managed.signal(9)
    _wait_for_death(managed)
    assert managed.died()


def test_the_reason_of_a_death_appears_in_its_log(short_lived: ManagedProcess) -> None:
    short_lived.start()
    _wait_for_death(short_lived)
    assert short_lived.log.last_line() == "no reason"


def test_a_full_disk_ends_no_platform(
    short_lived: ManagedProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[str] = []
    folder = Folder(tmp_path / "data")
    folder.make()
    platform = Supervisor(folder, CliSettings(), Counts(), lambda name, text: reported.append(f"{name} {text}"))
    attempts = iter((False, True))

    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    def start() -> Process:
        return short_lived.program.start() if next(attempts) else full()

    managed = ManagedProcess(replace(short_lived.program, start=start))
    platform._children.append(managed)
    before = time.monotonic()
    platform.tend()
    assert reported == ["short-lived cannot be started: [Errno 28] No space left on device"]
    assert before + BACKOFF_MOST <= managed.start_at <= time.monotonic() + BACKOFF_MOST

    managed.start_at = 0.0
    with monkeypatch.context() as disk:
        disk.setattr(Path, "write_text", full)
        platform.tend()
        assert reported[1:] == ["up run.json cannot be written: [Errno 28] No space left on device"]

    platform.tend()
    assert (folder.path / "run.json").exists()
    _wait_for_death(managed)


@pytest.mark.parametrize("stalled", [True, False])
def test_a_program_that_lives_and_does_not_work_is_started_again(stalled: bool, tmp_path: Path) -> None:
    log = tmp_path / "logs" / "living.log"
    # Postgres takes the signal whatever it inherits; a shell lets what it runs beside itself ignore it.
    takes = "import signal, time; signal.signal(signal.SIGQUIT, signal.SIG_DFL); time.sleep(60)"
    command = [sys.executable, "-c", takes]
    pids: list[int] = []

    def start() -> subprocess.Popen[bytes]:
        process = child.spawn(command, log=log)
        pids.append(process.pid)
        return process

    managed = ManagedProcess(
        Program("living", 0, start, lambda: Readiness(True), log, stalled=lambda: stalled and len(pids) == 1),
        check_seconds=0,
        stalled_seconds=0,
    )
    managed.start()
    platform = Supervisor(Folder(tmp_path), CliSettings(), Counts(), lambda *_: None)
    platform._children.append(managed)
    until = time.monotonic() + 60
    for _ in range(20):
        platform.tend()
    while stalled and len(pids) == 1:
        assert time.monotonic() < until
        platform.tend()
    assert len(pids) == (2 if stalled else 1)
    managed.signal(9)
    _wait_for_death(managed)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has pidfds; elsewhere the supervisor polls")
def test_an_end_and_a_stop_wake_the_supervisor(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "living.log"
    started: list[subprocess.Popen[bytes]] = []
    again = threading.Event()

    def start() -> subprocess.Popen[bytes]:
        started.append(child.spawn([sys.executable, "-c", "import time; time.sleep(3600)"], log=log))
        if len(started) > 1:
            again.set()
        return started[-1]

    managed = ManagedProcess(Program("living", 0, start, lambda: Readiness(True), log))
    managed.start()
    platform = Supervisor(Folder(tmp_path), CliSettings(), Counts(), lambda *_: None, rest_seconds=3_600)
    platform._children.append(managed)
    running = threading.Thread(target=platform.run)
    running.start()
    started[0].kill()
    assert again.wait(60)
    platform.ask_stop()
    running.join(60)
    assert not running.is_alive()
    started[1].kill()
    _wait_for_death(managed)
