"""What a scanner of policies would look at, over every overlay and component that makes pods: the restricted Pod
Security Standard whole, and what the hardening guide of NSA and CISA asks of manifests besides."""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy

import pytest

from tests.deploy.manifests import ALL, K8S, Json, containers, name_of, of_kind, render, templates, with_component
from tests.deploy.pod_security import RESTRICTED, refused

COMPONENTS = ("anchor-bucket", "cilium", "edge-cidr")
"""Those that an overlay may take besides what prod has."""
PUBLISHED = {"dev": set(), "prod": {"edge"}, "recovery": {"edge"}, "example": {"edge"}}
WORDS = re.compile(r"password|passwd|secret|token|api[-_]?key|private[-_]?key", re.IGNORECASE)


def pods(objects: list[Json]) -> Iterator[tuple[str, Json]]:
    found = list(templates(objects))
    assert len(found) >= 15
    yield from found


@pytest.mark.parametrize("overlay", ALL)
def test_admission_takes_every_pod(overlay: str) -> None:
    assert {name: refused(pod) for name, pod in pods(render(overlay)) if refused(pod)} == {}


@pytest.mark.parametrize("component", COMPONENTS)
def test_admission_takes_every_pod_with_a_component(component: str) -> None:
    assert {name: refused(pod) for name, pod in pods(with_component(component)) if refused(pod)} == {}


def test_every_component_is_tried() -> None:
    taken = json.dumps([(K8S / "overlays" / name / "kustomization.yaml").read_text("utf-8") for name in ALL])
    there = {path.name for path in (K8S / "components").iterdir()}
    assert there == {*COMPONENTS, *(name for name in there if f"components/{name}" in taken)}


Change = Callable[[Json], object]


def _of_pod(**told: object) -> Change:
    return lambda pod: pod["spec"].update(told)


def _of_context(**told: object) -> Change:
    return lambda pod: pod["spec"]["containers"][0]["securityContext"].update(told)


def _of_container(**told: object) -> Change:
    return lambda pod: pod["spec"]["containers"][0].update(told)


