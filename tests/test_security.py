"""SECURITY.md names a test for each threat, and the test exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| [^|]+ \| [^|]+ \| `([\w/.-]+)::(\w+)` \|$", re.MULTILINE)


def test_every_row_names_a_test_that_is_there() -> None:
    page = (ROOT / "SECURITY.md").read_text("utf-8")
    rows = ROW.findall(page)
    assert len(rows) == sum(line.startswith("| ") for line in page.splitlines()) - 1 >= 10
    missing = [
        (path, name)
        for path, name in rows
        if not (ROOT / path).is_file() or f"def {name}(" not in (ROOT / path).read_text("utf-8")
    ]
    assert missing == []
