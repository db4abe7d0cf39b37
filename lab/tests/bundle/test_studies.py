"""What a bundle is opened as: tables in every form with equal values, figures, and the measures over its turns."""

import json
import math
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import playmolt_agora
import polars as pl
import pytest
from playmolt_agora.measures.data.tables import COLUMNS, TABLES, label_of
from playmolt_agora.report import files, vega
from playmolt_agora.report.study import StudyFault
from playmolt_agora.studies.sources import study_in
from playmolt_schemas.agora.plan import CostRow
from playmolt_schemas.stored.agora.turn import TurnRecord

from core.tests.counting_proxy import CountingProxy


@pytest.fixture(scope="module")
def study(sealed: Path) -> playmolt_agora.Study:
    return playmolt_agora.open(sealed)


@pytest.mark.parametrize(
    ("module", "libraries"),
    [
        ("playmolt_agora", {"numpy", "polars", "pandas", "pyarrow"}),
        # PCS so far is computed in the server of the laboratory.
        ("playmolt_agora.measures.inference.arms", {"polars", "pandas", "pyarrow"}),
    ],
)
def test_importing_loads_no_more_than_is_needed(module: str, libraries: set[str]) -> None:
    program = f"import sys, {module}; sys.exit(bool({libraries} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_it_says_what_was_locked(study: playmolt_agora.Study) -> None:
    assert (study.name, study.seed, study.plan["name"]) == ("two-arms", "3", "two-arms")
    assert study.definitions.startswith("measures@3-")
    assert [model["alias"] for model in study.models] == ["scripted-steady", "scripted-trader", "scripted-wild"]
    assert set(TABLES) | {"costs", "runs"} <= set(study.tables)
    with pytest.raises(KeyError, match=r"there are .*pcs"):
        study.tables["nope"]


def test_runs_are_called_as_people_read_them(study: playmolt_agora.Study) -> None:
    called = study.runs.to_polars()["label"].to_list()
    assert "phase1 · steady · en · 1" in called
    assert "phase1 · steady · en · 1" in (study.folder / "report.html").read_text("utf-8")


def test_frames_have_equal_values(study: playmolt_agora.Study) -> None:
    for name in ("pcs", "shares", "ri", "parse", "runs"):
        table = study.tables[name]
        one, other = table.to_polars(), table.to_pandas()
        assert len(table) == len(one) == len(other)
        for column in one.columns:
            theirs = [
                None if missing else value for value, missing in zip(other[column], other[column].isna(), strict=True)
            ]
            assert one[column].to_list() == theirs
        assert [str(kind) for kind in other.dtypes if str(kind) == "object"] == []


def test_every_column_has_labels() -> None:
    assert CostRow.__struct_fields__ == COLUMNS["costs"]
    for names in (*COLUMNS.values(), TurnRecord.__struct_fields__):
        assert all(all(label_of(name)) for name in names)
    assert label_of("ri_star") == ("의례 지수 RI*", "ritual index RI*")


def test_agreement_is_a_table_with_keys_and_appears_in_the_report(study: playmolt_agora.Study, sealed: Path) -> None:
    table = study.tables["kappa"]
    assert [column.name for column in table.columns if column.key] == ["label", "coder_a", "coder_b"]
    found = {(row["label"], row["coder_a"], row["coder_b"]): row for row in table.to_polars().to_dicts()}
    assert len(found) == 9
    human = found["survival", "judge:scripted-wild", "coder:kim"]
    assert (human["n"], human["agree"], human["kappa"], human["ci_lo"]) == (2, 1, None, None)
    whole = found["social", "lexicon", "judge:scripted-wild"]
    assert whole["ci_lo"] <= whole["kappa"] <= whole["ci_hi"]
    assert "Coding of thoughts: agreement" in (sealed / "report.html").read_text("utf-8")


def test_turns_alone_have_no_agreement(sealed: Path) -> None:
    assert study_in(sealed / "turns.jsonl").tables["kappa"] == []


def test_a_bundle_is_measured_again_with_what_was_coded(sealed: Path, study: playmolt_agora.Study) -> None:
    found = study_in(sealed)
    assert found.tables["kappa"] == study.tables["kappa"].to_arrow().to_pylist()
    judge = found.judges[0]
    assert (judge["judge"], judge["coded"], judge["failed"]) == ("scripted-wild", judge["calls"], 0)


def test_measures_over_turns_are_those_of_the_analysis(study: playmolt_agora.Study, sealed: Path) -> None:
    frame = study.turns.to_polars()
    amounts = pl.List(pl.Struct({"key": pl.String, "value": pl.Int64}))
    assert frame.schema["effect_applied"] == pl.Struct(
        {"energy": amounts, "influence": amounts, "treasury": pl.Int64, "resources": amounts}
    )
    lines = [msgspec.json.decode(line) for line in (sealed / "turns.jsonl").read_bytes().splitlines()]
    for turns in (frame, frame.lazy(), study.turns.to_pandas(), lines, sealed / "turns.jsonl", study.turns):
        found = playmolt_agora.measure(turns, seed=study.seed, tables=["shares", "pcs", "tests"])
        assert list(found) == ["shares", "pcs", "tests"]
        for name, table in found.items():
            assert table.to_arrow().to_pylist() == study.tables[name].to_arrow().to_pylist()


