"""Every object is what its schema says: Kubernetes' own, strictly, or ours for what operators bring."""

import json
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from deploy.release.manifests import validator
from tests.deploy.manifests import ALL, Json, name_of, render

VERSIONS = [f"1.{minor}" for minor in range(30, 36)]
OLDEST, NEWEST = VERSIONS[0], "1.37"
OWN = {path.stem: json.loads(path.read_text()) for path in (Path(__file__).parent / "schemas").glob("*.json")}


class UnknownKindError(Exception):
    """No schema knows the object's kind in the version it names."""


def fault(one: Json, version: str) -> str:
    """Say what is wrong with an object; "" when nothing is. Raises UnknownKindError."""
    known = validator(one["kind"], one["apiVersion"], version)
    if known is None:
        return _own_fault(one)
    error = best_match(known.iter_errors(one))
    return f"{error.message} at {'.'.join(map(str, error.path))}" if error else ""


def _own_fault(one: Json) -> str:
    schema = OWN.get(one["kind"], {})
    if schema.get("properties", {}).get("apiVersion", {}).get("const") != one["apiVersion"]:
        raise UnknownKindError(f"{one['apiVersion']} {one['kind']}")
    errors = Draft202012Validator(schema).iter_errors(one)
    return "; ".join(f"{error.message} at {error.json_path}" for error in errors)


@cache
def _texts() -> frozenset[str]:
    return frozenset(json.dumps(one, sort_keys=True) for name in ALL for one in render(name))


def distinct() -> list[Json]:
    """Every object of every overlay once, each call its own copies."""
    return [json.loads(text) for text in _texts()]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_is_as_the_schemas_of_a_version_say(version: str) -> None:
    found = {name_of(one): fault(one, version) for one in distinct()}
    assert {name: what for name, what in found.items() if what} == {}
    assert len(found) > 70


def test_every_kind_is_still_there_in_the_newest_version() -> None:
    kinds = {(one["apiVersion"], one["kind"]): one for one in distinct()}
    assert {kind: fault(one, NEWEST) for kind, one in kinds.items()} == dict.fromkeys(kinds, "")


def test_every_own_schema_is_used_and_is_one() -> None:
    kinds = {one["kind"] for one in distinct()}
    assert set(OWN) <= kinds
    for schema in OWN.values():
        Draft202012Validator.check_schema(schema)


def deployment() -> Json:
    return next(one for one in render("dev") if one["kind"] == "Deployment")


def test_a_misspelt_field_is_a_fault() -> None:
    one = deployment()
    one["spec"]["template"]["spec"]["enableServiceLink"] = False
    assert "enableServiceLink" in fault(one, NEWEST)


def test_a_misspelt_field_of_an_operators_object_is_a_fault() -> None:
    (one,) = [one for one in render("prod") if one["kind"] == "Cluster"]
    assert fault(one, NEWEST) == ""
    one["spec"]["postgresql"]["synchronus"] = {}
    assert "synchronus" in fault(one, NEWEST)


@pytest.mark.parametrize(("kind", "version"), [("Deploymnet", "apps/v1"), ("Deployment", "extensions/v1beta1")])
def test_an_unknown_kind_or_version_fails(kind: str, version: str) -> None:
    with pytest.raises(UnknownKindError):
        fault(deployment() | {"kind": kind, "apiVersion": version}, NEWEST)


def test_an_operators_kind_in_another_version_fails() -> None:
    (one,) = [one for one in render("prod") if one["kind"] == "Gateway"]
    with pytest.raises(UnknownKindError):
        fault(one | {"apiVersion": "gateway.networking.k8s.io/v1alpha1"}, NEWEST)
