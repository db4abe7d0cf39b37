"""The verifier: it needs Python alone, and finds whatever was done to a bundle after it was sealed."""

import ast
import hashlib
import json
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playmolt_agora.bundle import verify
from playmolt_schemas.canonical import canonical_json

Lines = list[dict[str, Any]]
Change = Callable[[Lines], None]


def faults(bundle: Path) -> list[str]:
    verifier = verify.Verifier(verify.opened(bundle))
    verifier.check()
    return verifier.faults


def edited(bundle: Path, name: str, change: Change, *, rehash: bool = False) -> None:
    """Change the lines of a file; `rehash` gives every record the hash that it then must have."""
    lines = [json.loads(line) for line in (bundle / name).read_text("utf-8").splitlines()]
    change(lines)
    if rehash:
        previous = "0" * 64
        for line in lines:
            line["prev_hash"] = previous
            previous = line["hash"] = verify.record_hash(line)
    (bundle / name).write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), "utf-8")


def listed_anew(bundle: Path, *, crate: bool = True) -> None:
    """Forge the manifest: give it the hashes, counts and heads of what lies there now; the crate, too, if wanted."""
    manifest = json.loads((bundle / "manifest.json").read_bytes())
    streams = []
    for entry in manifest["streams"]:
        streams.append([json.loads(line) for line in (bundle / entry["file"]).read_text("utf-8").splitlines()])
        entry["records"], entry["head"] = len(streams[-1]), streams[-1][-1]["hash"]
    names = verify.Folder(bundle).names() - {"manifest.json"}
    folder = verify.Folder(bundle)
    manifest["files"] = {name: dict(zip(("sha256", "bytes"), folder.digest(name), strict=True)) for name in names}
    if crate:
        ended = max(record["at"] for stream in streams for record in stream)
        (bundle / verify.CRATE).write_text(json.dumps(verify.crate(manifest, streams[0][0], ended)))
        manifest["files"][verify.CRATE] = dict(zip(("sha256", "bytes"), folder.digest(verify.CRATE), strict=True))
    (bundle / "manifest.json").write_text(json.dumps(manifest))


def files(bundle: Path) -> tuple[str, str, str]:
    streams = json.loads((bundle / "manifest.json").read_bytes())["streams"]
    return streams[0]["file"], streams[1]["file"], streams[2]["file"]


def first_turn(lines: Lines) -> dict[str, Any]:
    """The data of the first turn of a run."""
    return next(line["data"] for line in lines if line["type"] == "agent_acted")


