"""The bench's short form: every part plays what it measures, and asserts what came of it. Its figures say nothing."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import PARTS
from bench.beside import Figure, Play, UnsuitableError, checkout, compared
from bench.servers import HERE, Checkout
from tests.room import RUN

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 540
PROGRAM = """
from bench.__main__ import main
from tests.platforms import Stack
from tests.room import at_end
with at_end:
    main(Stack)
"""
"""As `python -m bench`, with platforms that are forked."""


async def _bench(tmp_path: Path, *words: str) -> list[dict[str, Any]]:
    """The rows of a run."""
    rows = tmp_path / "bench.json"
    bench = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, "--short", "--json", str(rows), *words,
        cwd=ROOT, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTEST_XDIST_TESTRUNUID": RUN},
    )  # fmt: skip
    try:
        _, told = await asyncio.wait_for(bench.communicate(), SECONDS)
    finally:
        if bench.returncode is None:
            bench.send_signal(signal.SIGINT)  # a kill would leave the platform that it started
            await asyncio.wait_for(bench.wait(), 60)
    assert bench.returncode == 0, told.decode()[-4_000:]
    measured: list[dict[str, Any]] = json.loads(rows.read_text("utf-8"))
    assert all(row["what"] and row["product"] for row in measured)
    return measured


@pytest.mark.timeout(SECONDS + 60)
async def test_every_part_measures_and_says_so_in_rows(tmp_path: Path) -> None:
    assert {row["part"] for row in await _bench(tmp_path)} == set(PARTS)


@pytest.mark.timeout(SECONDS + 60)
async def test_a_part_is_played_beside_another_checkout(tmp_path: Path) -> None:
    for row in await _bench(tmp_path, "--beside", str(ROOT), "--rounds", "2", "alone"):
        assert row["beside"]
        assert {name: len(values) for name, values in row["rounds"].items()} == {"product": 2, "beside": 2, "ratio": 2}
        assert " to " in row["spread"]


def test_rounds_of_two_checkouts_alternate() -> None:
    turns = iter(range(1, 9))

    @contextmanager
    def side(_: Checkout) -> Iterator[Play]:
        yield lambda: [Figure("turn", next(turns))]

    [found] = compared([side], HERE._replace(), 4)
    assert (found.product, found.beside) == ([1, 4, 5, 8], [2, 3, 6, 7])
    assert found.row() == ("turn", "4/s", "4/s", "0.99 x", "0.50 to 1.33")


def test_an_unsuitable_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsuitableError, match="not a checkout"):
        checkout(tmp_path)
    (tmp_path / "cli" / "playmolt_cli").mkdir(parents=True)
    with pytest.raises(UnsuitableError, match=r"has no \.venv"):
        checkout(tmp_path)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    with pytest.raises(UnsuitableError, match="another folder"):
        checkout(tmp_path)
