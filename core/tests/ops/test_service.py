"""The main program of a service, as a process: its exit code and what it writes to standard error."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = '''"""A service of a test."""
import os
import sys
from playmolt_core.ops.service import Start, run_service
from playmolt_core.settings import OtherShards, Settings

async def build(start: Start) -> None:
    match os.environ["CASE"]:
        case "serve":
            print(start.name, start.settings.log_level, start.fd, flush=True)
            await start.stopping.wait()
            print("stopped", flush=True)
        case "unreachable":
            raise ConnectionRefusedError("no NATS at this address")
        case "late":
            raise TimeoutError("NATS did not answer")
        case "other":
            raise OtherShards(2, 1)
        case "missing":
            open("/nowhere/at/all")

if __name__ == "__main__":
    run_service("tested", build, Settings, listens="--fd" in sys.argv)
'''


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def _environment(case: str, **variables: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PLAYMOLT_")}
    return own | {"CASE": case} | variables


@pytest.mark.parametrize(
    ("case", "status", "line"),
    [
        ("unreachable", 1, "no NATS at this address"),
        ("late", 1, "NATS did not answer"),
        ("other", 2, "PLAYMOLT_LOG_SHARDS is 2, and this log was made with 1"),
        ("missing", 1, "FileNotFoundError"),
    ],
)
def test_a_service_that_cannot_start_exits_with_a_reason(program: Path, case: str, status: int, line: str) -> None:
    ended = subprocess.run(
        [sys.executable, program], env=_environment(case), capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == status
    assert line in ended.stderr
    assert ("Traceback" in ended.stderr) == (case == "missing")  # a bug shows where it is


def test_invalid_settings_are_all_named(program: Path) -> None:
    environment = _environment("serve", PLAYMOLT_PORT="many", PLAYMOLT_LOG_LEVLE="info")
    ended = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    assert "PLAYMOLT_PORT" in ended.stderr
    assert "PLAYMOLT_LOG_LEVLE" in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_signal_lets_a_service_finish(program: Path, number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as inherited:
        fd = inherited.fileno()
        process = subprocess.Popen(
            [sys.executable, program, "--fd", str(fd)], env=_environment("serve", PLAYMOLT_LOG_LEVEL="warning"),
            stdout=subprocess.PIPE, text=True, pass_fds=[fd],
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == f"tested warning {fd}\n"
        process.send_signal(number)
        assert process.communicate(timeout=60)[0] == "stopped\n"
        assert process.returncode == 0
