"""The recovery overlay is prod but for where its database comes from; restore.sh asks the steps of restore.md."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping

import pytest

from tests.deploy.fake_kubectl import Cluster, Kubectl, serving
from tests.deploy.manifests import K8S, Json, kubectl, named, render, with_component
from tests.deploy.test_schemas import NEWEST, OLDEST, fault

STEPS = ("stop", "keep", "database", "log", "lost", "erase", "relays", "streams", "verify", "services", "backup")
OVERLAY = "deploy/k8s/overlays/recovery"
PAGE = (K8S / "restore.md").read_text()
CLUSTER = named(render("recovery"), "Cluster", "postgres")
TARGET = CLUSTER["spec"]["bootstrap"]["recovery"]["recoveryTarget"]["targetTime"]
PLUGIN = "barman-cloud.cloudnative-pg.io"


def changed(one: Json, other: Json) -> set[str]:
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


def test_nothing_but_the_origin_of_the_database_differs_from_prod() -> None:
    prod, recovery = ({(o["kind"], o["metadata"]["name"]): o for o in render(name)} for name in ("prod", "recovery"))
    assert prod.keys() == recovery.keys()
    assert {key for key in prod if prod[key] != recovery[key]} == {("Cluster", "postgres")}
    before = prod["Cluster", "postgres"]["spec"]
    assert changed(before, CLUSTER["spec"]) == {"bootstrap", "externalClusters", "plugins"}
    initdb, recovered = before["bootstrap"]["initdb"], CLUSTER["spec"]["bootstrap"]["recovery"]
    assert set(CLUSTER["spec"]["bootstrap"]) == {"recovery"}
    assert {key: recovered[key] for key in ("database", "owner", "secret")} == {
        key: initdb[key] for key in ("database", "owner", "secret")
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", TARGET)


def test_it_reads_one_archive_and_writes_another() -> None:
    (archive,) = CLUSTER["spec"]["externalClusters"]
    assert archive["name"] == CLUSTER["spec"]["bootstrap"]["recovery"]["source"] == "archive"
    (writes,) = CLUSTER["spec"]["plugins"]
    reads = archive["plugin"]
    assert reads["name"] == writes["name"] == PLUGIN
    assert reads["parameters"]["barmanObjectName"] == writes["parameters"]["barmanObjectName"] == "postgres-backups"
    assert named(render("prod"), "Cluster", "postgres")["spec"]["plugins"][0]["parameters"]["serverName"] == "postgres"
    assert reads["parameters"]["serverName"] == "postgres" != writes["parameters"]["serverName"]
    assert "skipEmptyWalArchiveCheck" not in json.dumps(render("recovery"))


def test_an_overlay_of_ones_own_takes_the_component() -> None:
    taken = named(with_component("recovery"), "Cluster", "postgres")
    assert taken == CLUSTER
    assert [fault(taken, version) for version in (OLDEST, NEWEST)] == ["", ""]


def test_every_step_says_what_to_do_and_when_it_is_done() -> None:
    sections = re.findall(r"^## (\d\d) (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert [(number, name) for number, name, _ in sections] == [(f"{n:02}", name) for n, name in enumerate(STEPS, 1)]
    for _, name, text in sections:
        do, _, done = text.partition("*Done when*")
        assert "*Do*\n\n```sh\n" in do, name
        assert done.count("```") == 2, name
        asked = re.findall(r"kubectl (?:--namespace \S+ )?(\w+)", done)
        assert asked, name
        assert set(asked) <= {"get", "exec"}, name


def job_of(step: str, cronjob: str, objects: list[Json]) -> list[str]:
    """The command of the Job that a step makes of a CronJob."""
    text = re.search(rf"^## \d\d {step}\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    assert text
    (made,) = re.findall(r"--from=cronjob/([\w-]+) --dry-run", text[1])
    assert made == cronjob
    (patch,) = re.findall(r"--patch \\\n\s+'(.*?)' \|", text[1], re.DOTALL)
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}}
    job |= {"spec": named(objects, "CronJob", cronjob)["spec"]["jobTemplate"]["spec"]}
    done = subprocess.run(
        [kubectl(), "patch", "--local", "--filename", "-", "--type", "json", "--output", "json", "--patch", patch],
        input=json.dumps(job), capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    (container,) = json.loads(done.stdout)["spec"]["template"]["spec"]["containers"]
    found: list[str] = container["command"]
    return found


def test_anchors_are_asked_once_the_restore_is_signed_and_not_before() -> None:
    """Before that they know of records that the log lacks, which is a break."""
    with_bucket = with_component("anchor-bucket")
    assert (
        "--anchors"
        in named(with_bucket, "CronJob", "log-verify")["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][
            0
        ]["command"]
    )
    verify = ["playmolt", "log", "verify", "--json"]
    assert job_of("log", "log-verify", with_bucket) == verify
    assert job_of("verify", "log-anchor", render("prod"))[:5] == [*verify, "--anchors"]


class Restore:
    """restore.sh beside a cluster that is only described."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl
        self.calls: list[str] = []

    def __call__(
        self, *arguments: str, answers: Mapping[str, str] = {}, fails: tuple[str, ...] = ()
    ) -> "subprocess.CompletedProcess[str]":
        cluster = self._kubectl.cluster = Cluster(answers=answers, fails=fails)
        ended = self._kubectl.run("restore.sh", *arguments)
        self.calls = cluster.calls
        return ended


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with serving(tmp_path_factory.mktemp("kubectl")) as program:
        yield program


@pytest.fixture
def restore(program: Kubectl) -> Restore:
    return Restore(program)