def test_figures_save_themselves(study: playmolt_agora.Study, tmp_path: Path) -> None:
    figure = study.figures["action-mix"]
    assert figure.width_mm == 175
    assert figure._repr_svg_() == figure.svg
    for ending, head in ((".svg", b"<svg"), (".pdf", b"%PDF"), (".png", b"\x89PNG")):
        figure.save(tmp_path / f"f{ending}")
        assert (tmp_path / f"f{ending}").read_bytes().startswith(head)
    with pytest.raises(ValueError, match="svg"):
        figure.save(tmp_path / "f.gif")
    at = figure.png(72).index(b"pHYs") + 4
    assert int.from_bytes(figure.png(72)[at : at + 4], "big") == round(72 / 0.0254)
    assert "http" not in figure.svg.replace("http://www.w3.org/2000/svg", "")


def test_a_pdf_carries_its_font_and_korean(study: playmolt_agora.Study) -> None:
    svg = study.figures["action-mix"].svg.replace(">speak<", ">발화<")
    assert b"NotoSansKR" in vega.pdf(svg)


def test_a_pdf_in_latin_letters_carries_no_more_than_these(study: playmolt_agora.Study) -> None:
    figure = study.figures["action-mix"]
    assert b"NotoSansKR" in figure.pdf
    assert len(figure.pdf) < len(vega.pdf(figure.svg.replace(">speak<", ">발화<")))


def test_text_is_legible_in_print(study: playmolt_agora.Study) -> None:
    for figure in study.figures.values():
        width = float(figure.svg.split('viewBox="0 0 ')[1].split()[0])
        sizes = [float(part.split('"')[0]) for part in figure.svg.split('font-size="')[1:]]
        assert min(sizes, default=11) * figure.width_mm / width / 25.4 * 72 >= 7


def test_a_zip_opens_and_a_broken_file_is_named(sealed: Path, bundle: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "b"), "zip", sealed.parent, sealed.name)
    assert playmolt_agora.open(archive).name == "two-arms"
    (bundle / "pcs.csv").write_text("changed")
    with pytest.raises(playmolt_agora.BundleBroken, match=r"^pcs\.csv: differs"):
        playmolt_agora.open(bundle)
    with pytest.raises(FileNotFoundError):
        playmolt_agora.open(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("manifest.json", b'{"files": ', r"^manifest\.json: is not the manifest"),
        ("manifest.json", b"[]", r"^manifest\.json: is not the manifest"),
        ("added.parquet", b"PAR1", r"^added\.parquet: was not sealed"),
        ("figures/added.svg", b"<svg/>", r"^figures/added\.svg: was not sealed"),
    ],
)
def test_what_was_not_sealed_is_named(bundle: Path, name: str, body: bytes, said: str) -> None:
    (bundle / name).write_bytes(body)
    with pytest.raises(playmolt_agora.BundleBroken, match=said):
        playmolt_agora.open(bundle)


def test_a_zip_with_a_damaged_byte_names_the_file(sealed: Path, tmp_path: Path) -> None:
    path = Path(shutil.make_archive(str(tmp_path / "b"), "zip", sealed.parent, sealed.name))
    with zipfile.ZipFile(path) as archive:
        entry = next(each for each in archive.infolist() if each.filename.endswith("turns.jsonl"))
    body = bytearray(path.read_bytes())
    at = entry.header_offset + 30 + len(entry.filename) + entry.compress_size // 2
    body[at] ^= 0xFF
    path.write_bytes(body)
    with pytest.raises(playmolt_agora.BundleBroken, match=r"turns\.jsonl: cannot be unpacked"):
        playmolt_agora.open(path)


def cells_of(notebook: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(notebook.read_text("utf-8"))["cells"]
    return found


def test_the_notebook_runs_from_its_first_cell_to_its_last(
    sealed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    notebook = Path(__file__).parents[3] / "docs/examples/report.ipynb"
    cells = [cell for cell in cells_of(notebook) if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    monkeypatch.setenv("PLAYMOLT_BUNDLE", str(sealed))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec("\n".join("".join(cell["source"]) for cell in cells), names)  # noqa: S102 -- our own file
    for row in names["pcs"].iter_rows(named=True):
        assert math.isclose(row["pcs"], names["recomputed"][row["model"], row["language"]], abs_tol=1e-12)


def test_a_bundle_and_its_turns_are_measured_again(sealed: Path, tmp_path: Path, study: playmolt_agora.Study) -> None:
    whole, alone = study_in(sealed), study_in(sealed / "turns.jsonl")
    assert (whole.name, alone.name) == ("two-arms", "turns.jsonl")
    for found, out in ((whole, tmp_path / "whole"), (alone, tmp_path / "alone")):
        files.write(found, out)
        again = playmolt_agora.open(out)
        for name in ("shares", "pcs", "parse"):
            assert again.tables[name].to_arrow().to_pylist() == study.tables[name].to_arrow().to_pylist()
        assert again.runs.to_polars()["label"].to_list() == study.runs.to_polars()["label"].to_list()
    (tmp_path / "none.jsonl").write_text("{}\n")
    with pytest.raises(StudyFault, match="not turn records"):
        study_in(tmp_path / "none.jsonl")


def test_a_platform_on_this_machine_is_asked_directly_and_one_elsewhere_through_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with CountingProxy() as proxy, CountingProxy() as platform:
        for name, url in proxy.variables().items():
            monkeypatch.setenv(name, url)
        for address, hosts in ((platform.url, []), ("http://play.example", ["play.example"])):
            with pytest.raises(PermissionError):
                playmolt_agora.open(f"{address}/api/agora/experiments/e-1")
            assert proxy.hosts == hosts
