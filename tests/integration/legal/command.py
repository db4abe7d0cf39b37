"""A command of `playmolt` on the folder of a running platform."""

import os

from tests import platforms
from tests.platforms import Stack


def playmolt(running: Stack, *words: str, **variables: str) -> bytes:
    """Run a command, which must succeed, with these further environment variables; return its output."""
    done = platforms.playmolt(*words, "--data", str(running.folder.path), environment={**os.environ, **variables})
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.encode()
