"""A service that its database is not ready for lives, says what it waits for, and goes on by itself."""

import os
import signal
from pathlib import Path

import pytest
from playmolt_cli.local import probe
from playmolt_cli.local.embedded import free_port
from playmolt_core.db.migrate import migrate, migrations, newest_needed

from tests.integration.gateway.rows import SECONDS, eventually
from tests.platforms import start


@pytest.mark.parametrize("module", ["playmolt_ox", "playmolt_core.relay", "playmolt_gateway"])
async def test_a_service_waits_for_its_migration(
    module: str, empty_database_url: str, nats_url: str, tmp_path: Path
) -> None:
    before = tmp_path / "before"
    before.mkdir()
    for migration in migrations():
        if migration.name < newest_needed():
            (before / migration.name).write_text(migration.sql)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PLAYMOLT_")},
        "DATABASE_URL": empty_database_url, "NATS_URL": nats_url, "PLAYMOLT_HEALTH_PORT": str(port),
        "PLAYMOLT_PORT": str(port), "PLAYMOLT_OPERATOR_KEY": "operator-of-this-test",
    }  # fmt: skip
    log = tmp_path / "log"
    process = start("waiting", module, [], log=log, environment=variables)
    try:
        waiting = f"waiting for migration {newest_needed()}"
        eventually(lambda: waiting in probe.get(f"{url}/readyz?self")[1].decode(), "it says what it waits for")
        assert probe.get(f"{url}/readyz?self", SECONDS)[0] == 503
        assert probe.get(f"{url}/healthz", SECONDS)[0] == 200
        await migrate(empty_database_url, folder=before)
        assert probe.get(f"{url}/readyz?self", SECONDS)[0] == 503
        await migrate(empty_database_url)
        eventually(lambda: probe.ready(f"{url}/readyz?self").ready, log.read_text())
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, log.read_text()