def test_a_sealed_bundle_holds(sealed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify.main([str(sealed)]) == 0
    digest = hashlib.sha256((sealed / "manifest.json").read_bytes()).hexdigest()
    said = capsys.readouterr().out
    assert f"manifest.json SHA-256 {digest}" in said
    assert said.endswith("VERIFIED: all checks hold\n")
    assert verify.main([str(sealed), "--manifest", digest]) == 0


def test_it_needs_the_standard_library_alone() -> None:
    tree = ast.parse(Path(verify.__file__).read_text("utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert {str(name).partition(".")[0] for name in imported} <= sys.stdlib_module_names
    assert not {"socket", "urllib", "http", "ssl"} & imported


@given(
    st.dictionaries(
        st.text("abcxyz_", min_size=1), st.text() | st.integers(-(2**53), 2**53) | st.booleans() | st.none()
    )
)
@settings(max_examples=60)
def test_it_writes_canonical_json_as_the_log_does(value: dict[str, Any]) -> None:
    assert verify.canonical(value).encode() == canonical_json(value)


def test_a_manifest_other_than_the_published_one_is_a_fault(sealed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify.main([str(sealed), "--manifest", "0" * 64]) == 1
    assert "FAULT: manifest.json has SHA-256" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["pcs.csv", "pcs.parquet", "report.html", "figures/action-mix.svg", "models.json"])
def test_a_changed_byte_is_found(bundle: Path, name: str) -> None:
    body = bytearray((bundle / name).read_bytes())
    body[len(body) // 2] ^= 1
    (bundle / name).write_bytes(bytes(body))
    assert [fault.partition(":")[0] for fault in faults(bundle)] == [name]


def test_a_missing_and_an_additional_file_are_found(bundle: Path) -> None:
    (bundle / "ri.csv").rename(bundle / "ri-2.csv")
    assert faults(bundle) == [
        "ri.csv: is in the manifest but not in the bundle", "ri-2.csv: is in the bundle but not in the manifest",
    ]  # fmt: skip


def test_a_changed_record_does_not_have_its_hash(bundle: Path) -> None:
    run = files(bundle)[1]
    edited(bundle, run, lambda lines: first_turn(lines)["record"].update(latency_ms=999))
    edited(bundle, "turns.jsonl", lambda lines: lines[0].update(latency_ms=999))
    listed_anew(bundle)
    found = faults(bundle)
    assert len(found) == 1
    assert "the hash is" in found[0]
    assert found[0].startswith(f"{run}, line ")


def test_a_record_with_a_new_hash_breaks_the_chain_behind_it(bundle: Path) -> None:
    run = files(bundle)[1]

    def forge(lines: Lines) -> None:
        lines[1]["at"] = "2026-01-02T12:00:00.000001Z"
        lines[1]["hash"] = verify.record_hash(lines[1])

    edited(bundle, run, forge)
    listed_anew(bundle)
    assert any("line 3: prev_hash is" in fault for fault in faults(bundle))


def test_a_run_that_was_chained_anew_is_not_what_the_experiment_says(bundle: Path) -> None:
    run = files(bundle)[1]
    edited(bundle, run, lambda lines: lines[1].update(at="2026-01-02T12:00:00.000001Z"), rehash=True)
    listed_anew(bundle)
    found = faults(bundle)
    assert len(found) == 1
    assert "does not have the hash that the experiment records" in found[0]


def test_the_head_of_a_stream_is_the_manifests(bundle: Path) -> None:
    run = files(bundle)[1]
    edited(bundle, run, lambda lines: lines.pop())
    assert any(fault.startswith(f"{run}: ends after") for fault in faults(bundle))


def test_a_hole_is_found(bundle: Path) -> None:
    run = files(bundle)[1]

    def dig(lines: Lines) -> None:
        at = next(number for number, line in enumerate(lines) if line["type"] == "epoch_started")
        lines.pop(at)

    edited(bundle, run, dig, rehash=True)
    listed_anew(bundle)
    assert any("versions must be 1, 2, 3 … without gaps" in fault for fault in faults(bundle))


def test_a_record_of_another_stream_is_found(bundle: Path) -> None:
    _, run, other = files(bundle)
    shutil.copy(bundle / other, bundle / run)
    listed_anew(bundle)
    assert any("belongs to" in fault for fault in faults(bundle))


def test_positions_ascend(bundle: Path) -> None:
    run = files(bundle)[1]
    edited(bundle, run, lambda lines: lines[2].update(position=lines[1]["position"]))
    listed_anew(bundle)
    assert any("comes after" in fault for fault in faults(bundle))


def test_fields_are_those_of_a_record_and_no_others(bundle: Path) -> None:
    run = files(bundle)[1]
    edited(bundle, run, lambda lines: lines[0].update(note="x"))
    listed_anew(bundle)
    assert any("line 1: the fields are" in fault for fault in faults(bundle))


def test_a_changed_prompt_does_not_have_its_hash(bundle: Path) -> None:
    prompt = next((bundle / "prompts").iterdir())
    prompt.write_bytes(prompt.read_bytes() + b" ")
    listed_anew(bundle)
    assert faults(bundle) == [f"prompts/{prompt.name}: its name is not the hash of the prompt"]


def judged(bundle: Path) -> list[str]:
    """The prompts of judges."""
    lines = map(json.loads, (bundle / files(bundle)[0]).read_text().splitlines())
    return [line["data"]["prompt_hash"] for line in lines if line["type"] == "judge_coded"]


def test_a_missing_prompt_is_found(bundle: Path) -> None:
    prompt = next(path for path in (bundle / "prompts").iterdir() if path.stem not in judged(bundle))
    prompt.unlink()
    listed_anew(bundle)
    assert faults(bundle) == [f"prompts/{prompt.name}: a turn used this prompt, which is not in the bundle"]


def test_the_prompt_of_a_judge_and_the_run_that_it_judged_are_there(bundle: Path) -> None:
    experiment = files(bundle)[0]
    prompt = bundle / "prompts" / f"{judged(bundle)[0]}.json"
    prompt.unlink()
    edited(bundle, experiment, _judge_elsewhere, rehash=True)
    listed_anew(bundle)
    found = faults(bundle)
    assert f"prompts/{prompt.name}: a judge used this prompt, which is not in the bundle" in found
    assert any("was judged, but its run is not in the bundle" in fault for fault in found)


def _judge_elsewhere(lines: Lines) -> None:
    next(line for line in lines if line["type"] == "judge_coded")["data"]["run"] = "agora-elsewhere"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda lines: lines[0].update(thought="other"), {"lacks", "has"}),
        (lambda lines: lines.pop(), {"lacks"}),
        (lambda lines: lines.append(lines[0]), {"has"}),
    ],
    ids=["changed", "missing", "twice"],
)
def test_turns_are_those_of_the_log(bundle: Path, change: Change, found: set[str]) -> None:
    edited(bundle, "turns.jsonl", change)
    listed_anew(bundle)
    said = faults(bundle)
    assert {fault.split()[1] for fault in said} == found
    assert all(fault.startswith("turns.jsonl: ") and " of " in fault and " in agora-" in fault for fault in said)


def test_the_order_of_turns_is_free(bundle: Path) -> None:
    edited(bundle, "turns.jsonl", lambda lines: lines.reverse())
    listed_anew(bundle)
    assert faults(bundle) == []


def test_a_plan_other_than_the_locked_one_is_found(bundle: Path) -> None:
    (bundle / "plan.txt").write_text("name: another\n")
    listed_anew(bundle)
    assert faults(bundle) == ["plan.txt: differs from the locked plan"]


def test_a_registration_other_than_the_logs_is_found(bundle: Path) -> None:
    lock = json.loads((bundle / "lock.json").read_bytes())
    (bundle / "lock.json").write_text(json.dumps({**lock, "stopping_rule": "when it suits us"}))
    listed_anew(bundle)
    assert faults(bundle) == ["lock.json: differs from the lock in the log"]


def test_a_plan_changed_in_the_lock_does_not_have_its_hash(bundle: Path) -> None:
    experiment = files(bundle)[0]

    def change(lines: Lines) -> None:
        lines[0]["data"]["plan"]["name"] = "another"
        (bundle / "lock.json").write_text(json.dumps(lines[0]["data"]))

    edited(bundle, experiment, change, rehash=True)
    listed_anew(bundle)
    assert any("plan_hash is not the hash of the plan" in fault for fault in faults(bundle))


@pytest.mark.parametrize("field", ["position", "at"])
def test_a_run_before_the_lock_is_found(bundle: Path, field: str) -> None:
    experiment = files(bundle)[0]
    late = {"position": 10**6, "at": "2027-01-01T00:00:00.000000Z"}[field]

    def change(lines: Lines) -> None:
        lines[0][field] = late
        if field == "position":
            for number, line in enumerate(lines):
                line["position"] = 10**6 + number

    edited(bundle, experiment, change, rehash=True)
    listed_anew(bundle)
    assert sum("not after the lock" in fault for fault in faults(bundle)) == 9


def test_an_experiment_without_its_lock_is_found(bundle: Path) -> None:
    experiment = files(bundle)[0]

    def change(lines: Lines) -> None:
        lines[0]["type"] = "stopped"

    edited(bundle, experiment, change, rehash=True)
    listed_anew(bundle)
    assert any("the first event is not the lock" in fault for fault in faults(bundle))


def test_a_run_of_another_experiment_is_found(bundle: Path) -> None:
    run = files(bundle)[1]
    edited(bundle, run, lambda lines: lines[0]["data"]["spec"].update(experiment="experiment-other"), rehash=True)
    listed_anew(bundle)
    assert any("its first event names another experiment" in fault for fault in faults(bundle))


def test_a_run_that_was_left_out_is_found(bundle: Path) -> None:
    run = files(bundle)[1]
    manifest = json.loads((bundle / "manifest.json").read_bytes())
    manifest["streams"] = [entry for entry in manifest["streams"] if entry["file"] != run]
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    (bundle / run).unlink()
    listed_anew(bundle)
    name = Path(run).stem
    assert f"{name}: the experiment records its end, but it is not in the bundle" in faults(bundle)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"files": {}}', b'{"files": 3}'])
