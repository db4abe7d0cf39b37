"""The list of datasets and their files: what a dataset's manifest lists, and nothing else of the disk."""

import json
from pathlib import Path

import pytest

from services.gateway.tests.conftest import Platform

FILES = {"ox/2026-11.parquet": b"PAR1 ox", "trial/2026-11.parquet": b"PAR1 trial"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    november = tmp_path / "datasets" / "november"
    for path, body in FILES.items():
        (november / path).parent.mkdir(parents=True, exist_ok=True)
        (november / path).write_bytes(body)
    listed = [{"path": path, "sha256": "", "rows": 1} for path in FILES]
    (november / "manifest.json").write_text(json.dumps({"files": listed, "games": [{"id": "ox-1", "hash": ""}]}))
    (november / "croissant.json").write_text(json.dumps({"name": "n", "description": "<b>Games</b> of November"}))
    (november / "CITATION.cff").write_text("cff-version: 1.2.0\n")
    (november / "notes.txt").write_text("of the operator")
    (november / "ox" / "other.parquet").write_bytes(b"not listed")
    (tmp_path / "datasets" / "unfinished").mkdir()
    (tmp_path / "secret").write_text("of the machine")
    return tmp_path / "datasets"


async def test_without_a_folder_there_is_no_page() -> None:
    platform = Platform()
    for path in ("/datasets/", "/datasets/november/manifest.json", "/datasets/november/ox/2026-11.parquet"):
        assert (await platform.send("GET", path)).status_code == 404


@pytest.mark.parametrize(("language", "title"), [("en", "Datasets"), ("ko", "데이터셋"), ("zh", "数据集")])
async def test_the_page_lists_each_dataset_with_its_files(folder: Path, language: str, title: str) -> None:
    platform = Platform(datasets=str(folder))
    page = await platform.send("GET", f"/datasets/?lang={language}&utm_source=elsewhere")
    assert page.status_code == 200
    assert f"<h1>{title}</h1>" in page.text
    assert "&lt;b&gt;Games&lt;/b&gt; of November" in page.text
    for path in ("croissant.json", "manifest.json", "CITATION.cff", *FILES):
        assert f'href="/datasets/november/{path}"' in page.text
    assert "unfinished" not in page.text
    assert "notes.txt" not in page.text


async def test_the_files_are_sent_as_they_are(folder: Path) -> None:
    platform = Platform(datasets=str(folder))
    for path, body in FILES.items():
        answer = await platform.send("GET", f"/datasets/november/{path}?fbclid=x")
        assert (answer.status_code, answer.content) == (200, body)
        assert answer.headers["content-disposition"].startswith("attachment")
    part = await platform.send("GET", "/datasets/november/ox/2026-11.parquet", headers={"range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, b"PAR1")


async def test_the_metadata_that_is_sent_names_the_addresses_of_the_files(folder: Path) -> None:
    """In the folder they are relative, and a reader of a URL does not resolve them."""
    platform = Platform(datasets=str(folder))
    written = {
        "name": "n", "description": "d", "url": "https://a.example/",
        "distribution": [{"contentUrl": path, "sha256": "x"} for path in (*FILES, "https://b.example/c")],
    }  # fmt: skip
    file = folder / "november" / "croissant.json"
    file.write_text(json.dumps(written))
    sent = (await platform.send("GET", "/datasets/november/croissant.json?utm_source=x")).json()
    addresses = [f"http://gateway/datasets/november/{path}" for path in FILES]
    assert [one.pop("contentUrl") for one in sent["distribution"]] == [*addresses, "https://b.example/c"]
    assert sent | {"distribution": None} == written | {"distribution": None}
    for other in ({"name": "n", "description": "d"}, {"name": "n", "description": "d", "distribution": 7}):
        file.write_text(json.dumps(other))
        assert (await platform.send("GET", "/datasets/november/croissant.json")).json() == other


@pytest.mark.parametrize(
    "path",
    [
        "november/notes.txt", "november/ox/other.parquet", "november/../../secret", "../secret",
        "november/%2e%2e/secret",
        "unfinished/manifest.json", "november/ox/%2e%2e%2fmanifest.json", "..%2fdatasets/november/manifest.json",
        "november/", "other/manifest.json",
    ],
)  # fmt: skip
async def test_nothing_else_of_the_disk_is_sent(folder: Path, path: str) -> None:
    answer = await Platform(datasets=str(folder)).send("GET", f"/datasets/{path}")
    assert answer.status_code == 404
    assert "of the" not in answer.text or "cff" not in answer.text
    assert b"secret" not in answer.content
