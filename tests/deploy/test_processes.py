"""The dev overlay's own commands, environments and configurations, run: probes answer, rights are just enough."""

import json
import re
import signal
import socket
import time
from itertools import islice

import asyncpg
import httpx
import nats
import pytest
from nats.aio.client import Client
from playmolt_cli.local import probe
from playmolt_cli.local.embedded import child
from playmolt_core.bus.connection import delivered
from playmolt_core.ops.process import ANY
from playmolt_schemas.identifiers import ENGINES

from tests.deploy.cluster import Cluster, until
from tests.deploy.manifests import Json, named, services

SERVICES = {"gateway", "spectator", "relay", *ENGINES}


def call(cluster: Cluster, path: str, body: Json | None = None, key: str = "") -> Json:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    answer = httpx.request(
        "GET" if body is None else "POST", cluster.url("gateway") + path, json=body, headers=headers, timeout=120
    )
    assert answer.is_success, answer.text
    found: Json = answer.json()
    return found


def test_every_service_of_the_platform_has_a_deployment(cluster: Cluster) -> None:
    assert {one["metadata"]["name"] for one in services(cluster.objects)} == SERVICES


@pytest.mark.parametrize("kind", ["startupProbe", "livenessProbe", "readinessProbe"])
def test_probes_hit_routes_that_answer(cluster: Cluster, kind: str) -> None:
    assert set(cluster.ports) == SERVICES
    for name in SERVICES:
        until(lambda name=name: cluster.probe(name, kind) == 200, f"{name}, {kind}")  # type: ignore[misc]
    until(lambda: set(cluster.nats.probe(kind)) == {200}, f"NATS, {kind}")


def test_all_find_one_another(cluster: Cluster) -> None:
    until(lambda: probe.ready(f"{cluster.url('gateway')}/readyz").ready, "the whole platform")
    parts = json.loads(probe.get(f"{cluster.url('gateway')}/readyz", 60)[1])
    assert {f"engine.{game}" for games in ENGINES.values() for game in games} <= set(json.dumps(parts).split('"'))


def test_migrations_are_applied_before_and_after(cluster: Cluster) -> None:
    assert "applied 0001_pre_schema.sql" in cluster.migrations["pre"]
    assert "_pre_" not in cluster.migrations["post"]


def test_an_action_goes_its_whole_way(cluster: Cluster) -> None:
    until(lambda: probe.ready(f"{cluster.url('gateway')}/readyz").ready, "the whole platform")
    agent = call(cluster, "/api/agents", {"name": "deployed"})
    joined = call(cluster, "/api/games/join", {"gameType": "ox"}, agent["api_key"])
    operator = cluster.secrets["gateway-credentials"]["operator-key"]

    def copied() -> bool:
        lag = call(cluster, "/api/admin/lag", key=operator)
        return bool(0 < lag["log"] == lag["events"] == lag["spectate"])

    until(copied, "the relay's copies")
    assert probe.get(f"{cluster.url('spectator')}/healthz", 60)[0] == 200
    with httpx.stream("GET", f"{cluster.url('spectator')}/sse/lobby", timeout=120) as feed:
        assert any(joined["game_id"] in line for line in islice(feed.iter_lines(), 20))


def test_traces_reach_the_collector(cluster: Cluster) -> None:
    until(lambda: probe.ready(f"{cluster.url('gateway')}/readyz").ready, "the whole platform")
    agent = call(cluster, "/api/agents", {"name": "traced"})
    call(cluster, "/api/games/join", {"gameType": "ox"}, agent["api_key"])

    def spans_of_all() -> bool:
        spans = b"".join(body for path, body in cluster.collector.taken if path == "/v1/traces")
        return all(name in spans for name in (b"gateway", b"ox-engine", b"publish"))

    until(spans_of_all, "spans of gateway and engine")


def test_the_log_verifies_with_the_readers_login(cluster: Cluster) -> None:
    told = json.loads(cluster.job("log-verify"))
    assert told["diverged"] == 0


def test_scores_are_computed_with_the_relays_login(cluster: Cluster) -> None:
    assert "overall: 0 players" in cluster.job("scores")


def test_the_doctor_finds_nothing_wrong(cluster: Cluster) -> None:
    until(lambda: probe.ready(f"{cluster.url('gateway')}/readyz").ready, "the whole platform")
    password = cluster.secrets["migrations-credentials"]["password"]
    variables = {
        "DATABASE_URL": f"postgresql://migrations:{password}@postgres-rw:5432/playmolt",
        "NATS_URL": cluster.nats.url,
        "PLAYMOLT_NATS_USER": "admin",
        "PLAYMOLT_NATS_PASSWORD": cluster.secrets["admin-credentials"]["nats-password"],
        "PLAYMOLT_PORT": str(cluster.ports["gateway"]),
    }
    findings = json.loads(cluster.command("doctor", "--json", variables=variables))["findings"]
    assert {one["name"] for one in findings} >= {"migrations", "roles", "log", "stream EVENTS", "gateway"}


async def login(cluster: Cluster, user: str) -> asyncpg.Connection:
    port = cluster.here({"DATABASE_URL": "postgres-rw:5432"})["DATABASE_URL"].rpartition(":")[2]
    return await asyncpg.connect(
        host="127.0.0.1",
        port=int(port),
        user=user,
        password=cluster.secrets[f"{user}-credentials"]["password"],
        database="playmolt",
    )


