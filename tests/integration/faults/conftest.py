"""An `up` with a Postgres behind a proxy, one for each module."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playmolt_cli.local.embedded import Postgres

from tests.integration.conftest import OWN_SERVERS, complete
from tests.integration.faults.proxy import Proxy
from tests.platforms import MIGRATED, Stack, copied_cluster


class Platform:
    """An `up` with a Postgres behind a proxy and two engines of each game."""

    def __init__(self, stack: Stack, proxy: Proxy, postgres: Postgres) -> None:
        self.stack, self.proxy, self.postgres = stack, proxy, postgres

    def engines(self) -> list[int]:
        """The processes of both, once the last one that was killed is back."""
        run = complete(self.stack).run
        return [run.processes[name] for name in ("ox-engine-1", "ox-engine-2")]


@pytest.fixture(scope="module")
def platform(request: pytest.FixtureRequest) -> Iterator[Platform]:
    """The module's platform. A module may set its variables by an indirect parameter."""
    with tempfile.TemporaryDirectory(prefix="playmolt-test-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        with Postgres(copied_cluster(folder / "postgres", MIGRATED)) as postgres, Proxy(postgres.port) as proxy:
            url = postgres.url.replace(f":{postgres.port}/", f":{proxy.port}/")
            no_deadline = {"PLAYMOLT_PHASE_DEADLINE_SECONDS": "0"}  # a fault may last as long as a phase
            variables = {**OWN_SERVERS, **no_deadline, **getattr(request, "param", {}), "DATABASE_URL": url}
            with Stack(folder / "up", ("--engines", "2"), variables) as stack:
                yield Platform(stack, proxy, postgres)
