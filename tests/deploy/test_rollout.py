"""roll.sh, run: its steps in order, what ends it, and when it may close the way back."""

import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.deploy.fake_kubectl import Cluster, Kubectl, serving
from tests.deploy.manifests import ALL, K8S, of_kind, render

OVERLAY = "deploy/k8s/overlays/dev"
(PRE,) = [one for one in of_kind(render("dev"), "Job") if one["metadata"]["name"] == "migrate-pre"]
IMAGE = PRE["spec"]["template"]["spec"]["containers"][0]["image"]
DONE = {"migrate-pre": "Complete", "migrate-post": "Complete"}


class Rollout:
    """roll.sh beside a cluster that is only described."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl
        self.cluster = kubectl.cluster = Cluster(conditions=DONE)

    def roll(self, *arguments: str, finish_after: str = "24h") -> "subprocess.CompletedProcess[str]":
        return self._kubectl.run("roll.sh", *arguments, FINISH_AFTER=finish_after)

    def finish(self) -> "subprocess.CompletedProcess[str]":
        return self.roll("--finish", OVERLAY)

    def names(self, kind: str) -> list[str]:
        return [name for found, name, _ in self.cluster.applied if found == kind]


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with serving(tmp_path_factory.mktemp("kubectl")) as kubectl:
        yield kubectl


@pytest.fixture
def rollout(kubectl: Kubectl) -> Rollout:
    return Rollout(kubectl)


def moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def test_it_ends_before_what_closes_the_way_back(rollout: Rollout) -> None:
    ended = rollout.roll(OVERLAY)
    assert ended.returncode == 0, ended.stderr
    applied = [name for _, name, _ in rollout.cluster.applied]
    deployments = [number for number, (kind, _, _) in enumerate(rollout.cluster.applied) if kind == "Deployment"]
    assert applied.index("nats") < applied.index("migrate-pre") < deployments[-1]
    assert rollout.names("Job") == ["migrate-pre"]
    data = rollout.cluster.rollout
    assert data["image"] == IMAGE
    assert moment(data["finish-after"]) - moment(data["rolled-at"]) == timedelta(hours=24)
    assert data["finish-after"] in ended.stdout


@pytest.mark.parametrize(("text", "seconds"), [("0s", 0), ("90s", 90), ("08m", 480), ("2h", 7200)])
def test_the_time_to_finish_is_the_operators(rollout: Rollout, text: str, seconds: int) -> None:
    assert rollout.roll(OVERLAY, finish_after=text).returncode == 0
    data = rollout.cluster.rollout
    assert moment(data["finish-after"]) - moment(data["rolled-at"]) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("arguments", "finish_after"),
    [
        ([], "24h"), ([""], "24h"), (["--later", OVERLAY], "24h"), ([OVERLAY, OVERLAY], "24h"), (["--finish"], "24h"),
        (["deploy/k8s/overlays/none"], "24h"), ([OVERLAY], "a day"), ([OVERLAY], "-1s"), ([OVERLAY], "24"),
    ],
)  # fmt: skip
def test_a_wrong_call_does_nothing(rollout: Rollout, arguments: list[str], finish_after: str) -> None:
    assert rollout.roll(*arguments, finish_after=finish_after).returncode == 2
    assert rollout.cluster.applied == []


def test_without_a_cluster_nothing_is_begun(rollout: Rollout) -> None:
    rollout.cluster.fails = ["version"]
    ended = rollout.roll(OVERLAY)
    assert (ended.returncode, rollout.cluster.applied) == (2, [])
    assert "no cluster answers" in ended.stderr


@pytest.mark.parametrize(
    ("fails", "step"),
    [
        ("apply --filename - --selector playmolt/step=servers", "servers"),
        ("rollout status --timeout=10m statefulset/nats", "servers"),
        ("apply --filename - --selector playmolt/step=services", "services"),
        ("rollout status --timeout=10m deployment.apps/gateway", "services"),
    ],
)  # fmt: skip
def test_a_step_that_fails_is_named_and_is_the_last(rollout: Rollout, fails: str, step: str) -> None:
    rollout.cluster.fails = [fails]
    ended = rollout.roll(OVERLAY)
    assert ended.returncode == 1
    assert f"{step}: " in ended.stderr
    assert not rollout.cluster.rollout
    assert ("migrate-pre" in rollout.names("Job")) == (step == "services")


def test_a_migration_that_failed_ends_it_with_its_last_lines(rollout: Rollout) -> None:
    rollout.cluster.conditions = {"migrate-pre": "Failed"}
    ended = rollout.roll(OVERLAY)  # which ends long before the Job's time is over
    assert ended.returncode == 1
    assert "the last lines of job/migrate-pre" in ended.stderr
    assert "pre: " in ended.stderr
    assert "logs job/migrate-pre --tail=50" in rollout.cluster.calls
    assert "Deployment" not in [kind for kind, _, _ in rollout.cluster.applied][-1:]


def test_a_failed_pod_of_a_migration_that_goes_on_is_no_failure(rollout: Rollout) -> None:
    """Its Job starts another; only its conditions say what it came to."""
    rollout.cluster.conditions = {"migrate-pre": ["", "SuccessCriteriaMet Complete"]}
    assert rollout.roll(OVERLAY).returncode == 0
    asked = [call for call in rollout.cluster.calls if call.startswith("get job/")]
    assert asked == ['get job/migrate-pre --output jsonpath={.status.conditions[?(@.status=="True")].type}'] * 2


@pytest.mark.parametrize("overlay", ["dev", "prod"])
def test_migrations_wait_for_their_database(overlay: str) -> None:
    for one in of_kind(render(overlay), "Job"):
        (container,) = one["spec"]["template"]["spec"]["containers"]
        phase = one["metadata"]["name"].removeprefix("migrate-")
        assert container["command"] == ["playmolt", "migrate", "--phase", phase, "--wait", "600"]
        assert one["spec"]["activeDeadlineSeconds"] > 600


@pytest.mark.parametrize("overlay", ALL)
def test_an_overlay_is_rolled_out_and_finished_in_its_own_namespace(rollout: Rollout, overlay: str) -> None:
    namespace = rollout.cluster.namespace = "arena" if overlay == "example" else "playmolt"
    for arguments in ([], ["--finish"]):
        ended = rollout.roll(*arguments, f"deploy/k8s/overlays/{overlay}", finish_after="0s")
        assert ended.returncode == 0, ended.stderr
    assert rollout.names("Job") == ["migrate-pre", "migrate-post"]
    assert [suspended for kind, _, suspended in rollout.cluster.applied if kind == "Job"] == [False, False]
    asked = [call.split() for call in rollout.cluster.calls]
    assert namespace == "playmolt" or "playmolt" not in {word for call in asked for word in call}
    assert not re.findall(r"(?:--namespace|-n)[ =]playmolt\b", (K8S / "roll.sh").read_text())


def test_nothing_is_finished_without_a_rollout_or_before_its_time(rollout: Rollout) -> None:
    assert rollout.finish().returncode == 3
    rollout.cluster.rollout = {"finish-after": "2999-01-01T00:00:00Z"}
    ended = rollout.finish()
    assert ended.returncode == 3
    assert "2999-01-01T00:00:00Z" in ended.stderr
    assert rollout.cluster.applied == []


SETS = "gateway\t9\told1\ngateway\t10\tnew1\nrelay\t2\tnew2\n"
NEW = f"gateway-a\tRunning\tnew1\t {IMAGE}\nrelay-a\tRunning\tnew2\t {IMAGE}\n"


@pytest.mark.parametrize("phase", ["Running", "Pending", "Unknown"])
@pytest.mark.parametrize(
    ("template", "images"),
    [("old1", f" {IMAGE}"), ("new1", " registry.example/playmolt:0.0.9"), ("new1", f"playmolt@sha256:0a {IMAGE}")],
)
def test_an_old_pod_keeps_the_way_back_open(rollout: Rollout, phase: str, template: str, images: str) -> None:
    rollout.cluster.replicasets, rollout.cluster.rollout = SETS, {"finish-after": "2020-01-01T00:00:00Z"}
    rollout.cluster.pods = f"{NEW}gateway-b\t{phase}\t{template}\t{images}\n"
    ended = rollout.finish()
    assert ended.returncode == 4
    assert ended.stderr.splitlines()[-1] == "gateway-b"
    assert rollout.cluster.applied == []


@pytest.mark.parametrize("rest", ["", "gateway-b\tSucceeded\told1\t playmolt:0\n", "gateway-c\tFailed\told1\t x\n"])
def test_it_is_finished_once_no_old_pod_is_left(rollout: Rollout, rest: str) -> None:
    other = f"gateway-d\tRunning\tnew1\tregistry.example/proxy:1 {IMAGE}\n"
    rollout.cluster.replicasets, rollout.cluster.rollout = SETS, {"finish-after": "2020-01-01T00:00:00Z"}
    rollout.cluster.pods = NEW + rest + other
    ended = rollout.finish()
    assert ended.returncode == 0, ended.stderr
    assert rollout.cluster.applied == [("Job", "migrate-post", False)]


def test_a_finish_that_failed_says_so(rollout: Rollout) -> None:
    rollout.cluster.rollout = {"finish-after": "2020-01-01T00:00:00Z"}
    rollout.cluster.conditions = {"migrate-post": "Failed"}
    ended = rollout.finish()
    assert ended.returncode == 1
    assert "post: " in ended.stderr


@pytest.mark.parametrize("overlay", ["dev", "prod"])
def test_gitops_takes_the_same_steps(overlay: str) -> None:
    waves = {"servers": "-20", "pre": "-10", "services": "10"}
    for one in render(overlay):
        step = one["metadata"].get("labels", {}).get("playmolt/step")
        annotations = one["metadata"].get("annotations", {})
        if step in waves:
            assert annotations["argocd.argoproj.io/sync-wave"] == waves[step], one["metadata"]["name"]
    jobs = {one["metadata"]["name"]: one for one in of_kind(render(overlay), "Job")}
    pre, post = jobs["migrate-pre"], jobs["migrate-post"]
    assert pre["metadata"]["annotations"]["argocd.argoproj.io/hook"] == "Sync"
    assert pre["metadata"]["annotations"]["argocd.argoproj.io/hook-delete-policy"] == "BeforeHookCreation"
    assert pre["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/force"] == "enabled"
    assert "ttlSecondsAfterFinished" not in pre["spec"]
    assert post["metadata"]["annotations"]["argocd.argoproj.io/hook"] == "Skip"
    assert post["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/reconcile"] == "disabled"
    assert post["spec"]["suspend"] is True
