"""The processes of an `up`, seen from outside."""

import time
from contextlib import suppress
from pathlib import Path

from tests.platforms import Stack

SECONDS = 120


def environment_of(stack: Stack, name: str) -> dict[str, str]:
    """The environment of a child process. If it was just killed, wait until it has started again."""
    until = time.monotonic() + SECONDS
    while True:
        with suppress(KeyError, FileNotFoundError):
            lines = Path(f"/proc/{stack.run.processes[name]}/environ").read_bytes().decode().split("\0")
            if found := dict(line.split("=", 1) for line in lines if "=" in line):  # empty for a process that is ending
                return found
        assert time.monotonic() < until, f"{name} stays away"
        time.sleep(0.05)
