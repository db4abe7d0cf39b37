"""What the manifests tell a service is what `playmolt up` tells it, and every variable is one that something reads."""

import json
import re
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from playmolt_cli.local.embedded import binaries
from playmolt_cli.local.embedded.nats import USERS, users
from playmolt_cli.local.services import _MODULES, service_settings
from playmolt_cli.settings import CliSettings
from playmolt_core.ops.process import ANY
from playmolt_core.settings import (
    TRACE_CONTENT,
    TRACE_ENDPOINTS,
    TRACE_SHARE,
    Settings,
    all_settings,
    from_environment,
    variables,
)

from deploy.k8s import credentials, nats_users
from tests.deploy.cluster import run
from tests.deploy.manifests import (
    HOUSE,
    K8S,
    OVERLAYS,
    ROOT,
    Json,
    environment,
    named,
    of_kind,
    render,
    services,
    settings,
)

SECRETS = credentials.values() | {
    "trial-engine-chain": {"rpc-url": "http://127.0.0.1:8545", "deployer-key": "0x" + 64 * "1", "jury-secret": "s"}
}
RETENTION = (ROOT / "docs" / "retention.md").read_text("utf-8")
READ_BY_OTHERS = {"PGSSLMODE", "PGSSLROOTCERT", TRACE_SHARE, TRACE_CONTENT, *TRACE_ENDPOINTS}
"""What a library reads."""


def told(objects: list[Json], one: Json) -> dict[str, str]:
    (container,) = one["spec"]["template"]["spec"]["containers"]
    return environment(objects, container, SECRETS)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_variable_is_a_setting_and_makes_sense(overlay: str) -> None:
    known = {variable for variable, _, _ in variables().values()}
    objects = render(overlay)
    for one in services(objects):
        found = told(objects, one)
        assert found.keys() - known <= READ_BY_OTHERS, one["metadata"]["name"]
        assert from_environment(found, kind=all_settings()).host == ANY


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_house_has_the_key_that_the_gateway_knows_and_no_other_secret(overlay: str) -> None:
    objects = render(overlay)
    house = from_environment(told(objects, named(objects, "Deployment", HOUSE)))
    gateway = from_environment(told(objects, named(objects, "Deployment", "gateway")))
    assert house.house_key == gateway.house_key == SECRETS["house-credentials"]["house-key"]
    assert {house.operator_key, house.database_url, house.nats_url, house.nats_password} == {""}
    assert house.data != Settings().data


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_service_is_started_and_told_as_up_does(overlay: str) -> None:
    objects = render(overlay)
    found = services(objects)
    assert {one["metadata"]["name"] for one in found} == set(_MODULES)
    passwords = {user: SECRETS[f"{user}-credentials"]["nats-password"] for user in USERS}
    secret = CliSettings(
        database_url="x", operator_key=SECRETS["gateway-credentials"]["operator-key"],
        evm_deployer_key="0x" + 64 * "1", jury_secret="s",
    )  # fmt: skip
    for one in found:
        name = one["metadata"]["name"]
        mine = from_environment(told(objects, one), kind=all_settings())
        expected = service_settings(name, secret, passwords)
        for field in ("nats_user", "nats_password", "database_role", "operator_key", "evm_deployer_key", "jury_secret"):
            assert getattr(mine, field) == getattr(expected, field), (name, field)
        assert bool(mine.database_url) is bool(expected.database_url), name
        (container,) = one["spec"]["template"]["spec"]["containers"]
        assert container["command"] == ["python", "-m", _MODULES[name]]


def test_ports_are_those_that_the_service_listens_on() -> None:
    objects = render("prod")
    for one in services(objects):
        name, mine = one["metadata"]["name"], from_environment(told(objects, one))
        (container,) = one["spec"]["template"]["spec"]["containers"]
        listens = {"gateway": mine.port, "spectator": mine.spectator_port}.get(name, mine.health_port)
        assert [port["containerPort"] for port in container["ports"]] == [listens], name


def test_pages_find_the_spectator_where_the_edge_leads() -> None:
    expected = {"dev": Settings().spectator_port, "prod": 0}  # 0: the page's own origin
    for overlay, port in expected.items():
        objects = render(overlay)
        assert from_environment(told(objects, named(objects, "Deployment", "gateway"))).spectator_port == port


