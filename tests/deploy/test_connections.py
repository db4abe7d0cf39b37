"""Postgres has a connection for everybody at the most replicas, and some kept back for who must not wait."""

import json
import re
from collections import defaultdict

import msgspec
from playmolt_agora.service.from_log import POOL_SIZE as LABORATORY_POOL
from playmolt_agora.service.settings import LaboratorySettings
from playmolt_cli.log.verifying import MOST_PROCESSES, PART_POOL
from playmolt_core.db.pool import POOL_SIZE, Pool
from playmolt_core.log.postgres import PostgresLog
from playmolt_gateway.__main__ import POOL_SIZE as GATEWAY_POOL

from tests.deploy.manifests import ROOT, Json, named, of_kind, render, template_of

KEPT_BACK = {"migrations", "verifier"}
RESERVED_ROLE = "pg_use_reserved_connections"
SUPERUSERS = 3
"""`superuser_reserved_connections` as it comes."""
_LOGIN = re.compile(r"postgresql://([\w-]+)@")


class Use(msgspec.Struct, frozen=True):
    """The pods that may run at once with a login, and what each opens."""

    pods: int
    each: int


def of_a_process(size: int = POOL_SIZE) -> int:
    """A pool's connections, and those that a log keeps for itself."""
    pool = Pool("", "", writes=False, needs="")
    PostgresLog(pool)
    return size + len(pool._reserved)


EACH = {
    "gateway": GATEWAY_POOL,
    "reader": LaboratorySettings().laboratory_at_once * of_a_process(LABORATORY_POOL),
    "verifier": of_a_process() + MOST_PROCESSES * of_a_process(PART_POOL),
}
"""Whose processes have another pool, or begin processes of their own."""


def pods_of(one: Json, objects: list[Json]) -> int:
    """Of a Deployment at the most, while it rolls; a Job, and a CronJob that forbids a second one, has a pod."""
    if one["kind"] != "Deployment":
        assert one["kind"] == "Job" or one["spec"]["concurrencyPolicy"] == "Forbid", one["metadata"]["name"]
        return 1
    scaled = {each["spec"]["scaleTargetRef"]["name"]: each["spec"] for each in of_kind(objects, "ScaledObject")}
    name = one["metadata"]["name"]
    most = scaled[name]["maxReplicaCount"] if name in scaled else one["spec"]["replicas"]
    return int(most + one["spec"]["strategy"]["rollingUpdate"]["maxSurge"])


def uses() -> dict[str, Use]:
    """Login → what uses it in the rendered overlay."""
    objects, pods = render("prod"), defaultdict[str, int](int)
    for one in objects:
        for login in set(_LOGIN.findall(json.dumps(template_of(one) or {}))):
            pods[login] += pods_of(one, objects)
    return {name: Use(count, EACH.get(name, of_a_process())) for name, count in pods.items()}


def postgres() -> Json:
    cluster: Json = named(render("prod"), "Cluster", "postgres")["spec"]
    return cluster


def parameter(name: str) -> int:
    return int(postgres()["postgresql"]["parameters"][name])


def test_all_at_their_most_have_a_connection() -> None:
    wanted = sum(use.pods * use.each for name, use in uses().items() if name not in KEPT_BACK)
    assert wanted <= parameter("max_connections") - SUPERUSERS - parameter("reserved_connections")


def test_migrations_and_verifier_get_one_when_all_others_are_taken() -> None:
    assert parameter("reserved_connections") == 10
    reach = {role["name"] for role in postgres()["managed"]["roles"] if RESERVED_ROLE in role["inRoles"]}
    owner = (ROOT / "deploy" / "k8s" / "base" / "postgres" / "roles.sql").read_text()
    assert f"GRANT {RESERVED_ROLE} TO migrations;" in owner
    assert reach | {"migrations"} == KEPT_BACK


def test_the_page_has_them_all() -> None:
    page = (ROOT / "docs" / "operating.md").read_text().split("### Connections\n", 1)[1].split("\n#", 1)[0]
    rows = re.findall(r"^\| `([\w-]+)` \| (\d+) \| (\d+) \| (\d+) \|", page, re.MULTILINE)
    assert {name: (int(pods), int(each), int(both)) for name, pods, each, both in rows} == {
        name: (use.pods, use.each, use.pods * use.each) for name, use in uses().items()
    }
    wanted = sum(use.pods * use.each for name, use in uses().items() if name not in KEPT_BACK)
    assert f"{wanted} connections" in page