BREAKING: dict[str, tuple[Change, ...]] = {
    "HostProcess": (_of_context(windowsOptions={"hostProcess": True}),),
    "Host Namespaces": tuple(_of_pod(**{name: True}) for name in ("hostNetwork", "hostPID", "hostIPC")),
    "Privileged Containers": (_of_context(privileged=True),),
    "Host Ports": (_of_container(ports=[{"containerPort": 1, "hostPort": 1}]),),
    "Host Probes / Lifecycle Hooks": (
        _of_container(livenessProbe={"httpGet": {"path": "/", "port": 1, "host": "10.0.0.1"}}),
        _of_container(lifecycle={"preStop": {"tcpSocket": {"port": 1, "host": "10.0.0.1"}}}),
    ),
    "AppArmor": (
        _of_context(appArmorProfile={"type": "Unconfined"}),
        lambda pod: pod["metadata"].update(
            annotations={"container.apparmor.security.beta.kubernetes.io/gateway": "unconfined"}
        ),
    ),
    "SELinux": (_of_context(seLinuxOptions={"type": "spc_t"}), _of_context(seLinuxOptions={"user": "root"})),
    "/proc Mount Type": (_of_context(procMount="Unmasked"),),
    "Sysctls": (_of_pod(securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),),
    "Volume Types": (_of_pod(volumes=[{"name": "x", "hostPath": {"path": "/"}}]),),
    "Privilege Escalation": (_of_context(allowPrivilegeEscalation=True), _of_container(securityContext={})),
    "Running as Non-root": (_of_context(runAsNonRoot=False), _of_pod(securityContext={})),
    "Running as Non-root user": (_of_context(runAsUser=0),),
    "Seccomp": (_of_context(seccompProfile={"type": "Unconfined"}), _of_pod(securityContext={})),
    "Capabilities": (
        _of_context(capabilities={"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
        _of_context(capabilities={"drop": ["NET_RAW"]}),
        _of_pod(ephemeralContainers=[{"name": "shell", "image": "x"}]),
    ),
}


def test_every_control_is_broken_once() -> None:
    assert BREAKING.keys() == RESTRICTED.keys()


@pytest.mark.parametrize(
    ("control", "change"), [(control, change) for control, changes in BREAKING.items() for change in changes]
)
def test_a_pod_that_breaks_a_control_is_refused(control: str, change: Change) -> None:
    pod = deepcopy(next(pod for name, pod in templates(render("dev")) if name == "Deployment/gateway"))
    assert refused(pod) == set()
    change(pod)
    assert control in refused(pod)


@pytest.mark.parametrize("overlay", ALL)
def test_nobody_may_ask_the_api_server_anything(overlay: str) -> None:
    """No roles of ours, no bindings, and no pod that carries a token: who gets into a pod is nobody in the cluster."""
    objects = render(overlay)
    kinds = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ServiceAccount")
    assert of_kind(objects, *kinds) == []
    assert {
        name for name, pod in pods(objects) if pod["spec"].get("automountServiceAccountToken") is not False
    } == set()
    tokens = [json.dumps(pod) for _, pod in pods(objects) if "serviceAccountToken" in json.dumps(pod)]
    assert tokens == []


@pytest.mark.parametrize("overlay", ALL)
def test_nothing_is_published_but_by_the_edge(overlay: str) -> None:
    objects = render(overlay)
    for one in of_kind(objects, "Service"):
        assert one["spec"].get("type", "ClusterIP") == "ClusterIP", name_of(one)
        assert not one["spec"].keys() & {"externalIPs", "loadBalancerIP"}, name_of(one)
    assert of_kind(objects, "Ingress") == []
    assert {one["metadata"]["name"] for one in of_kind(objects, "Gateway")} == PUBLISHED[overlay]


@pytest.mark.parametrize("overlay", ALL)
def test_who_comes_in_from_outside_comes_over_tls(overlay: str) -> None:
    objects = render(overlay)
    listeners = [each for one in of_kind(objects, "Gateway") for each in one["spec"]["listeners"]]
    sealed = {each["name"] for each in listeners if each["protocol"] == "HTTPS" and each["tls"]["mode"] == "Terminate"}
    assert bool(sealed) is bool(PUBLISHED[overlay])
    for route in of_kind(objects, "HTTPRoute"):
        if {parent["sectionName"] for parent in route["spec"]["parentRefs"]} <= sealed:
            continue
        for rule in route["spec"]["rules"]:
            (only,) = rule["filters"]
            assert (only["requestRedirect"]["scheme"], rule.get("backendRefs")) == ("https", None)


@pytest.mark.parametrize("overlay", ALL)
def test_every_pod_is_closed_both_ways_until_a_policy_opens_it(overlay: str) -> None:
    closed = [one["spec"] for one in of_kind(render(overlay), "NetworkPolicy") if one["spec"]["podSelector"] == {}]
    whole = [spec for spec in closed if not spec.get("ingress") and not spec.get("egress")]
    assert {kind for spec in whole for kind in spec["policyTypes"]} == {"Ingress", "Egress"}


NO_SECRETS = ("_DAY_TOKENS", "_PASSWORD_FILE")
"""A number, and the path of a mounted Secret."""


@pytest.mark.parametrize("overlay", ALL)
def test_no_value_that_sounds_like_a_secret_is_written_out(overlay: str) -> None:
    objects = render(overlay)
    told = [(name_of(one), name) for one in of_kind(objects, "ConfigMap") for name in one.get("data", {})]
    for name, pod in pods(objects):
        told += [(name, each["name"]) for one in containers(pod) for each in one.get("env", []) if "value" in each]
    assert {(where, name) for where, name in told if WORDS.search(name) and not name.endswith(NO_SECRETS)} == set()


@pytest.mark.parametrize("overlay", ALL)
def test_nothing_lies_where_the_cluster_or_strangers_live(overlay: str) -> None:
    spaces = {one["metadata"].get("namespace") for one in render(overlay) if one["kind"] != "Namespace"}
    (only,) = spaces
    assert only not in {"default", "kube-system", "kube-public", None}
