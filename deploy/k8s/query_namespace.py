"""Writes the replacements that put an overlay's namespace into the queries of alerts, rules and scalers.

    python -m deploy.k8s.query_namespace > deploy/k8s/components/query-namespace/kustomization.yaml

Kustomize splits a query at its quotation marks and replaces each piece that follows `namespace=`.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import yaml

K8S = Path(__file__).parent
HEAD = """\
# Written by deploy/k8s/query_namespace.py: the namespace in the queries of alerts, rules and scalers is the overlay's.
# Takes effect in a kustomization above the one that sets the namespace, as in overlays/example.
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
replacements:
  - source:
      version: v1
      kind: Service
      name: gateway
      fieldPath: metadata.namespace
    targets:
"""


def queries() -> Iterator[tuple[str, str, str, str]]:
    """Every query: the kind and name of its object, its path there, and its text."""
    files = [K8S / "monitoring" / name for name in ("alerts.yaml", "objectives.yaml")]
    for file in [*files, *sorted((K8S / "overlays" / "prod" / "scaling").glob("*.yaml"))]:
        for one in yaml.safe_load_all(file.read_text("utf-8")):
            spec, name = one.get("spec", {}), one.get("metadata", {}).get("name", "")
            for g, group in enumerate(spec.get("groups", ())):
                for r, rule in enumerate(group["rules"]):
                    yield one["kind"], name, f"spec.groups.{g}.rules.{r}.expr", rule["expr"]
            for t, trigger in enumerate(spec.get("triggers", ())):
                yield one["kind"], name, f"spec.triggers.{t}.metadata.query", trigger["metadata"]["query"]


def places(query: str) -> list[int]:
    """The indexes of the pieces that are namespaces, after a query is split at its quotation marks."""
    pieces = query.split('"')
    return [number for number in range(1, len(pieces), 2) if pieces[number - 1].endswith("namespace=")]


def component() -> str:
    found: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    for kind, name, path, query in queries():
        for place in places(query):
            found[kind, name, place].append(path)
    lines = [HEAD]
    for (kind, name, place), paths in sorted(found.items()):
        lines.append(f"      - select:\n          kind: {kind}\n          name: {name}\n        fieldPaths:\n")
        lines += [f"          - {path}\n" for path in paths]
        lines.append(f"        options:\n          delimiter: '\"'\n          index: {place}\n")
    return "".join(lines)


if __name__ == "__main__":
    sys.stdout.write(component())
