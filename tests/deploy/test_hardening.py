"""What every pod promises its cluster beyond what admission asks (test_policies.py): no rights it does not need, bounds
on what it takes, images that stay the same.

A rule's exceptions stand in policy_baseline.json, each with its reason ("*": every pod); one that is not needed fails.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.deploy.manifests import ALL, OVERLAYS, ROOT, Json, containers, of_kind, render, templates

BASELINE: Mapping[str, Mapping[str, str]] = json.loads(Path(__file__).with_name("policy_baseline.json").read_text())
VERSION = re.compile(r"playmolt:unreleased|[^:@\s]+(:v?\d+\.\d+(\.\d+)?(-[a-z0-9]+)?|@sha256:[0-9a-f]{64})")
"""Our own is put in by a release (test_release.py)."""

Rule = Callable[[Json], bool]


def _every_container(holds: Callable[[Json], bool]) -> Rule:
    return lambda pod: all(holds(one) for one in containers(pod))


def _context(pod: Json) -> Json:
    context: Json = pod["spec"].get("securityContext", {})
    return context


def _own(one: Json) -> Json:
    context: Json = one.get("securityContext", {})
    return context


def _bounded(one: Json) -> bool:
    given = one.get("resources", {})
    kinds = {"cpu", "memory", "ephemeral-storage"}
    return set(given.get("requests", {})) == kinds == set(given.get("limits", {}))


def _scratch_is_bounded(pod: Json) -> bool:
    return all("sizeLimit" in one["emptyDir"] for one in pod["spec"].get("volumes", []) if "emptyDir" in one)


def _probed(one: Json) -> bool:
    return {"startupProbe", "livenessProbe", "readinessProbe"} <= one.keys()


def _probes_wait_long_enough(one: Json) -> bool:
    probes = [one[name] for name in ("startupProbe", "livenessProbe", "readinessProbe") if name in one]
    return all(probe.get("timeoutSeconds", 1) >= 2 for probe in probes)


RULES: Mapping[str, Rule] = {
    "no token of the API server": lambda pod: pod["spec"].get("automountServiceAccountToken") is False,
    "no variables of other Services": lambda pod: pod["spec"].get("enableServiceLinks") is False,
    "bounded scratch space": _scratch_is_bounded,
    "read-only root": _every_container(lambda one: _own(one).get("readOnlyRootFilesystem") is True),
    "requests and limits": _every_container(_bounded),
    "pinned image": _every_container(lambda one: bool(VERSION.fullmatch(one["image"]))),
    "probes": lambda pod: (
        pod["spec"].get("restartPolicy") == "Never" or all(_probed(one) for one in pod["spec"]["containers"])
    ),
    "probes that wait": _every_container(_probes_wait_long_enough),
    "image by digest": _every_container(lambda one: "@sha256:" in one["image"]),
    "secrets as files": _every_container(lambda one: "secretKeyRef" not in json.dumps(one.get("env", []))),
    "high user id": lambda pod: _context(pod).get("runAsUser", 0) >= 10_000,
}


def broken(pod: Json) -> set[str]:
    return {name for name, holds in RULES.items() if not holds(pod)}


def test_pods_keep_every_rule_but_the_justified_ones() -> None:
    pods = {f"{overlay}/{name}": pod for overlay in ALL for name, pod in templates(render(overlay))}
    found = {rule: {name for name, pod in pods.items() if rule in broken(pod)} for rule in RULES}
    unexpected = {rule: names for rule, names in found.items() if names and not names <= excused(rule, names)}
    assert unexpected == {}
    assert len(pods) >= 25


def excused(rule: str, names: set[str]) -> set[str]:
    reasons = BASELINE.get(rule, {})
    return names if "*" in reasons else set(reasons)


def test_every_exception_has_a_reason_and_is_needed() -> None:
    pods = {f"{overlay}/{name}": pod for overlay in ALL for name, pod in templates(render(overlay))}
    for rule, reasons in BASELINE.items():
        names = {name for name, pod in pods.items() if rule in broken(pod)}
        assert all(len(reason) > 40 for reason in reasons.values())
        assert names if "*" in reasons else set(reasons) == names, rule


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("no token of the API server", {"automountServiceAccountToken": True}),
        ("no variables of other Services", {"enableServiceLinks": True}),
        ("bounded scratch space", {"volumes": [{"name": "x", "emptyDir": {}}]}),
    ],
)
def test_a_pod_that_breaks_a_rule_is_found(rule: str, change: Json) -> None:
    pod = next(pod for name, pod in templates(render("dev")) if name == "Deployment/gateway")
    assert broken(pod) <= set(BASELINE)
    pod["spec"] |= change
    assert rule in broken(pod)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("read-only root", {"securityContext": {"readOnlyRootFilesystem": False}}),
        ("requests and limits", {"resources": {"limits": {"memory": "1Gi"}}}),
        ("pinned image", {"image": "playmolt"}),
        ("pinned image", {"image": "playmolt:latest"}),
        ("pinned image", {"image": "playmolt:main"}),
        ("probes", {"readinessProbe": None}),
        ("probes that wait", {"livenessProbe": {"timeoutSeconds": 1}}),
    ],
)
def test_a_container_that_breaks_a_rule_is_found(rule: str, change: Json) -> None:
    pod = next(pod for name, pod in templates(render("dev")) if name == "Deployment/gateway")
    one = pod["spec"]["containers"][0] | change
    pod["spec"]["containers"] = [{key: value for key, value in one.items() if value is not None}]
    assert rule in broken(pod)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_namespace_lets_in_restricted_pods_only(overlay: str) -> None:
    (namespace,) = of_kind(render(overlay), "Namespace")
    levels = {name: level for name, level in namespace["metadata"]["labels"].items() if name.startswith("pod-security")}
    assert set(levels) == {f"pod-security.kubernetes.io/{mode}" for mode in ("enforce", "audit", "warn")}
    assert set(levels.values()) == {"restricted"}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_jobs_end(overlay: str) -> None:
    objects = render(overlay)
    jobs = [one["spec"] for one in of_kind(objects, "Job")]
    jobs += [one["spec"]["jobTemplate"]["spec"] for one in of_kind(objects, "CronJob")]
    assert len(jobs) == {"dev": 5, "prod": 8}[overlay]
    assert all(0 < job["activeDeadlineSeconds"] <= 14400 and job["backoffLimit"] <= 5 for job in jobs)


def test_a_promotion_never_loses_a_commit_that_was_answered() -> None:
    """A commit is on the primary and one of two standbys: without both of these the third must not be promoted."""
    for overlay in ("prod", "recovery", "example"):
        (cluster,) = of_kind(render(overlay), "Cluster")
        synchronous = cluster["spec"]["postgresql"]["synchronous"]
        assert synchronous["failoverQuorum"] is True, overlay
        assert (synchronous["dataDurability"], synchronous["number"]) == ("required", 1), overlay
    page = (ROOT / "docs" / "operating.md").read_text()
    assert "CloudNativePG 1.28 or newer" in page
    assert "no standby is promoted on purpose" in page
