"""The log's export in the readers that people use: data and metadata arrive byte for byte, so that they still hash.

Datasets and bundles are read in `test_dataset.py` and `test_inspect.py`, where they are made. chDB is missing, since it
takes half a gigabyte; docs/event-log.md says what it shows.
"""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playmolt_core.log.copies.export import parquet

from core.tests.log.test_chain import game, written
from tests.clients.parquet_values import differences

LARGEST = 2**53 + 1


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


def test_the_export_holds_the_records(export: tuple[Path, list[dict[str, Any]]]) -> None:
    path, stored = export
    assert pl.read_parquet(path).select(list(stored[0])).to_dicts() == stored


def test_every_reader_finds_equal_values(foreign_python: Path, export: tuple[Path, list[dict[str, Any]]]) -> None:
    assert differences(foreign_python, [export[0]]) == []
