"""TLS as the prod overlay has it, on real servers: who has no certificate of the CA for the right name is refused."""

import asyncio
import json
import os
import shutil
import signal
import socket
import ssl
import struct
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import nats
import pytest
from nats.aio.client import Client
from playmolt_cli.local import probe
from playmolt_cli.local.embedded import Postgres, binaries
from playmolt_core.bus import connection as bus
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.pool import open_pool
from playmolt_core.settings import Settings

from core.tests.listening import listening
from core.tests.waiting import wait_until
from deploy.k8s import credentials
from tests.deploy.authority import Authority
from tests.deploy.cluster import Nats, until
from tests.deploy.manifests import Json, containers, named, of_kind, render, templates

SECRETS = credentials.values()
USER = "relay"
PASSWORD = SECRETS[f"{USER}-credentials"]["nats-password"]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="playmolt-tls-"))
    made.chmod(0o755)  # Postgres may run as another user
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def ours(folder: Path) -> Authority:
    return Authority(folder, "ours")


@pytest.fixture(scope="module")
def strangers(folder: Path) -> Authority:
    return Authority(folder, "strangers")


def names_of_servers() -> list[str]:
    names: list[str] = named(render("prod"), "Certificate", "nats")["spec"]["dnsNames"]
    return names


@pytest.fixture(scope="module")
def servers(folder: Path, ours: Authority, strangers: Authority) -> Iterator[Nats]:
    """Two servers of ours; the third has a certificate of another CA."""
    certificates = [folder / f"tls-{number}" for number in range(3)]
    for place, authority in zip(certificates, (ours, ours, strangers), strict=True):
        authority.issue(place, names_of_servers())
    running = Nats(render("prod"), SECRETS, folder, certificates)
    try:
        until(lambda: [_peers(running, number) for number in (0, 1)] == [{"nats-1"}, {"nats-0"}], "a route")
        yield running
    finally:
        running.stop()


def _peers(running: Nats, number: int) -> set[str]:
    status, body = probe.get(f"http://127.0.0.1:{running.monitors[number]}/routez", 60)
    return {route["remote_name"] for route in json.loads(body)["routes"]} if status == 200 else set()


def settings(port: int, ca: Path | str, scheme: str = "tls", host: str = "localhost") -> Settings:
    return Settings(
        nats_url=f"{scheme}://{host}:{port}", nats_ca=str(ca), nats_user=USER, nats_password=PASSWORD
    )  # fmt: skip


@asynccontextmanager
async def connected(settings: Settings, seconds: float = 60) -> AsyncIterator[Client]:
    client = await bus.open_connection(settings, USER, lambda: None, connect_seconds=seconds)
    try:
        yield client
    finally:
        await client.close()


async def refusal(settings: Settings) -> str:
    """Why a service does not connect; it tries again until its time is over, and each try may take a second."""
    for seconds in (1, 5, 25):
        with pytest.raises(BusUnavailable) as refused:
            async with connected(settings, seconds):
                pass
        if "TimeoutError" not in str(refused.value):
            break
    return str(refused.value)


async def test_a_service_with_the_ca_is_served(servers: Nats, ours: Authority) -> None:
    async with connected(settings(servers.clients[0], ours.file)) as client:
        assert await bus.fault_of(client) == ""
        session = client._transport._io_writer.get_extra_info("ssl_object")  # type: ignore[union-attr]
        assert session.version() == "TLSv1.3"


@pytest.mark.parametrize(
    ("which", "host", "why"),
    [("strangers", "localhost", "certificate verify failed"), ("ours", "127.0.0.1", "IP address mismatch")],
    ids=["another CA", "another name"],
)
async def test_a_server_that_cannot_prove_its_name_gets_no_password(
    request: pytest.FixtureRequest, servers: Nats, which: str, host: str, why: str
) -> None:
    authority: Authority = request.getfixturevalue(which)
    assert why in await refusal(settings(servers.clients[0], authority.file, host=host))


async def test_a_file_that_is_no_ca_is_named(servers: Nats, folder: Path) -> None:
    with pytest.raises(BusUnavailable, match=r"PLAYMOLT_NATS_CA: .*missing"):
        async with connected(settings(servers.clients[0], folder / "missing")):
            pass


