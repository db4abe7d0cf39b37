"""The bench's short form: every part plays what it measures, and asserts what came of it. Its figures say nothing."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from bench.__main__ import PARTS
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


@pytest.mark.timeout(SECONDS + 60)
async def test_every_part_measures_and_says_so_in_rows(tmp_path: Path) -> None:
    rows = tmp_path / "bench.json"
    bench = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, "--short", "--json", str(rows), cwd=ROOT, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE, env={**os.environ, "PYTEST_XDIST_TESTRUNUID": RUN},
    )  # fmt: skip
    try:
        _, told = await asyncio.wait_for(bench.communicate(), SECONDS)
    finally:
        if bench.returncode is None:
            bench.send_signal(signal.SIGINT)  # a kill would leave the platform that it started
            await asyncio.wait_for(bench.wait(), 30)
    assert bench.returncode == 0, told.decode()[-4_000:]
    measured = json.loads(rows.read_text("utf-8"))
    assert {row["part"] for row in measured} == set(PARTS)
    assert all(row["what"] and row["product"] for row in measured)
