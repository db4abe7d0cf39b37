"""Real servers for the integration tests.

Postgres and NATS come from DATABASE_URL and NATS_URL if these are set, else from containers if a Docker engine answers,
else from the wheels. Every test has its own database and an empty JetStream.
"""

import asyncio
import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import nats
import pytest
from nats.js.errors import NotFoundError
from playmolt_cli.local import probe
from playmolt_cli.local.embedded import Nats, Postgres
from playmolt_cli.local.folder import Run
from playmolt_schemas import subjects

from tests.platforms import TEMPLATES, Stack, copied_cluster, on_database

HERE = Path(__file__).parent
SECONDS = 120
TEST_SECONDS = 600
"""Time limit of a test with its platform: on a shared machine, waits for processes take several times as long."""
DAY_SECONDS = 86_400
DAY_TEST_SECONDS = 240
"""How long a test of daily budgets takes on a busy machine."""
OPT_IN = "real_model"
"""Marker of tests that download a model and take minutes. They run only if REAL_MODEL is set or `-m` selects them."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{OPT_IN}: plays against a real small model; opt in with REAL_MODEL=1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = f"{HERE.relative_to(config.rootpath).as_posix()}/"
    for item in items:
        if item.nodeid.startswith(here) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))
    if os.environ.get("REAL_MODEL") or OPT_IN in config.getoption("-m"):
        return
    left_out = [item for item in items if item.get_closest_marker(OPT_IN)]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def docker_answers() -> bool:
    """Whether a Docker engine answers."""
    program = shutil.which("docker")
    if program is None:
        return False
    try:
        return subprocess.run([program, "version"], capture_output=True, timeout=5, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _open_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="playmolt-test-"))
    folder.chmod(0o755)  # Postgres runs as a user who cannot enter pytest's own folders
    return folder


@pytest.fixture(scope="session")
def session_folder() -> Iterator[Path]:
    folder = _open_folder()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of this test that an embedded Postgres can use."""
    folder = _open_folder()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_url(docker_answers: bool, session_folder: Path) -> Iterator[str]:
    """A superuser's URL of the session's Postgres."""
    if url := os.environ.get("DATABASE_URL"):
        yield url
    elif docker_answers:
        from testcontainers.community.postgres import PostgresContainer

        with PostgresContainer("postgres:18", driver=None) as container:
            yield container.get_connection_url()
    else:
        with Postgres(copied_cluster(session_folder / "postgres", TEMPLATES)) as server:
            yield server.url


async def _statement(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url, timeout=SECONDS)
    try:
        await connection.execute(statement, timeout=SECONDS)
    finally:
        await connection.close(timeout=SECONDS)


async def _has_database(url: str, name: str) -> bool:
    connection = await asyncpg.connect(url, timeout=SECONDS)
    try:
        return bool(await connection.fetchval("SELECT count(*) FROM pg_database WHERE datname = $1", name))
    finally:
        await connection.close(timeout=SECONDS)


@pytest.fixture(scope="session")
def migrated_template(postgres_url: str) -> Iterator[str]:
    """The name of a migrated database, of which tests get copies."""
    yield from _template(postgres_url, shards=1)


@pytest.fixture(scope="session")
def sharded_template(postgres_url: str) -> Iterator[str]:
    """The same as `migrated_template`, with a log of three shards."""
    yield from _template(postgres_url, shards=3)


