"""overlays/example is prod under another namespace and host, with every Secret out of a store."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator

from deploy.k8s import credentials, query_namespace
from tests.deploy.manifests import K8S, Json, named, of_kind, render

OBJECTS = render("example")
TEXT = json.dumps(OBJECTS)
MADE_BY_OPERATORS = {"nats-tls", "nats-ca", "postgres-ca"}
"""By cert-manager and CloudNativePG, from objects that are rendered."""


def expressions(objects: list[Json]) -> Iterator[str]:
    for one in objects:
        spec = one.get("spec", {})
        yield from (rule["expr"] for group in spec.get("groups", ()) for rule in group["rules"])
        yield from (trigger["metadata"]["query"] for trigger in spec.get("triggers", ()))


def wanted(value: object) -> Iterator[tuple[str, str]]:
    """Name and key of each Secret that something asks for; "" where it takes them all."""
    if isinstance(value, list):
        for part in value:
            yield from wanted(part)
    elif isinstance(value, dict):
        for kind, one in value.items():
            if kind in ("secretKeyRef", "accessKeyId", "secretAccessKey", "region") and isinstance(one, dict):
                yield one["name"], one["key"]
            elif kind == "secretRef":
                yield one["name"], ""
            elif kind == "secretName":
                yield one, ""
                yield from ((one, item["key"]) for item in value.get("items", ()))
            elif kind == "passwordSecret":
                yield from ((one["name"], key) for key in ("username", "password"))
            elif kind == "certificateRefs":
                yield from ((each["name"], key) for each in one for key in ("tls.crt", "tls.key"))
            else:
                yield from wanted(one)


def test_nothing_names_another_namespace_or_the_host_of_prod() -> None:
    assert "playmolt.svc" not in TEXT
    assert "playmolt.example.com" not in TEXT
    assert {one["metadata"].get("namespace", "arena") for one in OBJECTS} == {"arena"}
    assert [one["metadata"]["name"] for one in of_kind(OBJECTS, "Namespace")] == ["arena"]


def test_the_namespace_in_every_query_is_the_overlays() -> None:
    named_in = {found for text in expressions(OBJECTS) for found in re.findall(r'namespace="(\w+)"', text)}
    assert named_in == {"arena"}
    here = sorted(text.replace('namespace="arena"', 'namespace="playmolt"') for text in expressions(OBJECTS))
    assert here == sorted(expressions(render("prod")))
    assert not re.findall(r'namespace=\\*"playmolt', TEXT)


def test_the_component_knows_every_query() -> None:
    written = (K8S / "components" / "query-namespace" / "kustomization.yaml").read_text()
    assert written == query_namespace.component(), "python -m deploy.k8s.query_namespace writes it"


def test_every_secret_comes_out_of_one_store_with_its_keys() -> None:
    assert of_kind(OBJECTS, "Secret") == []
    found = {one["spec"]["target"]["name"]: one["spec"] for one in of_kind(OBJECTS, "ExternalSecret")}
    assert {json.dumps(one["secretStoreRef"]) for one in found.values()} == {
        '{"kind": "ClusterSecretStore", "name": "playmolt"}'
    }
    asked = defaultdict[str, set[str]](set)
    for name, key in wanted([one for one in OBJECTS if one["kind"] != "ExternalSecret"]):
        asked[name] |= {key} - {""}
    assert asked.keys() - MADE_BY_OPERATORS == found.keys()
    for name, keys in asked.items():
        if "data" in found.get(name, {}):
            assert keys <= {one["secretKey"] for one in found[name]["data"]}, name
    for name, content in credentials.values().items():
        if name in found:
            assert {one["secretKey"] for one in found[name]["data"]} == set(content), name
            basic = found[name]["target"]["template"]["type"] == "kubernetes.io/basic-auth"
            assert basic is ("username" in content), name


def test_the_host_stands_where_people_come_in() -> None:
    listeners = named(OBJECTS, "Gateway", "edge")["spec"]["listeners"]
    hosts = {one["hostname"] for one in listeners}
    hosts |= {host for one in of_kind(OBJECTS, "HTTPRoute") for host in one["spec"]["hostnames"]}
    assert hosts == {"arena.example.org"}
