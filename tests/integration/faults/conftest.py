"""An `up` with a Postgres behind a proxy, one for each module."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playmolt_cli.local.embedded import Postgres

from tests.integration.conftest import OWN_SERVERS
from tests.integration.faults.proxy import Proxy
from tests.platforms import MIGRATED, Stack, copied_cluster


class Platform:
    """An `up` with a Postgres behind a proxy and two engines of each game."""

    def __init__(self, stack: Stack, proxy: Proxy, postgres: Postgres) -> None:
        self.stack, self.proxy, self.postgres = stack, proxy, postgres

    @property
    def engines(self) -> list[int]:
        return [pid for name, pid in self.stack.run.processes.items() if name.startswith("ox-engine")]


@pytest.fixture(scope="module")
def platform(request: pytest.FixtureRequest) -> Iterator[Platform]:
    """The module's platform. A module may set its variables by an indirect parameter."""
    with tempfile.TemporaryDirectory(prefix="playmolt-test-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        with Postgres(copied_cluster(folder / "postgres", MIGRATED)) as postgres, Proxy(postgres.port) as proxy:
            url = postgres.url.replace(f":{postgres.port}/", f":{proxy.port}/")
            variables = {**OWN_SERVERS, **getattr(request, "param", {}), "DATABASE_URL": url}
            with Stack(folder / "up", ("--engines", "2"), variables) as stack:
                yield Platform(stack, proxy, postgres)