def _template(postgres_url: str, shards: int) -> Iterator[str]:
    from playmolt_core.db.migrate import migrate

    if asyncio.run(_has_database(postgres_url, f"template_{shards}")):
        yield f"template_{shards}"
        return
    name = f"template_{uuid.uuid4().hex}"
    asyncio.run(_statement(postgres_url, f"CREATE DATABASE {name}"))
    asyncio.run(migrate(on_database(postgres_url, name), "all", shards=shards))
    yield name
    asyncio.run(_statement(postgres_url, f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture
async def empty_database_url(postgres_url: str) -> AsyncIterator[str]:
    """A fresh database without any migration."""
    async for url in _fresh(postgres_url, "template1"):
        yield url


@pytest.fixture
async def database_url(postgres_url: str, migrated_template: str) -> AsyncIterator[str]:
    """A fresh migrated database."""
    async for url in _fresh(postgres_url, migrated_template):
        yield url


@pytest.fixture
async def sharded_url(postgres_url: str, sharded_template: str) -> AsyncIterator[str]:
    """A fresh migrated database whose log has three shards."""
    async for url in _fresh(postgres_url, sharded_template):
        yield url


async def _fresh(server: str, template: str) -> AsyncIterator[str]:
    url = await make_database(server, template)
    yield url
    await drop_database(server, url)


async def make_database(server: str, template: str) -> str:
    name = f"test_{uuid.uuid4().hex}"
    await _statement(server, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    return on_database(server, name)


async def drop_database(server: str, url: str) -> None:
    await _statement(server, f"DROP DATABASE {urlsplit(url).path[1:]} WITH (FORCE)")


@pytest.fixture(scope="session")
def shared_nats_url(docker_answers: bool) -> Iterator[str | None]:
    """The session's NATS, if it comes from outside; None if each test starts its own."""
    if url := os.environ.get("NATS_URL"):
        yield url
    elif docker_answers:
        from testcontainers.community.nats import NatsContainer

        with NatsContainer("nats:2.12", jetstream=True) as container:
            yield container.nats_uri()
    else:
        yield None


@pytest.fixture
def nats_server(folder: Path) -> Iterator[Nats]:
    """A NATS server without users, only for this test, which may kill and restart it."""
    with Nats(folder / "nats") as server:
        yield server


@pytest.fixture
async def nats_url(shared_nats_url: str | None, request: pytest.FixtureRequest) -> str:
    """A NATS server with an empty JetStream, without users."""
    if shared_nats_url is None:
        server: Nats = request.getfixturevalue("nats_server")
        return server.url
    await _drop_streams(shared_nats_url)
    return shared_nats_url


async def _drop_streams(url: str) -> None:
    connection = await nats.connect(url, connect_timeout=SECONDS)
    stream_calls = connection.jetstream(timeout=SECONDS)
    for stream in (subjects.EVENTS_STREAM, subjects.SPECTATE_STREAM):
        try:
            await stream_calls.delete_stream(stream)
        except NotFoundError:
            continue
    await connection.close()


StackFactory = Callable[..., Stack]
OWN_SERVERS = {"DATABASE_URL": "", "NATS_URL": ""}
"""Makes `up` start its own servers; those of the environment are for the tests of the log and the bus."""


def whole(**environment: str) -> Iterator[Stack]:
    """A platform with one process of each service."""
    folder = _open_folder()
    with Stack(folder / "data", environment={**OWN_SERVERS, **environment}) as stack:
        yield stack
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def shared_stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    """A shared platform. A module may set its variables by an indirect parameter, `[{"PLAYMOLT_LOG_SHARDS": "3"}]`."""
    yield from whole(**getattr(request, "param", {}))


@pytest.fixture
def running(shared_stack: Stack) -> Stack:
    """A shared platform whose processes tests may kill: they restart, and nothing is lost.

    Each test waits until it is complete, because the previous test may have killed a process at its end.
    """
    return complete(shared_stack)


def complete(stack: Stack) -> Stack:
    """Wait until all parts of a platform are ready."""
    until = time.monotonic() + SECONDS
    while missing := _missing(stack.run):
        assert time.monotonic() < until, f"{missing}; `up` said:\n{stack.log.read_text()[-3000:]}"
        time.sleep(0.05)
    return stack


def _missing(run: Run) -> dict[str, str]:
    """The parts of a platform that are not ready, each with the reason."""
    asked = {name: probe.ready(url) for name, url in {"gateway": f"{run.gateway}/readyz", **run.health}.items()}
    return {name: answer.missing or "does not answer" for name, answer in asked.items() if not answer.ready}


@pytest.fixture
def one_day() -> None:
    """For a test that must run within one UTC day: shortly before midnight, wait for the next day."""
    left = DAY_SECONDS - time.time() % DAY_SECONDS
    if left < DAY_TEST_SECONDS:
        time.sleep(left)


@pytest.fixture
def stack(folder: Path) -> Iterator[StackFactory]:
    """Starts an `up` with further options and variables, on this test's folder or another one.

    `stack("--gateways", "2", PLAYMOLT_RATE_LIMIT="5/1").run` gives URLs, operator key and process ids.
    """
    started: list[Stack] = []

    def start(*options: str, data: Path | None = None, **environment: str) -> Stack:
        one = Stack(data or folder / "data", options, {**OWN_SERVERS, **environment})
        started.append(one)
        return one.start()

    yield start
    for one in started:
        one.stop()
