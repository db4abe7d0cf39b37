"""The engines' manifests are what their deployment values say."""

import os
import subprocess

import pytest
import yaml
from playmolt_cli.overlay.manifests import METRICS, SCALING, TLS, base, manifest
from playmolt_cli.overlay.overlay import TARGETS, Target, overlay
from playmolt_core.game.engine_module import EngineModule, engines
from playmolt_schemas.manifest import Reference

from tests.deploy.manifests import K8S, Json, kubectl, name_of, named, render
from tests.deploy.test_schemas import NEWEST, OLDEST, fault

ENGINES = engines()


@pytest.mark.parametrize("service", ENGINES)
def test_an_engines_folder_is_what_its_manifest_generates(service: str) -> None:
    folder = K8S / "base" / service
    assert {path.name: path.read_text() for path in folder.iterdir()} == base(ENGINES[service])


@pytest.mark.parametrize("service", ENGINES)
def test_an_engines_scaling_is_what_its_manifest_generates(service: str) -> None:
    assert (K8S / "overlays/prod/scaling" / f"{service}.yaml").read_text() == manifest(SCALING, ENGINES[service])


@pytest.mark.parametrize("service", ENGINES)
def test_the_way_to_an_engines_metrics_is_what_its_manifest_generates(service: str) -> None:
    policies = (K8S / "monitoring/networkpolicies.yaml").read_text().split("---\n")
    assert manifest(METRICS, ENGINES[service]).rstrip() in {policy.rstrip() for policy in policies}


def test_an_engines_way_to_the_servers_is_that_of_the_platforms_own() -> None:
    component = K8S / "components/tls"
    clients = [(component / f"{server}-client.yaml").read_text() for server in ("nats", "postgres")]
    assert manifest(TLS, next(iter(ENGINES.values()))) == "".join(clients)


CHESS = EngineModule(service="chess-engine", module="chess", deciders={"chess": Reference("chess.rules:Chess")})


@pytest.fixture(scope="module", params=TARGETS)
def target(request: pytest.FixtureRequest) -> Target:
    chosen: Target = request.param
    return chosen


@pytest.fixture(scope="module")
def rendered(target: Target, tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    folder = tmp_path_factory.mktemp(target)
    for name, content in overlay(CHESS, target, os.path.relpath(K8S / "overlays" / target, folder)).items():
        (folder / name).write_text(content)
    done = subprocess.run([kubectl(), "kustomize", folder], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return list(yaml.load_all(done.stdout, Loader=yaml.CSafeLoader))


def test_an_overlay_adds_an_engine_and_takes_nothing_away(rendered: list[Json], target: Target) -> None:
    found = {name_of(one) for one in rendered}
    before = {name_of(one) for one in render(target)}
    # What the content of a ConfigMap names is another one by its content.
    gone = {name.rpartition("-")[0] for name in before - found}
    assert gone <= {"ConfigMap/nats", "ConfigMap/postgres-first-start"}
    added = {name for name in found - before if not name.startswith("ConfigMap/")}
    assert {"Deployment/chess-engine", "NetworkPolicy/chess-engine", "PodDisruptionBudget/chess-engine"} <= added
    assert all("chess-engine" in name for name in added)


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_every_object_of_an_overlay_is_as_its_schema_says(rendered: list[Json], version: str) -> None:
    found = {name_of(one): fault(one, version) for one in rendered}
    assert {name: what for name, what in found.items() if what} == {}


def on_tls(deployment: Json) -> tuple[list[Json], list[Json], list[Json]]:
    """What a pod has of authorities: variables, mounts, volumes."""
    pod = deployment["spec"]["template"]["spec"]
    (one,) = pod["containers"]
    found = [
        [each for each in part if "-ca" in str(each)] for part in (one["env"], one["volumeMounts"], pod["volumes"])
    ]
    variables, mounts, volumes = found
    assert (len(variables), len(mounts), len(volumes)) == (2, 2, 2)
    return variables, mounts, volumes


def test_the_servers_let_an_added_engine_in(rendered: list[Json], target: Target) -> None:
    for server in ("nats", "postgres", "otel-collector"):
        sources = named(rendered, "NetworkPolicy", server)["spec"]["ingress"][0]["from"]
        assert {"podSelector": {"matchLabels": {"playmolt/component": "chess-engine"}}} in sources
    server = named(rendered, "StatefulSet", "nats")["spec"]["template"]["spec"]["containers"][0]
    assert "CHESS_ENGINE_PASSWORD" in {entry["name"] for entry in server["env"]}
    if target == "prod":
        assert on_tls(named(rendered, "Deployment", "chess-engine")) == on_tls(
            named(rendered, "Deployment", "ox-engine")
        )
        roles = named(rendered, "Cluster", "postgres")["spec"]["managed"]["roles"]
        added = {role["name"]: role for role in roles}
        assert added["chess-engine"]["inRoles"] == ["playmolt_engine", "playmolt_game_chess"]
        assert added["playmolt_game_chess"]["login"] is False
    else:
        (scripts,) = [one["data"] for one in rendered if one["metadata"]["name"].startswith("postgres-first-start-")]
        assert 'CREATE ROLE "chess-engine"' in scripts["40-chess-engine.sh"]
        assert 'IN ROLE "playmolt_engine", "playmolt_game_chess"' in scripts["40-chess-engine.sh"]
        assert "30-logins.sh" in scripts
