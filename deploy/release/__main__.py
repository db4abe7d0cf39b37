"""`make release`: builds and checks what is shipped, into `dist`. PARTS names some of it; what is not made is named."""

import os
import sys
from datetime import UTC, datetime
from importlib import import_module
from typing import Final

from deploy.release.source import DIST, Unfit, changed_migrations, files, sha256, tag

PARTS: Final = ("wheels", "typescript", "image", "sbom", "manifests", "listing", "provenance")
"""In this order: each may look at those before it."""


def _chosen() -> list[str]:
    asked = os.environ.get("PARTS", "").split() or list(PARTS)
    if unknown := set(asked) - {*PARTS, "chart"}:
        print(
            f"release: no part is named {', '.join(sorted(unknown))}; the parts are {' '.join(PARTS)}", file=sys.stderr
        )
        sys.exit(2)
    if "chart" in asked:
        print("chart: none is made, docs/decisions/kubernetes.md says why")
    return [part for part in PARTS if part in asked]


def _refuse_changed_migrations() -> None:
    try:
        changed = changed_migrations()
    except Unfit as error:
        sys.exit(f"release: cannot compare the migrations with those of earlier releases: {error}")
    if changed:
        sys.exit(
            f"release: released migrations were changed or removed: {', '.join(changed)}."
            " Put them back and write a new migration."
        )


def _make(part: str, started: datetime, parts: list[str]) -> str:
    """Its module is imported first here: some import a good deal."""
    module = import_module(f"deploy.release.{part}")
    return str(module.make(started, parts) if part == "provenance" else module.make())


def _sums() -> None:
    lines = [f"{sha256(path)}  {path.relative_to(DIST)}\n" for path in files()]
    (DIST / "SHA256SUMS").write_text("".join(lines), "utf-8")


def main() -> None:
    """Make every part that was asked for; the exit status says whether all were."""
    started, parts = datetime.now(UTC), _chosen()
    _refuse_changed_migrations()
    missing = []
    for part in parts:
        try:
            print(f"{part}: {_make(part, started, parts)}", flush=True)
        except Unfit as error:
            missing.append(part)
            print(f"{part}: not made: {error}", file=sys.stderr, flush=True)
    DIST.mkdir(parents=True, exist_ok=True)
    _sums()
    print(f"{tag()} lies in {DIST}" + (f", without {', '.join(missing)}" if missing else ""))
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
