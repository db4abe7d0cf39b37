"""The manifest of an engine: how its process starts, which rules it has, and its resources in a cluster."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Final

import msgspec
from playmolt_schemas.identifiers import ENGINES
from playmolt_schemas.manifest import Reference
from playmolt_schemas.registry import InvalidManifest

GROUP: Final = "playmolt.engines"


class FromSecret(msgspec.Struct, frozen=True):
    """An environment variable with a value from a Secret; unset if the Secret is missing."""

    variable: str
    secret: str
    key: str


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """The resources of an engine in a cluster, in Kubernetes units."""

    cpu: str = "250m"
    memory: str = "256Mi"
    cpu_limit: str = "1"
    memory_limit: str = "512Mi"
    models: bool = False
    """Whether it calls language models: it then gets their catalogue, their keys and network access to them."""
    secrets: tuple[FromSecret, ...] = ()
    calls: tuple[tuple[str, int], ...] = ()
    """Component and port of each server that it calls besides Postgres, NATS and models."""
    replicas: tuple[int, int] = (2, 10)
    """The minimum and maximum for autoscaling."""
    requests: bool = True
    """Whether it scales by requests in flight."""
    effects: bool = False
    """Whether it scales by pending effects."""


class EngineModule(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of a service, an entry point of the group `playmolt.engines`. Its module imports nothing else."""

    service: str
    module: str
    """Started with `python -m`."""
    deciders: Mapping[str, Reference]
    """Type → factory of its rules, for each type that the service serves."""
    deployment: Deployment = Deployment()
    seats_tables: bool = False
    """Whether it seats games of other types with `seat_table` and reads their public messages."""


@cache
def engines() -> Mapping[str, EngineModule]:
    """Service → manifest, for each service of an installed game. Raises InvalidManifest."""
    points = {(point.name, point.value): point for point in entry_points(group=GROUP)}
    found = {engine.service: engine for engine in (point.load() for point in points.values())}
    return {service: _checked(service, types, found.get(service)) for service, types in ENGINES.items()}


def _checked(service: str, types: tuple[str, ...], engine: EngineModule | None) -> EngineModule:
    if engine is None:
        raise InvalidManifest(f"no distribution declares the engine {service!r} as an entry point of {GROUP!r}")
    if set(engine.deciders) != set(types):
        raise InvalidManifest(f"{service} has the rules of {sorted(engine.deciders)}, but the games require {types}")
    return engine