def test_a_manifest_that_cannot_be_read_is_a_fault_and_no_crash(bundle: Path, body: bytes) -> None:
    (bundle / "manifest.json").write_bytes(body)
    assert verify.main([str(bundle)]) == 1


def test_another_format_is_said(bundle: Path) -> None:
    manifest = json.loads((bundle / "manifest.json").read_bytes())
    (bundle / "manifest.json").write_text(json.dumps({**manifest, "format": "playmolt-agora-bundle/9"}))
    assert faults(bundle) == [
        "manifest.json: format 'playmolt-agora-bundle/9'; this program supports playmolt-agora-bundle/1"
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda graph: graph[1].update(name="another"), "./: name not as in the lock"),
        (lambda graph: graph[1].update(author=[{"@id": "#me"}]), "./: author not as in the lock"),
        (lambda graph: graph[1].update(datePublished="2027-01-01"), "./: datePublished not as"),
        (lambda graph: graph[-1].update(contentSize="7"), ": contentSize not as"),
        (lambda graph: graph[-1].update(sha256="0" * 64), ": sha256 not as"),
        (lambda graph: graph.pop(), "sha256 not as"),
        (lambda graph: graph.append({"@id": "#me", "@type": "Person", "name": "Me"}), "#me: @id, @type, name not as"),
        (lambda graph: graph.reverse(), "the order of its entities"),
    ],
)
def test_a_crate_says_what_the_lock_the_log_and_the_manifest_say(
    bundle: Path, change: Callable[[list[dict[str, Any]]], object], said: str
) -> None:
    crate = json.loads((bundle / verify.CRATE).read_bytes())
    change(crate["@graph"])
    (bundle / verify.CRATE).write_text(json.dumps(crate), "utf-8")
    listed_anew(bundle, crate=False)
    (found,) = faults(bundle)
    assert found.startswith(f"{verify.CRATE}: ")
    assert said in found