@pytest.mark.parametrize(
    ("user", "allowed", "refused"),
    [
        ("gateway", "SELECT count(*) FROM account.agent", "SELECT count(*) FROM log.event"),
        ("relay", "SELECT count(*) FROM log.event", "SELECT count(*) FROM account.agent"),
        ("ox-engine", "SELECT count(*) FROM log.event", "DELETE FROM log.event"),
        ("reader", "SELECT count(*) FROM log.event", "SELECT count(*) FROM account.agent"),
        ("agora-runner", "SELECT count(*) FROM log.stream", "CREATE TABLE log.mine ()"),
    ],
)
async def test_a_login_has_the_rights_of_its_group(cluster: Cluster, user: str, allowed: str, refused: str) -> None:
    connection = await login(cluster, user)
    try:
        assert await connection.fetchval("SELECT NOT rolsuper FROM pg_roles WHERE rolname = session_user")
        await connection.fetch(allowed)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(refused)
    finally:
        await connection.close()


async def nats_as(cluster: Cluster, user: str, password: str) -> tuple[Client, list[str]]:
    faults: list[str] = []

    async def heard(error: Exception) -> None:
        faults.append(str(error).lower())

    client = await nats.connect(
        cluster.nats.url.split(","),
        user=user,
        password=password,
        inbox_prefix=f"_INBOX.{user}".encode(),
        allow_reconnect=False,
        connect_timeout=120,
        error_cb=heard,
    )
    return client, faults


@pytest.mark.parametrize(
    ("user", "allowed", "refused"),
    [
        ("gateway", "actions.ox.x", "events.ox.x.y"),
        ("spectator", "public.ox.x", "actions.ox.x"),
        ("ox-engine", "committed", "spectate.trial.x"),
        ("relay", "spectate.ox.x", "actions.ox.x"),
    ],
)
async def test_a_service_may_publish_on_its_own_subjects(
    cluster: Cluster, user: str, allowed: str, refused: str
) -> None:
    client, faults = await nats_as(cluster, user, cluster.secrets[f"{user}-credentials"]["nats-password"])
    try:
        if user != "relay":  # what it publishes would be stored
            await client.publish(allowed)
        await delivered(client, 60)
        assert faults == []
        await client.publish(refused)
        await delivered(client, 60)
        until_heard = time.monotonic() + 60
        while not faults and time.monotonic() < until_heard:
            await delivered(client, 60)
        assert refused in faults[0]
        assert "permissions violation" in faults[0]
    finally:
        await client.close()


def test_nobody_gets_in_with_another_password(cluster: Cluster) -> None:
    host, port = "127.0.0.1", cluster.nats.clients[0]
    for password, answer in (("gateway", "-ERR"), ("relay", "PONG")):
        asked = {"user": "relay", "pass": cluster.secrets[f"{password}-credentials"]["nats-password"], "verbose": False}
        with socket.create_connection((host, port), timeout=120) as wire, wire.makefile("rb") as lines:
            assert lines.readline().startswith(b"INFO ")
            wire.sendall(f"CONNECT {json.dumps(asked)}\r\nPING\r\n".encode())
            assert lines.readline().decode().startswith(answer)


async def test_streams_lie_on_all_three_servers(cluster: Cluster) -> None:
    client, _ = await nats_as(cluster, "admin", cluster.secrets["admin-credentials"]["nats-password"])
    try:
        for stream in ("EVENTS", "SPECTATE"):
            told = json.loads((await client.request(f"$JS.API.STREAM.INFO.{stream}", timeout=120)).data)
            assert told["config"]["num_replicas"] == 3
            assert len(told["cluster"]["replicas"]) == 2
    finally:
        await client.close()


def test_the_embedded_chain_answers_its_probes_and_calls_from_other_pods(cluster: Cluster) -> None:
    container, variables, port = cluster.chain()
    assert variables["EVM_HOST"] == ANY
    process = cluster.fork("chain", container, variables)
    try:
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            path = container[kind]["httpGet"]["path"]
            until(lambda path=path: probe.get(f"http://127.0.0.1:{port}{path}")[0] == 200, kind)  # type: ignore[misc]
        asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
        answer = httpx.post(f"http://127.0.0.1:{port}/", json=asked, headers={"Host": "chain:8545"}, timeout=120)
        assert answer.json()["result"] == hex(20557)
    finally:
        assert child.end(process, signal.SIGTERM, 60)


def test_a_stop_grants_the_time_that_draining_may_take(cluster: Cluster) -> None:
    from playmolt_core.effects.runner import _DRAIN_SECONDS as WISHES
    from playmolt_core.engine.engine import _DRAIN_SECONDS as ENGINE
    from playmolt_core.settings import Settings
    from playmolt_gateway.server.serving import DRAIN_SECONDS
    from playmolt_spectator.timeouts import Timeouts

    closing = 10  # connections to NATS and Postgres, each bounded at three to five seconds
    wanted = {
        "gateway": Settings().deadline_seconds + DRAIN_SECONDS + closing,
        "spectator": Timeouts().drain + closing / 2,
        "relay": 5 + closing,
        **dict.fromkeys(ENGINES, ENGINE + WISHES + closing),
    }
    for name, seconds in wanted.items():
        pod = named(cluster.objects, "Deployment", name)["spec"]["template"]["spec"]
        before = pod["containers"][0].get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        assert pod["terminationGracePeriodSeconds"] >= before + seconds, name


def test_log_lines_are_json_with_the_services_name_and_no_password(cluster: Cluster) -> None:
    passwords = {value for one in cluster.secrets.values() for key, value in one.items() if key != "username"}
    for name in cluster.ports:
        path = cluster.folder / f"{name}.log"
        until(lambda path=path: path.read_text().startswith("{") or "\n{" in path.read_text(), f"a line of {name}")
        text = path.read_text()
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        assert {line["service"] for line in lines} == {name}
        assert not any(password in text for password in passwords)
        assert re.search(r"nats_error|Traceback", text) is None, text[-2000:]