def test_a_client_without_tls_is_let_in_nowhere(servers: Nats) -> None:
    with socket.create_connection(("127.0.0.1", servers.clients[0]), timeout=120) as wire:
        lines = wire.makefile("rb")
        assert json.loads(lines.readline().removeprefix(b"INFO "))["tls_required"] is True
        said = json.dumps({"user": USER, "pass": PASSWORD, "verbose": True, "protocol": 1})
        wire.sendall(f"CONNECT {said}\r\nPING\r\n".encode())
        assert b"PONG" not in lines.read()


@pytest.mark.parametrize("scheme", ["tls", "nats"])
async def test_a_server_that_asks_for_no_tls_hears_no_password(ours: Authority, scheme: str) -> None:
    """Whoever sits between may say INFO without `tls_required`: the library by itself would then send the password."""
    heard: list[bytes] = []

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.15.0","proto":1,"max_payload":1024,"headers":true}\r\n')
        heard.append(await reader.read(65_536))

    async with listening(plain) as port:
        assert "SecureConnRequired" in await refusal(settings(port, ours.file, scheme))
        await wait_until(lambda: heard)
    assert set(heard) == {b""}


def test_a_server_of_another_ca_gets_no_route(servers: Nats) -> None:
    log = servers.log(2)
    until(lambda: "certificate" in log.read_text() and ":6222" not in log.read_text(), "a refusal in its log")
    assert [_peers(servers, number) for number in range(3)] == [{"nats-1"}, {"nats-0"}, set()]


def test_a_renewed_certificate_is_shown_without_a_restart(servers: Nats, folder: Path, ours: Authority) -> None:
    """What the sidecar does: it signals the server whose pid file it sees."""
    renewed = ours.issue(folder / "tls-0", names_of_servers())
    os.kill(servers.processes[0].pid, signal.SIGHUP)
    until(lambda: _shown(servers.clients[0], ours) == renewed.serial_number, "the renewed certificate")
    assert servers.processes[0].poll() is None
    assert _peers(servers, 0) == {"nats-1"}


def _shown(port: int, authority: Authority) -> int:
    with socket.create_connection(("127.0.0.1", port), timeout=120) as wire:
        wire.recv(65_536)
        context = ssl.create_default_context(cafile=str(authority.file))
        with context.wrap_socket(wire, server_hostname="localhost") as secured:
            told = secured.getpeercert()
    assert told
    return int(str(told["serialNumber"]), 16)


@pytest.fixture(scope="module")
def database(folder: Path, ours: Authority) -> Iterator[str]:
    """A Postgres with the overlay's rules of entry before those of its own; gives its URL, by name."""
    built_with_tls = binaries._system()
    assert built_with_tls, "install PostgreSQL from the system's packages: the wheels have none that speaks TLS"
    server = Postgres(folder / "postgres", programs=built_with_tls)
    server.start()
    try:
        ours.issue(server.cluster / "tls", ["localhost"])
        owner = server.cluster.stat()
        for path in (server.cluster / "tls", *(server.cluster / "tls").iterdir()):
            os.chown(path, owner.st_uid, owner.st_gid)
            path.chmod(0o700 if path.is_dir() else 0o600)
        rules = server.cluster / "pg_hba.conf"
        usual: list[str] = named(render("prod"), "Cluster", "postgres")["spec"]["postgresql"]["pg_hba"]
        rules.write_text("\n".join([*usual, "host all all all scram-sha-256", ""]))
        with (server.cluster / "postgresql.conf").open("a") as configuration:
            configuration.write("\nssl = on\nssl_cert_file = 'tls/tls.crt'\nssl_key_file = 'tls/tls.key'\n")
        assert server.process
        server.process.send_signal(signal.SIGHUP)
        until(lambda: _offers_tls(server.port), "TLS")
        yield server.url.replace("127.0.0.1", "localhost")
    finally:
        server.stop()


