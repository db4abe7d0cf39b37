"""A command of `playmolt` on the folder of a running platform."""

import os

from tests import platforms
from tests.platforms import Stack


def playmolt(running: Stack, *words: str, **variables: str) -> bytes:
    """What it prints; it must succeed. `variables` are further ones."""
    done = platforms.playmolt(*words, "--data", str(running.folder.path), environment={**os.environ, **variables})
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.encode()
