"""`make release`: builds and checks the parts of a release in `dist`, and names the parts that fail.

PARTS lists the parts to make; by default, all.
"""

import os
import sys
from datetime import UTC, datetime
from importlib import import_module
from typing import Final

from deploy.release.source import DIST, Unfit, changed_migrations, files, sha256, tag

PARTS: Final = ("wheels", "typescript", "image", "sbom", "manifests", "listing", "provenance")
"""In the order in which they are made: a part may read the files of earlier ones."""


def _chosen() -> list[str]:
    asked = os.environ.get("PARTS", "").split() or list(PARTS)
    if unknown := set(asked) - {*PARTS, "chart"}:
        print(
            f"release: no part is named {', '.join(sorted(unknown))}; the parts are {' '.join(PARTS)}", file=sys.stderr
        )
        sys.exit(2)
    if "chart" in asked:
        print("chart: not part of a release; docs/decisions/kubernetes.md says why")
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
    """Import the module of a part only when the part is made, because some take long to import."""
    module = import_module(f"deploy.release.{part}")
    return str(module.make(started, parts) if part == "provenance" else module.make())


def _sums() -> None:
    lines = [f"{sha256(path)}  {path.relative_to(DIST)}\n" for path in files()]
    (DIST / "SHA256SUMS").write_text("".join(lines), "utf-8")


def main() -> None:
    """Make every requested part; exit with 1 if one fails."""
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
    print(f"{tag()} is in {DIST}" + (f", without {', '.join(missing)}" if missing else ""))
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
