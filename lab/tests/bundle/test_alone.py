"""`pip install playmolt-lab` by itself, with what it needs and no other package of ours, analyses a bundle."""

import json
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
UV = Path(sys.prefix) / "bin" / "uv"
PROGRAM = """
import json, sys
import playmolt_agora
study = playmolt_agora.open(sys.argv[1])
tables = playmolt_agora.measure(study.turns, seed=study.seed)
from playmolt_agora.studies.sources import study_in
from playmolt_agora.report.files import write
from pathlib import Path
files = write(study_in(Path(sys.argv[1])), Path(sys.argv[2]))
ours = sorted({name.partition(".")[0] for name in sys.modules if name.startswith("playmolt")})
print(json.dumps([study.name, len(study.turns), tables["shares"].to_polars().height, len(files), ours]))
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the laboratory and the schemas are installed from their wheels; what they declare lies beside them."""
    folder = tmp_path_factory.mktemp("alone")
    subprocess.run(
        [UV, "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--python", sys.executable,
         "--target", folder / "site", ROOT / "schemas", ROOT / "lab"],
        check=True, timeout=240, capture_output=True,
    )  # fmt: skip
    site, shared = folder / "site", folder / "shared"
    shared.mkdir()
    for name in _needed("playmolt-lab") - {"playmolt-lab", "playmolt-schemas"}:
        for top in {file.parts[0] for file in distribution(name).files or () if file.parts[0] not in ("..", ".")}:
            if not (shared / top).exists():
                (shared / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    return site


def _needed(name: str) -> set[str]:
    """A distribution with all that it needs, without extras."""
    found, waiting = set[str](), [name]
    while waiting:
        one = canonicalize_name(waiting.pop())
        if one in found:
            continue
        found.add(one)
        asked = map(Requirement, distribution(one).requires or ())
        waiting += [each.name for each in asked if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found


def test_it_needs_no_other_package_of_ours_to_analyse_a_bundle(alone: Path, sealed: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c",
         f"import sys; sys.path[:0] = [{str(alone)!r}, {str(alone.parent / 'shared')!r}]\n{PROGRAM}",
         str(sealed), str(tmp_path / "out")],
        capture_output=True, text=True, encoding="utf-8", timeout=240, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    name, turns, rows, files, ours = json.loads(done.stdout)
    assert (name, ours) == ("two-arms", ["playmolt_agora", "playmolt_schemas"])
    assert turns == len((sealed / "turns.jsonl").read_text("utf-8").splitlines())
    assert rows > 0
    assert files > 50
