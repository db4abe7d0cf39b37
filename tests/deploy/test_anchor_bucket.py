"""Buckets on Kubernetes: the component for anchors over prod, and the CronJob that archives."""

import pytest
from playmolt_cli.settings import CliSettings
from playmolt_core.settings import from_environment

from deploy.k8s import credentials
from tests.deploy.manifests import Json, environment, named, of_kind, render, template_of, with_component
from tests.deploy.test_schemas import NEWEST, OLDEST, fault

SECRET = {
    "url": "s3://bucket/prefix", "endpoint": "https://store.example", "region": "eu-1", "access-key-id": "id",
    "secret-access-key": "secret",
}  # fmt: skip


@pytest.fixture(scope="module")
def objects() -> list[Json]:
    return with_component("anchor-bucket")


@pytest.mark.parametrize("name", ["log-anchor", "log-verify"])
def test_both_jobs_are_told_of_the_bucket(objects: list[Json], name: str) -> None:
    one = named(objects, "CronJob", name)
    assert [fault(one, version) for version in (OLDEST, NEWEST)] == ["", ""]
    template = template_of(one)
    assert template
    (container,) = template["spec"]["containers"]
    told = environment(objects, container, credentials.values() | {"anchors": SECRET})
    own = {key: value for key, value in told.items() if key.startswith("PLAYMOLT_")}
    settings = from_environment(own, kind=CliSettings)
    assert settings.anchor_url == "s3://bucket/prefix"
    assert (settings.anchor_endpoint, settings.anchor_region) == ("https://store.example", "eu-1")
    assert (settings.anchor_access_key, settings.anchor_secret_key) == ("id", "secret")
    assert ("--anchors" in container["command"]) is (name == "log-verify")
    assert "--out" not in container["command"]
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    assert mounts == {volume["name"] for volume in template["spec"]["volumes"]}
    assert "anchors" not in mounts


def test_no_volume_is_left_and_the_way_out_is_open_to_both(objects: list[Json]) -> None:
    assert not [one for one in of_kind(objects, "PersistentVolumeClaim") if one["metadata"]["name"] == "log-anchors"]
    policy = named(objects, "NetworkPolicy", "anchor-bucket")
    assert fault(policy, NEWEST) == ""
    assert policy["spec"]["podSelector"]["matchExpressions"][0]["values"] == ["log-anchor", "log-verify"]
    assert [one["port"] for rule in policy["spec"]["egress"] for one in rule["ports"]] == [443]


def test_the_archive_has_the_settings_of_all_and_a_bucket() -> None:
    objects = render("prod")
    one = named(objects, "CronJob", "archive")
    template = template_of(one)
    assert template
    (container,) = template["spec"]["containers"]
    told = environment(objects, container, credentials.values() | {"archive": SECRET})
    own = {key: value for key, value in told.items() if key.startswith("PLAYMOLT_")}
    settings = from_environment(own, kind=CliSettings)
    assert (settings.archive_url, settings.archive_endpoint) == ("s3://bucket/prefix", "https://store.example")
    assert (settings.archive_access_key, settings.archive_secret_key) == ("id", "secret")
    assert (settings.archive_days, settings.archive_region) == (30, "eu-1")
    assert told["PGSSLMODE"] == "verify-full"
    assert container["command"] == ["playmolt", "log", "archive"]
    assert one["spec"]["schedule"].split()[2:] == ["*", "*", "*"]