def _offers_tls(port: int) -> bool:
    """A server reads the rules of entry before it offers TLS."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as wire:
        wire.sendall(struct.pack("!ii", 8, 80877103))
        return wire.recv(1) == b"S"


def of_the_relay() -> dict[str, str]:
    """What a pod of the overlay is told of its database."""
    (container,) = named(render("prod"), "Deployment", "relay")["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one["value"] for one in container["env"] if one["name"].startswith("PGSSL")}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, ours: Authority) -> None:
    variables = of_the_relay() | {"PGSSLROOTCERT": str(ours.file)}
    assert variables["PGSSLMODE"] == "verify-full"
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("told")
async def test_a_pool_with_the_ca_is_served_over_tls(database: str) -> None:
    pool = await open_pool(database)
    try:
        assert await pool.value("SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()") == "TLSv1.3"
    finally:
        await pool.close()


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize("fault", ["another CA", "another name", "no file"])
async def test_a_database_that_cannot_prove_its_name_is_away(
    database: str, strangers: Authority, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    if fault == "another CA":
        monkeypatch.setenv("PGSSLROOTCERT", str(strangers.file))
    elif fault == "no file":
        monkeypatch.setenv("PGSSLROOTCERT", "/nowhere/ca.crt")
    host = "127.0.0.1" if fault == "another name" else "localhost"
    pool = await open_pool(database.replace("localhost", host))
    try:
        with pytest.raises(LogUnavailable):
            await pool.value("SELECT 1")
        assert not await pool.answers()
    finally:
        await pool.close()


@pytest.mark.parametrize("mode", ["disable", "require"])
async def test_the_database_lets_nobody_in_without_tls(database: str, mode: str) -> None:
    where = f"{database}?sslmode={mode}"
    if mode == "require":
        await (await asyncpg.connect(where, timeout=120)).close()
    else:
        with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError, match="rejects connection"):
            await asyncpg.connect(where, timeout=120)


def test_every_pod_that_speaks_to_a_server_has_its_authority_and_no_private_key() -> None:
    for name, pod in templates(render("prod")):
        for one in containers(pod):
            told = json.dumps(one.get("env", []) + one.get("envFrom", []))
            mounted = {mount["name"] for mount in one.get("volumeMounts", [])}
            assert ("postgres-ca" in mounted) is ("DATABASE_URL" in told), name
            assert ("nats-ca" in mounted) is ("PLAYMOLT_NATS_USER" in told), name
        for volume in pod["spec"].get("volumes", []):
            if volume["name"].endswith("-ca"):
                assert [item["path"] for item in volume["secret"]["items"]] == ["ca.crt"], name
                assert "key" not in volume["secret"]["items"][0]["key"], name


def test_what_a_pod_is_told_lies_where_it_is_mounted() -> None:
    for name, pod in templates(render("prod")):
        for one in containers(pod):
            files = {entry["value"] for entry in one.get("env", []) if entry.get("value", "").endswith("/ca.crt")}
            mounts = {mount["mountPath"] for mount in one.get("volumeMounts", []) if mount["name"].endswith("-ca")}
            assert files == {f"{mount}/ca.crt" for mount in mounts}, name


def test_the_certificate_is_for_every_address_that_clients_and_routes_use() -> None:
    objects = render("prod")
    conf = _configuration(objects)
    routes = {urlsplit(part).hostname for part in conf["nats.conf"].split('"') if part.startswith("nats://")}
    (told,) = [one["data"]["NATS_URL"] for one in of_kind(objects, "ConfigMap") if "NATS_URL" in one.get("data", {})]
    clients = {urlsplit(url).hostname for url in told.split(",")}
    assert {url.partition(":")[0] for url in told.split(",")} == {"tls"}
    assert routes | clients | {"localhost"} == set(names_of_servers())
    assert set(named(objects, "Certificate", "nats")["spec"]["usages"]) >= {"server auth", "client auth"}


def _configuration(objects: list[Json]) -> dict[str, str]:
    (conf,) = [one["data"] for one in of_kind(objects, "ConfigMap") if "nats.conf" in one.get("data", {})]
    return dict(conf)


async def test_without_the_component_a_server_takes_anybody(folder: Path) -> None:
    """The counter-check: the dev overlay's servers, which are asked in clear."""
    running = Nats(render("dev"), SECRETS, folder / "dev")
    try:
        until(lambda: probe.get(f"http://127.0.0.1:{running.monitors[0]}/varz")[0] == 200, "a server")
        plain = await nats.connect(f"nats://127.0.0.1:{running.clients[0]}", user=USER, password=PASSWORD)
        await plain.close()
    finally:
        running.stop()
