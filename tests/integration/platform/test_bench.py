"""The bench's short form: every part plays what it measures, and asserts what came of it. Its figures say nothing."""

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.__main__ import PARTS, main
from bench.beside import Figure, Play, UnsuitableError, checkout, compared
from bench.servers import HERE, Checkout, Platforms
from tests.platforms import Stack

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(autouse=True)
def _files_as_before() -> Iterator[None]:
    """Some parts raise how many files their process may open."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def _bench(tmp_path: Path, *words: str) -> list[dict[str, Any]]:
    """The rows of a run, in this process and with platforms that are forked."""
    rows = tmp_path / "bench.json"
    main(["--short", "--json", str(rows), *words], Stack)
    measured: list[dict[str, Any]] = json.loads(rows.read_text("utf-8"))
    assert all(row["what"] and row["product"] for row in measured)
    return measured


@pytest.fixture(scope="module")
def shared() -> Iterator[None]:
    """One platform for all parts that take one as it is."""
    with Platforms.sharing():
        yield


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("part", PARTS)
def test_a_part_measures_and_says_so_in_rows(tmp_path: Path, part: str) -> None:
    rows = _bench(tmp_path, part)
    assert {row["part"] for row in rows} == {part}


def test_a_part_is_played_beside_another_checkout(tmp_path: Path) -> None:
    for row in _bench(tmp_path, "--beside", str(ROOT), "--rounds", "2", "alone"):
        assert row["beside"]
        assert {name: len(values) for name, values in row["rounds"].items()} == {"product": 2, "beside": 2, "ratio": 2}
        assert " to " in row["spread"]


def test_an_unknown_part_is_refused_with_those_there_are() -> None:
    command = [sys.executable, "-m", "bench", "nothing"]
    refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    assert refused.returncode == 2
    assert f"unknown part 'nothing'; the parts are {', '.join(PARTS)}" in refused.stderr


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
