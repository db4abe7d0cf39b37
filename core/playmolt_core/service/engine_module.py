"""An engine's manifest: how its process starts, whose rules it holds, and what it asks of a cluster."""

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
    """An environment variable whose value an operator keeps in a Secret; without it the setting is not made."""

    variable: str
    secret: str
    key: str


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine asks of a cluster, in Kubernetes' own units."""

    cpu: str = "250m"
    memory: str = "256Mi"
    cpu_limit: str = "1"
    memory_limit: str = "512Mi"
    models: bool = False
    """It asks language models: it gets their catalogue, their keys and a way out to them."""
    secrets: tuple[FromSecret, ...] = ()
    replicas: tuple[int, int] = (2, 10)
    """The fewest and the most, as autoscaling goes."""
    requests: bool = True
    """It scales by the requests in flight."""
    effects: bool = False
    """It scales by the effects pending."""


class EngineModule(msgspec.Struct, frozen=True, kw_only=True):
    """A service's manifest. An entry point of the group `playmolt.engines` names it; its module imports no more."""

    service: str
    module: str
    """`python -m` starts it."""
    deciders: Mapping[str, Reference]
    """Type → what makes its rules, for each type that the service serves."""
    deployment: Deployment = Deployment()


@cache
def engines() -> Mapping[str, EngineModule]:
    """Service → manifest, for each service that an installed game names. Raises InvalidManifest."""
    points = {(point.name, point.value): point for point in entry_points(group=GROUP)}
    found = {engine.service: engine for engine in (point.load() for point in points.values())}
    return {service: _checked(service, types, found.get(service)) for service, types in ENGINES.items()}


def _checked(service: str, types: tuple[str, ...], engine: EngineModule | None) -> EngineModule:
    if engine is None:
        raise InvalidManifest(f"no distribution declares the engine {service!r} as an entry point of {GROUP!r}")
    if set(engine.deciders) != set(types):
        raise InvalidManifest(f"{service} holds the rules of {sorted(engine.deciders)}, and the games name {types}")
    return engine
