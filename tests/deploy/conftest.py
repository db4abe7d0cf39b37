"""One deployment for all tests of this folder that need running processes."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.cluster import Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The dev overlay, running."""
    folder = Path(tempfile.mkdtemp(prefix="playmolt-deploy-"))
    folder.chmod(0o755)  # Postgres may run as another user
    running = Cluster(folder)
    try:
        running.start()
        yield running
    finally:
        statuses = running.stop()
        shutil.rmtree(folder, ignore_errors=True)
    assert statuses == dict.fromkeys(running.ports, 0), "a service did not drain and end within its grace period"
