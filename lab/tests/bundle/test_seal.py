"""Sealing: a bundle holds the log, the prompts, the plan and the analysis, each file by its hash, and nothing else."""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from playmolt_agora.bundle import verify
from playmolt_agora.bundle.seal import Unsealable

from .conftest import PLAN, Played, play

Export = Callable[[Played, Path], str]


def test_every_file_but_the_manifest_is_in_the_manifest_with_its_hash(sealed: Path) -> None:
    manifest = json.loads((sealed / "manifest.json").read_bytes())
    present = {path.relative_to(sealed).as_posix() for path in sealed.rglob("*") if path.is_file()}
    assert set(manifest["files"]) == present - {"manifest.json"}
    for name, entry in manifest["files"].items():
        body = (sealed / name).read_bytes()
        assert entry == {"sha256": hashlib.sha256(body).hexdigest(), "bytes": len(body)}


def test_it_holds_what_a_reader_needs(sealed: Path, played: Played) -> None:
    names = {path.relative_to(sealed).as_posix() for path in sealed.rglob("*")}
    assert {"plan.txt", "lock.json", "models.json", "README.txt", "verify.py", "report.html", "turns.jsonl"} <= names
    assert {"pcs.csv", "pcs.parquet", "tests.csv", "figures/action-mix.svg"} <= names
    assert {f"events/{run}.jsonl" for run in played.runs} < names
    assert {f"prompts/{digest}.json" for digest in played.prompts} < names
    manifest = json.loads((sealed / "manifest.json").read_bytes())
    assert [model["alias"] for model in manifest["models"]] == ["scripted-steady", "scripted-trader", "scripted-wild"]
    assert manifest["streams"][0]["stream"] == manifest["experiment"] == played.experiment[0].stream


def test_line_v_of_a_runs_file_is_version_v(sealed: Path, played: Played) -> None:
    run = next(iter(played.runs))
    lines = (sealed / f"events/{run}.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["version"] for line in lines] == list(range(1, len(lines) + 1))
    assert f'href="events/{run}.jsonl#1"' in (sealed / "report.html").read_text("utf-8")


def test_equal_experiments_give_equal_bundles(played: Played, sealed: Path, tmp_path: Path, export: Export) -> None:
    digest = export(played, tmp_path / sealed.name)
    assert digest == hashlib.sha256((sealed / "manifest.json").read_bytes()).hexdigest()


def test_a_packed_bundle_verifies_as_it_is_and_unpacked(sealed: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "bundle"), "zip", sealed.parent, sealed.name)
    assert verify.main([archive]) == 0
    with zipfile.ZipFile(archive) as inside:
        inside.extractall(tmp_path / "out")
    alone = [sys.executable, "-I", "-S", str(tmp_path / "out" / sealed.name / "verify.py")]
    done = subprocess.run(alone, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "VERIFIED: all checks hold" in done.stdout


def test_sealing_again_into_the_same_directory_gives_the_same(played: Played, bundle: Path, export: Export) -> None:
    before = (bundle / "manifest.json").read_bytes()
    export(played, bundle)
    assert (bundle / "manifest.json").read_bytes() == before


def test_a_file_of_somebody_else_is_not_sealed(played: Played, bundle: Path, export: Export) -> None:
    (bundle / "diary.txt").write_text("not meant to be sent")
    with pytest.raises(Unsealable, match=r"holds other files \(diary.txt\): export into a directory of its own"):
        export(played, bundle)


def test_a_turn_without_its_prompt_is_not_sealed(played: Played, tmp_path: Path, export: Export) -> None:
    gone, *kept = played.prompts
    without = msgspec.structs.replace(played, prompts={digest: played.prompts[digest] for digest in kept})
    with pytest.raises(Unsealable, match=f"prompts/{gone}.json: a turn used this prompt"):
        export(without, tmp_path / "out")


def test_a_fork_that_was_refused_has_no_records_and_is_not_missed(tmp_path: Path, export: Export) -> None:
    export(play(PLAN, refused=True), tmp_path)
    assert verify.main([str(tmp_path)]) == 0


def test_a_stream_without_records_is_not_sealed(played: Played, tmp_path: Path, export: Export) -> None:
    from playmolt_agora.bundle.seal import Contents, seal

    contents = Contents(
        experiment=played.experiment, runs={"agora-x": []}, prompts={}, models=(), facts={}
    )  # fmt: skip
    with pytest.raises(Unsealable, match="a stream without a record"):
        seal(tmp_path, contents, ())