@pytest.mark.parametrize("body", [b"", b"[]", b'{"@graph": 3}'])
def test_a_crate_that_cannot_be_read_is_a_fault_and_no_crash(bundle: Path, body: bytes) -> None:
    (bundle / verify.CRATE).write_bytes(body)
    listed_anew(bundle, crate=False)
    assert len(faults(bundle)) == 1


def test_a_bundle_without_its_crate_is_broken(bundle: Path) -> None:
    (bundle / verify.CRATE).unlink()
    listed_anew(bundle, crate=False)
    assert faults(bundle) == [f"{verify.CRATE}: is missing"]


@pytest.mark.parametrize("missing", ["nowhere", "empty", "text"])
def test_where_there_is_no_bundle_it_says_so(tmp_path: Path, missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("no zip")
    assert verify.main([str(tmp_path / missing)]) == 1
    assert capsys.readouterr().out.startswith("NO BUNDLE: ")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_damaged_byte_of_a_zip_is_a_fault_and_no_crash(
    tmp_path: Path, place: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the start the stream does not unpack, in the middle its checksum is wrong; a manifest that does not unpack."""
    path = tmp_path / "bundle.zip"
    turns = "".join(f"{json.dumps({'a': number * number % 977})}\n" for number in range(3000))
    files = {"turns.jsonl": {"sha256": hashlib.sha256(turns.encode()).hexdigest(), "bytes": len(turns)}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps({"format": "other", "files": files, "streams": []}))
        archive.writestr("turns.jsonl", turns)
        entry = archive.getinfo("manifest.json" if place == 2 else "turns.jsonl")
    body = bytearray(path.read_bytes())
    body[entry.header_offset + 30 + len(entry.filename) + (entry.compress_size // 2 if place == 1 else 5)] ^= 0xFF
    path.write_bytes(body)
    assert verify.main([str(path)]) == 1
    said = capsys.readouterr().out
    assert ("NO BUNDLE: manifest.json cannot be read" if place == 2 else "FAULT: turns.jsonl: cannot be read") in said
