"""Log lines: one JSON object each, and never in the way of what they are about."""

import json
import subprocess
import sys
from pathlib import Path

SPEAKS = """
import logging, resource, sys
from playmolt_core.ops import telemetry

room = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
telemetry.configure("speaker")
log = telemetry.log("room")
for number in range(1000):
    log.warning("line", number=number)
    logging.getLogger("library").warning("line %d", number)
print("went on")
"""


def _spoken(log: Path, room: int) -> list[str]:
    """The lines of a process whose log file has room for so many bytes."""
    with log.open("w", encoding="utf-8") as out:
        done = subprocess.run(
            [sys.executable, "-c", SPEAKS, str(room)],
            stdout=subprocess.PIPE,
            stderr=out,
            text=True,
            timeout=60,
            check=True,
        )
    assert done.stdout == "went on\n"
    return log.read_text(encoding="utf-8").splitlines()


def test_lines_are_json_with_the_service_and_its_room(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in _spoken(tmp_path / "log", 10_000_000)]

    assert len(lines) == 2000
    assert {line["service"] for line in lines} == {"speaker"}
    assert [line["number"] for line in lines if line.get("room") == "room"] == list(range(1000))


def test_a_line_without_room_is_dropped_and_nothing_else_with_it(tmp_path: Path) -> None:
    lines = _spoken(tmp_path / "log", 4096)

    assert 1 < len(lines) < 100
    assert [json.loads(line)["service"] for line in lines[:-1]] == ["speaker"] * (len(lines) - 1)
