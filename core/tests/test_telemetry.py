"""Log lines: one JSON object each, and never in the way of what they are about."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SPEAKS = """
import logging, os, sys
from playmolt_core import telemetry

telemetry.configure("speaker")
log = telemetry.log("room")
for number in range(2000):
    log.warning("line", number=number)
    logging.getLogger("library").warning("line %d", number)
print("went on")
"""


def _spoken(where: Path) -> "subprocess.CompletedProcess[str]":
    with where.open("w") as out:
        return subprocess.run(
            [sys.executable, "-c", SPEAKS], stdout=subprocess.PIPE, stderr=out, text=True, timeout=60, check=True
        )


def test_lines_are_json_with_the_service_and_its_room(tmp_path: Path) -> None:
    assert _spoken(tmp_path / "log").stdout == "went on\n"

    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert len(lines) == 4000
    assert {line["service"] for line in lines} == {"speaker"}
    assert [line["number"] for line in lines if line.get("room") == "room"] == list(range(2000))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_line_without_room_is_dropped_and_nothing_else_with_it() -> None:
    assert _spoken(Path("/dev/full")).stdout == "went on\n"
