"""The Kubernetes manifests of an engine, from its manifest's deployment values."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from string import Template
from typing import Final

from playmolt_core.db.logins import seals
from playmolt_core.game.engine_module import EngineModule

OWN: Final = ("deployment.yaml", "networkpolicy.yaml", "poddisruptionbudget.yaml")
"""Files in an engine's folder of `deploy/k8s/base`, besides its kustomization."""
SCALING: Final = "scaling.yaml"
METRICS: Final = "metrics.yaml"
TLS: Final = "tls.yaml"
"""Patch of the component `tls` for a client's pod."""
_TEMPLATES: Final = files("playmolt_cli.overlay").joinpath("templates")


class _Manifest(Template):
    delimiter = "@"


def kustomization(resources: tuple[str, ...] = OWN) -> str:
    """A kustomization of plain resources."""
    lines = "".join(f"  - {name}\n" for name in resources)
    return f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{lines}"


def manifest(name: str, engine: EngineModule) -> str:
    """One of OWN, SCALING, METRICS and TLS, filled in for an engine."""
    return _Manifest(_TEMPLATES.joinpath(name).read_text("utf-8")).substitute(_values(engine))


def base(engine: EngineModule) -> Mapping[str, str]:
    """File name → content of an engine's folder in `deploy/k8s/base`."""
    return {name: manifest(name, engine) for name in OWN} | {"kustomization.yaml": kustomization()}


def _values(engine: EngineModule) -> Mapping[str, object]:
    asked = engine.deployment
    return {
        "service": engine.service,
        "module": engine.module,
        "cpu": _quantity(asked.cpu),
        "memory": _quantity(asked.memory),
        "limit_cpu": _quantity(asked.cpu_limit),
        "limit_memory": _quantity(asked.memory_limit),
        "fewest": asked.replicas[0],
        "most": asked.replicas[1],
        "settings": "".join(_settings(engine)),
        "triggers": "".join(_triggers(engine)),
        "calls": "".join(_CALLED.format(component=component, port=port) for component, port in asked.calls),
        **{name: text if asked.models else "" for name, text in _MODELS.items()},
        **{name: text if seals(engine.deciders) else "" for name, text in _SEAL.items()},
    }


def _quantity(value: str) -> str:
    """Quote whole numbers: YAML would read them as numbers, but a quantity is a string."""
    return f'"{value}"' if value.isdecimal() else value


def _settings(engine: EngineModule) -> Iterator[str]:
    if engine.deployment.models:
        yield _CATALOGUE
    if seals(engine.deciders):
        yield _SEAL_KEYS
    for secret in engine.deployment.secrets:
        yield _KEPT_SETTING.format(variable=secret.variable, secret=secret.secret, key=secret.key)


def _triggers(engine: EngineModule) -> Iterator[str]:
    named = tuple(engine.deciders)
    # A pattern of one name matches the same; the exact form keeps the manifest of `deploy/k8s/base` as it is.
    exact = len(named) == 1 and not engine.deployment.effects
    games = f'game="{named[0]}"' if exact else f'game=~"{"|".join(named)}"'
    if engine.deployment.requests:
        yield _REQUESTS.replace("GAMES", games)
    if engine.deployment.effects:
        yield _EFFECTS.replace("GAMES", games)


_MODELS: Final[Mapping[str, str]] = {
    "model_keys": """\
            - secretRef:
                name: model-keys
                optional: true
""",
    "model_mount": """\
            - name: models
              mountPath: /etc/playmolt
              readOnly: true
""",
    "model_volume": """\
        - name: models
          configMap:
            name: models
""",
    "models": """\
    # Your own model servers, in namespaces with this label, and external servers, including the chain's node.
    - to:
        - namespaceSelector:
            matchLabels:
              playmolt/models: "true"
    - to:
        - ipBlock:
            cidr: 0.0.0.0/0
            except: [10.0.0.0/8, 100.64.0.0/10, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16]
        - ipBlock:
            cidr: ::/0
            except: [fc00::/7, fe80::/10]
      ports:
        - port: 443
          protocol: TCP
""",
}
_SEAL: Final[Mapping[str, str]] = {
    # The file of keys is readable to the group alone.
    "seal_group": "        fsGroup: 10001\n",
    "seal_mount": """\
            - name: seal-keys
              mountPath: /etc/playmolt-seal
              readOnly: true
""",
    "seal_volume": """\
        - name: seal-keys
          secret:
            secretName: seal-keys
            defaultMode: 288  # 0440
""",
}
_SEAL_KEYS: Final = """\
            - name: PLAYMOLT_SEAL_KEYS
              value: /etc/playmolt-seal/seal-keys
"""
_CATALOGUE: Final = """\
            - name: PLAYMOLT_MODELS
              value: /etc/playmolt/models.toml
"""
_KEPT_SETTING: Final = """\
            - name: {variable}
              valueFrom:
                secretKeyRef:
                  name: {secret}
                  key: {key}
                  optional: true
"""
_CALLED: Final = """\
    - to:
        - podSelector:
            matchLabels:
              playmolt/component: {component}
      ports:
        - port: {port}
          protocol: TCP
"""
_TRIGGER: Final = """\
    - type: prometheus
      metricType: AverageValue
      metadata:
        serverAddress: http://prometheus-operated.monitoring.svc:9090
        query: {query}
        threshold: "{threshold}"
        ignoreNullValues: "false"
"""
_REQUESTS: Final = "    # Requests in flight, for each replica.\n" + _TRIGGER.format(
    query='sum(playmolt_commands_under_way{namespace="playmolt",GAMES})', threshold=256
)
_EFFECTS: Final = "    # Effects pending, for each replica.\n" + _TRIGGER.format(
    query='sum(max by (game) (playmolt_effects_pending{namespace="playmolt",GAMES}))', threshold=40
)
