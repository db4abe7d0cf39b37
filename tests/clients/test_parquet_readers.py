"""The export's Parquet in the readers that people use: data and metadata arrive byte for byte, so that they still hash.

chDB is not here, since it takes half a gigabyte; docs/event-log.md says what it shows.
"""

import asyncio
import json
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from playmolt_core.log.copies.export import parquet

from core.tests.log.test_chain import game, written

HERE = Path(__file__).parent
LARGEST = 2**53 + 1
HYPARQUET = "hyparquet@1.33.0"
SECONDS = 110


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    path = tmp_path_factory.mktemp("export") / "log.parquet"

    async def wrote() -> list[dict[str, Any]]:
        log = await written(game("sum-1", [1, LARGEST]), game("sum-2", [3]))
        await parquet(log, path)
        return [
            {
                "data": bytes(entry.record.data).decode(), "metadata": bytes(entry.record.metadata).decode(),
                "position": entry.record.position, "at": datetime.fromisoformat(entry.record.at),
            }
            for entry in await log.forward(0, 9)
        ]  # fmt: skip

    return path, asyncio.run(wrote())


def read(*command: str | Path) -> list[list[dict[str, Any]]]:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [[row | {"at": datetime.fromisoformat(row["at"])} for row in rows] for rows in found]


def test_duckdb_and_datafusion(foreign_python: Path, export: tuple[Path, list[dict[str, Any]]]) -> None:
    path, stored = export
    assert read(foreign_python, HERE / "parquet_readers.py", path) == [stored, stored]


def test_polars_and_pandas(export: tuple[Path, list[dict[str, Any]]]) -> None:
    path, stored = export
    names = list(stored[0])
    assert pl.read_parquet(path).select(names).to_dicts() == stored
    frame = pd.read_parquet(path)[names]
    assert [row | {"at": row["at"].to_pydatetime()} for row in frame.to_dict("records")] == stored


def test_hyparquet(export: tuple[Path, list[dict[str, Any]]], tmp_path: Path) -> None:
    path, stored = export
    npm, node = shutil.which("npm"), shutil.which("node")
    assert npm
    assert node
    folder = Path(sys.prefix) / "npm" / HYPARQUET
    if not (folder / "made").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}')
        install = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", HYPARQUET]
        subprocess.run(install, cwd=folder, check=True, timeout=SECONDS)
        (folder / "made").touch()
    shutil.copy(HERE / "parquet_reader.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(folder / "node_modules")
    assert read(node, tmp_path / "parquet_reader.mjs", path) == [stored]
