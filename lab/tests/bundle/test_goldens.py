"""What must stay equal however the code is cut: prompts, events, tables, locks and bundles of scripted experiments.

`golden.json` holds digests, and sums where a value may differ in its last digits between machines. For a wanted change
copy the value from the failed assertion.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from playmolt_agora.measures import analysis
from playmolt_agora.measures.data.tables import COLUMNS
from playmolt_agora.report.assembly import event_ranges, ginis, turns_of
from playmolt_agora_runner.experiment import locking
from playmolt_agora_runner.plan import reading
from playmolt_core.game.decider import Refused
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import Record
from playmolt_schemas.stored.agora.experiment import Preregistered

from tests.agora_locks import power

from .conftest import EXPERIMENT, Played, play

GOLDEN: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("golden.json").read_text("utf-8"))
COMMONS: Final = Path(__file__).parents[3] / "docs" / "examples" / "commons"
ARMS: Final = """
name: goldens
seed: "11"
models: [scripted-steady, scripted-trader, scripted-wild]
languages: [ko, en]
phases:
  stage1: {runs: 3, turns: 6}
  phase1: {runs: 3, turns: 6, models: [scripted-wild, scripted-trader]}
  phase2: {runs: 3, turns: 50, sets: [A, B, C]}
hypotheses: []
"""


_LAST: Final = re.compile(rb'"hash":"[0-9a-f]{64}"')
_SALTED: Final = ("events",)


@pytest.fixture(scope="module")
def arms() -> Played:
    return play(ARMS)


def _digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part + b"\n")
    return found.hexdigest()


def _events(records: Sequence[Record]) -> str:
    """Without the hash of a run's last record, which is salted."""
    return _digest(
        *(
            f"{record.type} {record.schema_version} ".encode() + _LAST.sub(b'"hash":""', bytes(record.data))
            for record in records
        )
    )


def test_every_prompt_is_the_same_to_the_character(arms: Played) -> None:
    assert len(arms.prompts) == GOLDEN["prompts"]["count"]
    assert _digest(*(arms.prompts[key].encode() for key in sorted(arms.prompts))) == GOLDEN["prompts"]["sha256"]


def test_every_run_is_the_same_event_for_event(arms: Played) -> None:
    found = {json.loads(bytes(records[0].data))["spec"]["cell"]: "" for records in arms.runs.values()}
    for records in arms.runs.values():
        cell = json.loads(bytes(records[0].data))["spec"]["cell"]
        found[cell] = _digest(found[cell].encode(), _events(records).encode())
    assert found == GOLDEN["runs"]
    assert _events(arms.experiment) == GOLDEN["experiment"]


def _sums(column: Sequence[object]) -> object:
    """A column in short: how many values, their sum and their sum by place; the digest of one that is no number."""
    numbers = [value for value in column if isinstance(value, int | float) and not isinstance(value, bool)]
    if numbers and all(value is None or value in numbers for value in column):
        placed = [place * value for place, value in enumerate(column, 1) if isinstance(value, int | float)]
        return [len(numbers), float(sum(numbers)), float(sum(placed))]
    return _digest(json.dumps(list(column), ensure_ascii=False, default=str).encode())


def tables_of(played: Played) -> dict[str, dict[str, object]]:
    made = analysis.study(turns_of(played.runs), ginis=ginis(played.runs), seed="3", events=event_ranges(played.runs))
    return {
        name: {column: _sums([row[column] for row in table]) for column in COLUMNS[name.removeprefix("unexcluded_")]}
        for name, table in made.tables.items()
    }


def test_every_table_is_the_same_to_the_twelfth_digit(arms: Played) -> None:
    found = tables_of(arms)
    assert found.keys() == GOLDEN["tables"].keys()
    for name, columns in GOLDEN["tables"].items():
        assert found[name].keys() == columns.keys(), name
        for column, expected in columns.items():
            near = pytest.approx(expected, rel=1e-12, abs=1e-12) if isinstance(expected, list) else expected
            assert found[name][column] == near, f"{name}.{column}"


def locked(plan: str, files: Mapping[str, str]) -> str:
    found = locking.examine(plan, Catalogue({}), files, power=power)
    assert not isinstance(found, Refused), found
    lock = locking.lock(EXPERIMENT, found, Catalogue({}))
    assert isinstance(lock, Preregistered), lock
    return _digest(canonical_json(lock))


@pytest.mark.parametrize("name", ["white-room-stage1", "pilots", "commons"])
def test_every_lock_is_the_same(name: str) -> None:
    files: dict[str, str] = {}
    if name == "commons":
        paths = [path for path in COMMONS.rglob("*") if path.is_file() and path.suffix in {".toml", ".py", ".md"}]
        files = {path.relative_to(COMMONS).as_posix(): path.read_text("utf-8") for path in paths}
    plan = (COMMONS / "plan.yaml").read_text("utf-8") if name == "commons" else reading.preset(name)
    assert locked(plan, files) == GOLDEN["locks"][name]


def test_the_bundle_is_the_same_byte_for_byte(sealed: Path) -> None:
    files = json.loads((sealed / "manifest.json").read_bytes())["files"]
    # The writer of Parquet puts its own name and version into a file; the CSV beside it has the same values.
    others = (".parquet", "verify.py", "ro-crate-metadata.json")  # the crate contains their hashes
    kept = {name: entry["sha256"] for name, entry in files.items() if not name.endswith(others)}
    by_folder: dict[str, list[str]] = {}
    for name, digest in sorted(kept.items()):
        if not name.startswith(_SALTED):
            by_folder.setdefault(name.partition("/")[0], []).append(f"{name} {digest}")
    assert {name: _digest("\n".join(lines).encode()) for name, lines in by_folder.items()} == GOLDEN["bundle"]
