"""Counts the files that six usual changes edit. `docs/changing.md` has the same numbers.

Each change is a diff in `tests/changes`. The test applies all of them to a copy of the repository, and runs the
generators and the checks that such changes can break. They pass only if the diff edits every file that must follow. A
new list that repeats a fact makes them fail; once the diff edits that list, too, the count shows its cost.

If a diff no longer applies, edit its files in a checkout and save `git diff -U1`.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

pytestmark = pytest.mark.timeout(900)
ROOT: Final = Path(__file__).parents[1]
DIFFS: Final = Path(__file__).parent / "changes"
COPIED: Final = ("schemas", "core", "services", "lab", "cli", "sdk", "tests", "docs", "deploy")
SKIPPED: Final = shutil.ignore_patterns("node_modules", ".venv", "dist", ".hypothesis", ".*_cache", "*.pyc.*")
"""`*.pyc.*` is a file that a process just compiles: it would be gone before it is copied."""
PACKAGES: Final = ("schemas", "core", "lab", "cli", "sdk", "services/*")
ASYNCAPI: Final = "schemas/asyncapi.json"
GENERATED: Final = ("docs/settings.md", "docs/api.md", "docs/telemetry.md", ASYNCAPI, "schemas/json/*")
_TABLE_OF_METRICS: Final = """
from pathlib import Path
from playmolt_core.ops.metrics import table
page = Path("docs/telemetry.md")
head, rest = page.read_text("utf-8").split("<!-- figures -->\\n")
page.write_text(f"{head}<!-- figures -->\\n{table()}<!-- /figures -->{rest.split('<!-- /figures -->')[1]}", "utf-8")
"""
_SETTINGS: Final = """
from pathlib import Path
from playmolt_core.settings import page
Path("docs/settings.md").write_text(page(), "utf-8")
"""
_READS: Final = """
from playmolt_core.log import memory, port, postgres
for reads in (port.StreamReader, port.ShardReader, port.GameIndex):
    for log in (memory.MemoryLog, postgres.PostgresLog):
        assert not [name for name in vars(reads) if name[0] != "_" and not hasattr(log, name)], (reads, log)
"""
"""Checks that both logs have every method of the read protocols, faster than a type checker."""
CHECKS: Final = (
    "schemas/tests/test_golden.py", "schemas/tests/test_routes.py", "schemas/tests/test_asyncapi.py",
    "schemas/tests/test_twins.py", "services/ox-engine/tests/test_views.py", "services/ox-engine/tests/test_rules.py",
    "services/trial-engine/tests/test_views.py", "services/trial-engine/tests/test_rules.py",
    "services/legal-orchestrator/tests/test_golden.py", "services/legal-orchestrator/tests/test_redecision.py",
    "services/trial-engine/tests/jury/test_transcript.py", "services/gateway/tests/test_handlers.py",
    "core/tests/ops/test_metrics.py", "core/tests/log/test_memory.py", "cli/tests/terminal/test_narration.py",
    "tests/deploy/test_monitoring.py::test_every_figure_of_a_service_is_on_a_dashboard",
)  # fmt: skip


class Change(msgspec.Struct, frozen=True):
    """A change: its name on the page, the maximum number of its files, and those of them that are generated."""

    name: str
    most: int
    generated: frozenset[str]


CHANGES: Final = {
    "public_field": Change("a field of a public event", 9, frozenset(("schemas/json/ox.json", ASYNCAPI))),
    "event_with_message": Change(
        "an event type with its message", 12, frozenset(("schemas/json/trial.json", ASYNCAPI))
    ),
    "route_with_two_events": Change(
        "a route with two event types", 15, frozenset(("schemas/json/legal.json", "docs/api.md", ASYNCAPI))
    ),
    "shown_setting": Change(
        "a setting that a view shows", 6, frozenset(("schemas/json/jury.json", "docs/settings.md"))
    ),
    "metric": Change("a metric", 4, frozenset(("docs/telemetry.md",))),
    "log_read": Change("a read of the log", 4, frozenset()),
}
"""Diff → change. No two diffs edit the same example, so that all of them apply to one copy."""


def touched(diff: str) -> set[str]:
    """The files of a change: those that its diff edits and those that are generated."""
    edited = re.findall(r"^\+\+\+ b/(.+)$", (DIFFS / f"{diff}.diff").read_text("utf-8"), re.MULTILINE)
    assert not CHANGES[diff].generated & {*edited}
    return {*edited} | CHANGES[diff].generated


class Copy:
    """A copy of the repository."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in COPIED:
            shutil.copytree(ROOT / name, root / name, ignore=SKIPPED)
        for name in ("conftest.py", "pyproject.toml"):
            shutil.copy2(ROOT / name, root / name)

    def apply(self, diff: str) -> None:
        # If the copy is inside another repository, git silently skips its files.
        apart = os.environ | {"GIT_CEILING_DIRECTORIES": str(self.root.parent)}
        done = subprocess.run(
            ["/usr/bin/env", "git", "apply", DIFFS / f"{diff}.diff"], cwd=self.root, env=apart,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{diff}.diff no longer applies: save it again\n{done.stderr}"

    def python(self, *arguments: str) -> None:
        """Run Python with the packages of the copy instead of the installed ones."""
        paths = [str(path) for pattern in PACKAGES for path in sorted(self.root.glob(pattern))]
        paths += filter(None, [os.environ.get("PYTHONPATH")])  # may hold a plugin that PYTEST_ADDOPTS names
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.root, env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"

    def generated(self) -> set[str]:
        """The generated files that differ from those of the repository."""
        files = [path for pattern in GENERATED for path in self.root.glob(pattern)]
        names = {path.relative_to(self.root).as_posix(): path for path in files}
        return {name for name, path in names.items() if path.read_bytes() != (ROOT / name).read_bytes()}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """A copy with all changes, and with the generated files renewed."""
    copy = Copy(tmp_path_factory.mktemp("repository"))
    for diff in CHANGES:
        copy.apply(diff)
    copy.python("-m", "playmolt_schemas.export")
    copy.python("-m", "playmolt_cli.schemas")
    copy.python("-c", _SETTINGS)
    copy.python("-c", _TABLE_OF_METRICS)
    yield copy
    shutil.rmtree(copy.root)


def test_no_other_file_has_to_follow(copy: Copy) -> None:
    copy.python("-c", _READS)
    copy.python("-m", "pytest", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", *CHECKS)


def test_the_generators_write_the_named_files_alone(copy: Copy) -> None:
    assert copy.generated() == {file for change in CHANGES.values() for file in change.generated}


@pytest.mark.parametrize("diff", CHANGES)
def test_a_change_touches_few_files(diff: str) -> None:
    assert len(touched(diff)) <= CHANGES[diff].most


def test_the_page_has_the_same_numbers() -> None:
    page = (ROOT / "docs" / "changing.md").read_text("utf-8")
    rows = re.findall(r"^\| \[(.+?)\]\(#.+?\) \| (\d+)", page, re.MULTILINE)
    assert {name: int(count) for name, count in rows} == {
        change.name: len(touched(diff)) for diff, change in CHANGES.items()
    }


def test_every_diff_is_one_of_the_changes() -> None:
    assert {path.stem for path in DIFFS.iterdir()} == CHANGES.keys()
