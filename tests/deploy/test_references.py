"""What an object names is there: selectors, targets, ports, ConfigMaps, Secrets, steps of a roll."""

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import pytest
from playmolt_cli.local.embedded.nats import USERS
from playmolt_core.db.logins import LOGINS, roles_of
from playmolt_schemas.routes.platform import ROUTES

from deploy.k8s import credentials
from tests.deploy.manifests import (
    ALL,
    COMPONENT,
    K8S,
    OVERLAYS,
    STEP,
    Json,
    containers,
    name_of,
    named,
    of_kind,
    render,
    services,
    template_of,
    templates,
)

each_overlay = pytest.mark.parametrize("overlay", OVERLAYS)
FROM_ELSEWHERE = {
    "playmolt-tls", "nats-tls", "nats-ca", "postgres-ca", "postgres-backups", "otel-backend", "model-keys",
    "trial-engine-chain", "archive", "sign-in",
}  # fmt: skip
"""Secrets that the operator or an operator's program brings: certificates, access to others' systems."""


def chosen(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


def pods(objects: list[Json]) -> dict[str, Json]:
    return dict(templates(objects))


def ports(template: Json) -> dict[str, int]:
    return {port["name"]: port["containerPort"] for one in containers(template) for port in one.get("ports", [])}


@each_overlay
def test_a_workload_selects_its_own_pods_and_no_others(overlay: str) -> None:
    objects = render(overlay)
    for one in of_kind(objects, "Deployment", "StatefulSet"):
        selector = one["spec"]["selector"]["matchLabels"]
        found = [name for name, pod in pods(objects).items() if chosen(selector, pod["metadata"]["labels"])]
        assert found == [name_of(one)]


@each_overlay
def test_a_service_leads_to_one_workload_and_ports_that_it_has(overlay: str) -> None:
    objects = render(overlay)
    found = of_kind(objects, "Service")
    assert {one["metadata"]["name"] for one in found} >= {"gateway", "spectator", "nats-headless", "otel-collector"}
    for one in found:
        (target,) = [
            pod for pod in pods(objects).values() if chosen(one["spec"]["selector"], pod["metadata"]["labels"])
        ]
        for port in one["spec"]["ports"]:
            assert ports(target)[port["targetPort"]] == port["port"], name_of(one)


@pytest.mark.parametrize("overlay", ALL)
def test_every_service_rolls_and_both_families_reach_it(overlay: str) -> None:
    objects = render(overlay)
    strategies = {name_of(one): one["spec"]["strategy"]["type"] for one in of_kind(objects, "Deployment")}
    assert {name: kind for name, kind in strategies.items() if kind != "RollingUpdate"} == {}
    assert {one["spec"].get("ipFamilyPolicy") for one in of_kind(objects, "Service")} == {"PreferDualStack"}


def test_the_chain_of_development_is_a_workload_of_its_own() -> None:
    objects = render("dev")
    chain, engine = named(objects, "StatefulSet", "chain"), named(objects, "Deployment", "trial-engine")
    assert chain["spec"]["replicas"] == 1
    assert len(containers(engine["spec"]["template"])) == 1
    assert not [one for one in engine["spec"]["template"]["spec"]["volumes"] if "persistentVolumeClaim" in one]
    told = credentials.embedded_chain()["rpc-url"]
    (port,) = named(objects, "Service", "chain")["spec"]["ports"]
    assert told == f"http://chain:{port['port']}"


OF_ONE_POD = ("StatefulSet/postgres", "StatefulSet/chain", "Deployment/house", "Deployment/agora-lab")


@each_overlay
def test_every_workload_with_replicas_has_a_budget_of_its_own(overlay: str) -> None:
    objects = render(overlay)
    found = [one["spec"] for one in of_kind(objects, "PodDisruptionBudget")]
    assert {one.get("maxUnavailable") for one in found} == {1}, "each lets one pod go"
    budgets = [one["selector"]["matchLabels"] for one in found]
    for one in of_kind(objects, "Deployment", "StatefulSet"):
        if name_of(one) in OF_ONE_POD:
            continue  # a budget could only forbid to drain its node
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert len([selector for selector in budgets if chosen(selector, labels)]) == 1, name_of(one)


@each_overlay
def test_a_workload_spreads_its_own_pods(overlay: str) -> None:
    objects = render(overlay)
    for one in of_kind(objects, "Deployment", "StatefulSet"):
        template = one["spec"]["template"]
        constraints = template["spec"].get("topologySpreadConstraints", [])
        assert constraints or name_of(one) in OF_ONE_POD
        for constraint in constraints:
            assert chosen(constraint["labelSelector"]["matchLabels"], template["metadata"]["labels"])


def test_in_production_no_two_nats_servers_share_a_node() -> None:
    spread = named(render("prod"), "StatefulSet", "nats")["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert {one["topologyKey"]: one["whenUnsatisfiable"] for one in spread}["kubernetes.io/hostname"] == "DoNotSchedule"


@each_overlay
def test_what_is_mounted_is_there(overlay: str) -> None:
    objects = render(overlay)
    maps = {one["metadata"]["name"]: one["data"] for one in of_kind(objects, "ConfigMap")}
    claims = {one["metadata"]["name"] for one in of_kind(objects, "PersistentVolumeClaim")}
    for name, template in templates(objects):
        volumes = {one["name"]: one for one in template["spec"].get("volumes", [])}
        for volume in volumes.values():
            for source in (volume, *volume.get("projected", {}).get("sources", [])):
                if "configMap" in source:
                    assert source["configMap"]["name"] in maps, name
                    for item in source["configMap"].get("items", []):
                        assert item["key"] in maps[source["configMap"]["name"]], name
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims
        owned = claims_of(objects, name)
        for one in containers(template):
            assert {mount["name"] for mount in one.get("volumeMounts", [])} <= {*volumes, *owned}, name
            for source in one.get("envFrom", []):
                if "configMapRef" in source:
                    assert source["configMapRef"]["name"] in maps, name


def claims_of(objects: list[Json], name: str) -> set[str]:
    (one,) = [one for one in objects if name_of(one) == name and template_of(one)]
    return {claim["metadata"]["name"] for claim in one["spec"].get("volumeClaimTemplates", [])}


def secret_keys(value: object) -> Iterator[tuple[str, str]]:
    """(Secret, key) wherever one is named, "" for a whole one."""
    if isinstance(value, list):
        for part in value:
            yield from secret_keys(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key in ("secretKeyRef", "accessKeyId", "secretAccessKey", "region"):
                yield part["name"], part["key"]
            elif key in ("secretRef", "secret", "passwordSecret"):
                yield part.get("name") or part["secretName"], ""  # of a variable or of a volume
            elif key == "certificateRefs":
                yield from ((one["name"], "") for one in part)
            else:
                yield from secret_keys(part)


@each_overlay
def test_every_secret_that_is_named_is_made_or_told_of(overlay: str) -> None:
    made = credentials.values()
    named_here = set(secret_keys(render(overlay)))
    assert {f"{user}-credentials" for user in USERS} <= {name for name, _ in named_here}
    for name, key in named_here:
        assert name in FROM_ELSEWHERE or key in {"", *made[name]}, (name, key)


def test_every_secret_that_is_made_is_used() -> None:
    used = {name for overlay in OVERLAYS for name, _ in secret_keys(render(overlay))}
    assert set(credentials.values()) == used - FROM_ELSEWHERE


def test_secrets_of_the_operator_are_told_of() -> None:
    page = (K8S.parents[1] / "docs" / "operating.md").read_text()
    assert {name for name in FROM_ELSEWHERE if f"`{name}`" not in page} == set()


def test_a_password_is_drawn_anew_and_can_stand_in_a_url_and_in_a_configuration() -> None:
    drawn = {credentials.password() for _ in range(50)}
    assert len(drawn) == 50
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9]{39}", one) for one in drawn)


@each_overlay
def test_no_object_holds_a_secret(overlay: str) -> None:
    objects = render(overlay)
    assert of_kind(objects, "Secret") == []
    for name, template in templates(objects):
        for one in containers(template):
            for entry in one.get("env", []):
                names_a_file = entry.get("value", "").startswith("/")
                if re.search(r"PASSWORD|KEY|TOKEN|SECRET", entry["name"]) and not names_a_file:
                    assert "secretKeyRef" in entry.get("valueFrom", {}), (name, entry["name"])
    text = json.dumps(objects)
    assert re.findall(r"://[^/\s:\"]+:(?!\$\()[^@\s\"]+@", text) == []
    assert re.findall(r"-----BEGIN|\bop_[A-Za-z0-9]{20}", text) == []


@each_overlay
def test_a_roll_has_four_steps_and_every_object_belongs_to_one(overlay: str) -> None:
    objects = render(overlay)
    steps = {name_of(one): one["metadata"]["labels"].get(STEP) for one in objects}
    assert {name: step for name, step in steps.items() if step not in ("servers", "pre", "services", "post")} == {}
    assert steps["Job/migrate-pre"] == "pre"
    assert steps["Job/migrate-post"] == "post"
    assert {steps[name_of(one)] for one in of_kind(objects, "NetworkPolicy", "Namespace", "StatefulSet")} == {"servers"}


@each_overlay
def test_what_a_step_needs_is_not_in_a_later_one(overlay: str) -> None:
    objects = render(overlay)
    order = ["servers", "pre", "services", "post"]
    step_of = {one["metadata"]["name"]: one["metadata"]["labels"][STEP] for one in of_kind(objects, "ConfigMap")}
    for one in objects:
        needed = [name for name in step_of if f'"name": "{name}"' in json.dumps(one.get("spec", {}))]
        for name in needed:
            assert order.index(step_of[name]) <= order.index(one["metadata"]["labels"][STEP]), (name_of(one), name)


def test_who_is_scaled_has_no_number_of_replicas_and_everybody_else_has() -> None:
    objects = render("prod")
    scaled = {one["spec"]["scaleTargetRef"]["name"] for one in of_kind(objects, "ScaledObject")}
    assert scaled == {one["metadata"]["name"] for one in services(objects)} - {"relay"}
    for one in of_kind(objects, "Deployment"):
        assert ("replicas" in one["spec"]) is (one["metadata"]["name"] not in scaled)


@each_overlay
def test_every_object_is_in_the_namespace_and_bears_the_platforms_label(overlay: str) -> None:
    for one in render(overlay):
        assert one["metadata"]["labels"]["app.kubernetes.io/part-of"] == "playmolt", name_of(one)
        if one["kind"] != "Namespace":
            assert one["metadata"]["namespace"] == "playmolt", name_of(one)


def test_the_databases_logins_are_the_same_in_both_overlays() -> None:
    cluster = named(render("prod"), "Cluster", "postgres")["spec"]
    managed = {
        role["name"]: [group for group in role["inRoles"] if group.startswith("playmolt_")]
        for role in cluster["managed"]["roles"]
    }
    script = (K8S / "overlays" / "dev" / "postgres" / "30-logins.sh").read_text()
    written = re.findall(r'^login (\S+) "?([\w, ]+?)"? "', script, re.MULTILINE)
    assert managed == {name: groups.split(", ") for name, groups in written}
    assert managed == {name: list(roles_of(name)) for name in LOGINS}
    superuser = (K8S / "base" / "postgres" / "roles.sql").read_text()
    made = set(re.findall(r"^CREATE ROLE (\w+) NOLOGIN;", superuser, re.MULTILINE))
    assert {role for groups in managed.values() for role in groups} | {"playmolt_owner"} == made
    assert cluster["bootstrap"]["initdb"]["owner"] == "migrations"
    assert {*managed, "migrations"} == set(credentials.LOGINS)


@each_overlay
def test_components_are_the_folders_of_the_base(overlay: str) -> None:
    found = {template["metadata"]["labels"][COMPONENT] for _, template in templates(render(overlay))} | {"postgres"}
    of_overlay = {"archive", "retention", "seal"} if overlay == "prod" else {"chain"}
    assert found - of_overlay == {path.name for path in (K8S / "base").iterdir() if path.is_dir()} - {"namespace"}
    policies = {
        one["spec"]["podSelector"].get("matchLabels", {}).get(COMPONENT)
        for one in of_kind(render(overlay), "NetworkPolicy")
    }
    assert found <= policies


PRIVATE = re.compile(r"/(metrics|healthz|readyz|operator|api/(admin|house)(/.*)?)")


def leads(route: Json, path: str) -> str | None:
    """The service that the edge leads a path to, as the Gateway API matches: by whole parts of it, as it was sent."""
    found = {
        rule["backendRefs"][0]["name"]
        for rule in route["rules"]
        for match in rule["matches"]
        if path == match["path"]["value"]
        or (match["path"]["type"] == "PathPrefix" and path.startswith(match["path"]["value"] + "/"))
    }
    assert len(found) < 2, path
    return found.pop() if found else None


def test_the_edge_publishes_what_is_public_and_nothing_else() -> None:
    route = named(render("prod"), "HTTPRoute", "playmolt")["spec"]
    assert leads(route, "/ws/lobby") == leads(route, "/sse/games/ox-1") == "spectator"
    for path in (re.sub(r"\{\w+\}", "x", one.path) for one in ROUTES):
        assert leads(route, path) == (None if PRIVATE.fullmatch(path) else "gateway"), path
    for path in (
        "/metrics", "/%6detrics", "/metrics/", "//metrics", "/healthz", "/readyz", "/readyz?self", "/api/admin/games",
        "/api/%61dmin/games", "/api//admin/games", "/api", "/apiary", "/gamester", "/wsx",
    ):  # fmt: skip
        assert leads(route, path) is None, path
    assert all(len(rule["matches"]) <= 8 for rule in route["rules"])


def test_the_edge_ends_no_feed() -> None:
    route = named(render("prod"), "HTTPRoute", "playmolt")["spec"]
    for rule in route["rules"]:
        (backend,) = rule["backendRefs"]
        (port,) = named(render("prod"), "Service", backend["name"])["spec"]["ports"]
        assert backend["port"] == port["port"]
        # "0s" is no limit; left out, a controller may take its own of 15 s.
        assert rule["timeouts"] == {"request": "0s", "backendRequest": "0s"}
    assert not [one.path for one in ROUTES if one.path.startswith(("/ws", "/sse"))], "a route that the edge would hide"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_password_of_postgres_is_the_file_of_its_logins_secret(overlay: str) -> None:
    """A mounted Secret follows a change without a restart; a variable does not."""
    found = set()
    for name, pod in templates(render(overlay)):
        for one in pod["spec"]["containers"]:
            variables = {entry["name"]: entry.get("value", "") for entry in one.get("env", [])}
            if "DATABASE_URL" not in variables:
                continue
            url = urlsplit(variables["DATABASE_URL"])
            assert url.username, name
            assert url.password is None, name
            file = PurePosixPath(variables["DATABASE_PASSWORD_FILE"])
            (mount,) = (each for each in one["volumeMounts"] if each["mountPath"] == str(file.parent))
            assert "subPath" not in mount, "a mount of one file never changes"
            (volume,) = (each for each in pod["spec"]["volumes"] if each["name"] == mount["name"])
            assert volume["secret"]["secretName"] == f"{url.username}-credentials", name
            assert {"key": "password", "path": file.name} in volume["secret"]["items"], name
            found.add(url.username)
    assert found >= {
        "gateway",
        "relay",
        "ox-engine",
        "trial-engine",
        "legal-orchestrator",
        "agora-runner",
        "tournament-engine",
        "migrations",
    }
