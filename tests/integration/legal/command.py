"""A command of `playmolt` on the folder of a running platform."""

import os
import subprocess
import sys

from tests.platforms import Stack


def playmolt(running: Stack, *words: str, **told: str) -> bytes:
    """What it prints; it must succeed. `told` are further variables."""
    command = [sys.executable, "-m", "playmolt_cli", *words, "--data", str(running.folder.path)]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False, env={**os.environ, **told})
    assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
    return done.stdout