RESTORED = "get clusters.postgresql.cnpg.io postgres --ignore-not-found --output jsonpath="
DONE: dict[str, str] = {
    f"{RESTORED}{{.spec.bootstrap.recovery.recoveryTarget.targetTime}} {{.spec.plugins": f"{TARGET} postgres-2 True",
    f"{RESTORED}{{.spec.bootstrap": TARGET,
    f"{RESTORED}{{.metadata": f"postgres {TARGET}\n",
    "get pv": "pvc-1 Retain\npvc-2 Retain\n",
    "get job": "Complete",
    "get configmap": "there",
    "get deployment relay --output jsonpath={.status.replicas}": "2",
    "get deployment relay": "2",
    "exec deployment/relay": "",
    "get deployments": "gateway 3\nrelay 2\n",
    "get scaledobjects": "gateway \n",
    "get cronjobs": "archive \nlog-verify false\n",
    "get objectstores": "2026-02-01T00:00:00Z",
}


def without(beginning: str, said: str = "") -> dict[str, str]:
    """All is done but for what this call asks."""
    (key,) = [one for one in DONE if one == beginning]
    return DONE | {key: said}


def test_what_a_step_leaves_is_of_this_restore() -> None:
    """What a former one left would pass for it: its Job is complete, its list is there."""
    page = (K8S / "restore.md").read_text("utf-8")
    left = re.findall(r"(?:create|get) (?:job|configmap) (\S+)|playmolt/kept=(\S+)", page)
    assert len(left) >= 10
    assert [one for one in left if "$SERVER" not in "".join(one)] == []


def test_it_lists_the_steps_of_the_page(restore: Restore) -> None:
    ended = restore("list")
    assert (ended.returncode, ended.stdout) == (0, "".join(f"{n:02} {name}\n" for n, name in enumerate(STEPS, 1)))


def test_all_is_done_and_was_only_read(restore: Restore) -> None:
    ended = restore("check", OVERLAY, answers=DONE)
    assert (ended.returncode, ended.stdout) == (0, "".join(f"ok {name}\n" for name in STEPS)), ended.stderr
    assert {call.split()[0] for call in restore.calls} == {"version", "get", "exec"}


@pytest.mark.parametrize(
    ("step", "answers"),
    [
        ("stop", DONE | {f"{RESTORED}{{.spec.bootstrap": ""}),
        ("keep", without("get pv", "pvc-1 Retain\npvc-2 Delete\n")),
        ("keep", without("get pv")),
        ("keep", without(f"{RESTORED}{{.metadata", "postgres \n")),
        ("database", DONE | dict.fromkeys(list(DONE)[:1], f"{TARGET} postgres-2 False")),
        ("database", DONE | dict.fromkeys(list(DONE)[:1], f"{TARGET} postgres True")),
        ("log", without("get job", "Failed")),
        ("log", without("get job")),
        ("lost", without("get configmap")),
        ("erase", {"get configmap restore-erase-": ""} | DONE),
        ("verify", {"get job restore-verify-": "Failed"} | DONE),
        ("relays", without("get deployment relay --output jsonpath={.status.replicas}")),
        ("streams", without("get deployment relay")),
        ("streams", without("exec deployment/relay", 'playmolt_relay_lag_events{copy="events"} 3: not 0\n')),
        ("services", without("get deployments", "gateway \nrelay 2\n")),
        ("services", without("get scaledobjects", "gateway true\n")),
        ("services", without("get cronjobs", "archive true\n")),
        ("backup", without("get objectstores")),
    ],
)
def test_the_first_step_that_is_open_is_named_and_is_the_last(
    restore: Restore, step: str, answers: dict[str, str]
) -> None:
    ended = restore("check", OVERLAY, answers=answers)
    *before, last = ended.stdout.splitlines()
    assert ended.returncode == 1
    assert before == [f"ok {name}" for name in STEPS[: STEPS.index(step)]]
    assert re.fullmatch(rf"open {step}: .{{8,}}", last)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"get deployments": "gateway 2\nrelay \n"}, "gateway has 2 pods"),
        ({"get scaledobjects": "gateway \n"}, "KEDA still scales gateway"),
        ({"get cronjobs": "archive true\nlog-verify \n"}, "CronJob log-verify is not suspended"),
    ],
)
def test_before_the_database_is_restored_all_has_to_stand_still(
    restore: Restore, said: dict[str, str], told: str
) -> None:
    still = {"get deployments": "gateway \n", "get scaledobjects": "gateway true\n", "get cronjobs": "archive true\n"}
    assert restore("check", OVERLAY, "stop", answers=still).stdout == "ok stop\n"
    ended = restore("check", OVERLAY, "stop", answers=still | said)
    assert (ended.returncode, ended.stdout) == (1, f"open stop: {told}\n")


def test_a_question_that_fails_is_open(restore: Restore) -> None:
    ended = restore("check", OVERLAY, "log", answers=DONE, fails=("get job",))
    assert ended.returncode == 1
    assert ended.stdout.startswith("open log: ")


@pytest.mark.parametrize(
    "arguments",
    [
        (), ("check",), ("check", ""), ("check", OVERLAY, "none"), ("list", OVERLAY), ("check", OVERLAY, "log", "lost"),
        ("check", "deploy/k8s/overlays/none"), ("check", "deploy/k8s/overlays/prod"), ("--check", OVERLAY),
    ],
)  # fmt: skip
def test_a_wrong_call_asks_nothing(restore: Restore, arguments: tuple[str, ...]) -> None:
    ended = restore(*arguments)
    assert (ended.returncode, restore.calls) == (2, [])
    assert ended.stderr


def test_without_a_cluster_no_step_is_asked(restore: Restore) -> None:
    ended = restore("check", OVERLAY, fails=("version",))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "no cluster answers" in ended.stderr