def test_nats_users_have_the_permissions_that_up_gives_them() -> None:
    for shards, folder in nats_users.FOLDERS.items():
        for name, page in nats_users.pages(shards).items():
            assert (folder / name).read_text() == page, "run deploy/k8s/nats_users.py"
        text = re.sub(r"\$(\w+_PASSWORD)", r'"\1"', nats_users.pages(shards)["users.conf"].split("users:", 1)[1])
        assert json.loads(text) == users(nats_users.variable, shards)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_nats_lets_the_relay_at_the_streams_of_as_many_shards_as_the_log_is_made_with(overlay: str) -> None:
    objects = render(overlay)
    (conf,) = [
        one["data"]["users.conf"] for one in of_kind(objects, "ConfigMap") if "users.conf" in one.get("data", {})
    ]
    shards = from_environment(told(objects, named(objects, "Deployment", "relay"))).log_shards or 1
    assert conf == nats_users.pages(shards)["users.conf"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_nats_servers_know_the_password_of_every_user(overlay: str) -> None:
    container = named(render(overlay), "StatefulSet", "nats")["spec"]["template"]["spec"]["containers"][0]
    references = {entry["name"]: entry["valueFrom"] for entry in container["env"] if "valueFrom" in entry}
    for user in USERS:
        expected = {"name": f"{user}-credentials", "key": "nats-password"}
        assert references[nats_users.variable(user)] == {"secretKeyRef": expected}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_both_streams_fit_into_the_memory_of_a_nats_server(overlay: str) -> None:
    objects = render(overlay)
    (conf,) = [one["data"]["nats.conf"] for one in of_kind(objects, "ConfigMap") if "nats.conf" in one.get("data", {})]
    relay = from_environment(told(objects, named(objects, "Deployment", "relay")))
    assert relay.stream_storage == "memory"
    assert 2 * relay.stream_bytes < _memory_of(conf)
    embedded = (Path(binaries.__file__).parent / "nats.conf").read_text()
    assert 2 * Settings().stream_bytes < _memory_of(embedded)


def _memory_of(conf: str) -> int:
    found = re.search(r"max_memory_store: (\d+)MB", conf)
    assert found
    return int(found[1]) * 1024 * 1024


def test_the_servers_are_those_that_the_tests_ran_on() -> None:
    objects = render("dev")
    nats = named(objects, "StatefulSet", "nats")["spec"]["template"]["spec"]["containers"][0]["image"]
    assert f":{run([str(binaries.nats_server()), '--version'], {}).rpartition('v')[2].strip()}-" in nats
    postgres = named(objects, "StatefulSet", "postgres")["spec"]["template"]["spec"]["containers"][0]["image"]
    major = named(render("prod"), "Cluster", "postgres")["spec"]["imageCatalogRef"]["major"]
    assert postgres.startswith(f"postgres:{major}.")
    assert binaries.postgres_version(binaries.postgres_bin()) == major


@pytest.mark.parametrize(("overlay", "scheme"), [("dev", "nats"), ("prod", "tls")])
def test_as_many_nats_addresses_as_servers_are_told(overlay: str, scheme: str) -> None:
    objects = render(overlay)
    servers = named(objects, "StatefulSet", "nats")
    name, service = servers["metadata"]["name"], servers["spec"]["serviceName"]
    expected = [f"{scheme}://{name}-{number}.{service}:4222" for number in range(servers["spec"]["replicas"])]
    (settings,) = [one["data"] for one in of_kind(objects, "ConfigMap") if "NATS_URL" in one.get("data", {})]
    assert settings["NATS_URL"].split(",") == expected
    assert len(expected) == 3


def test_the_models_file_can_be_read() -> None:
    from playmolt_core.llm.catalogue import load

    assert load(str(K8S / "base" / "models.toml")).models == {}


def test_a_variable_that_nothing_reads_is_recognised() -> None:
    with pytest.raises(ValueError, match="PLAYMOLT_GATEWAY_PORT: no such setting"):
        from_environment({"PLAYMOLT_GATEWAY_PORT": "tcp://10.0.0.1:80"})
    assert msgspec.to_builtins(from_environment({})) == msgspec.to_builtins(Settings())
    assert Path(K8S / "roll.sh").stat().st_mode & 0o111


@pytest.mark.parametrize("overlay", ["prod", "recovery", "example"])
def test_production_is_bounded_unless_its_operator_says_otherwise(overlay: str) -> None:
    data = settings(render(overlay))
    told_of = from_environment(dict(data), kind=all_settings())
    assert {"PLAYMOLT_RATE_LIMIT", "PLAYMOLT_ACTION_RATE_LIMIT", "PLAYMOLT_TRUSTED_PROXIES"} <= data.keys()
    assert re.fullmatch(r"[1-9]\d*/[1-9]\d*", data["PLAYMOLT_REGISTRATION_LIMIT"])
    assert float(data.get("PLAYMOLT_PHASE_DEADLINE_SECONDS", "1")) > 0
    assert min(told_of.key_day_sessions, told_of.key_day_tokens, told_of.day_tokens) > 0
    assert min(Decimal(told_of.key_day_money), Decimal(told_of.day_money)) > 0


@pytest.mark.parametrize("overlay", ["prod", "recovery", "example"])
def test_what_production_does_every_day(overlay: str) -> None:
    jobs = {one["metadata"]["name"]: one["spec"] for one in of_kind(render(overlay), "CronJob")}
    daily = {
        name: spec["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["command"]
        for name, spec in jobs.items()
        if re.fullmatch(r"\d+ \d+ \* \* \*", spec["schedule"])
    }
    assert daily == {
        "archive": ["playmolt", "log", "archive"],
        "retention": ["playmolt", "erase", "--due"],
        "seal": ["playmolt", "seal", "rewrap"],
    }
    assert {spec["concurrencyPolicy"] for spec in jobs.values()} == {"Forbid"}


@pytest.mark.parametrize("overlay", ["prod", "recovery", "example"])
def test_what_is_kept_in_production_is_what_the_page_for_operators_says(overlay: str) -> None:
    objects = render(overlay)
    told_of = from_environment(dict(settings(objects)), kind=all_settings())
    page = dict(re.findall(r"^\| .* \| `(\w+)`[^|]* \| \d+ \| (\d+) \|", RETENTION, re.MULTILINE))
    assert {int(days) for days in page.values()} == {0, 30, 90, 365}
    for name, days in page.items():
        assert getattr(told_of, name.removeprefix("PLAYMOLT_").lower()) == int(days), name
    (store,) = of_kind(objects, "ObjectStore")
    assert store["spec"]["retentionPolicy"] == "30d"
