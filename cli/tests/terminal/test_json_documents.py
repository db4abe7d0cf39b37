"""What `--json` prints: nothing that a command has worked out is lost by how it is written."""

import datetime
import json
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from playmolt_cli.main import cli
from playmolt_cli.terminal.options import json_bytes


class _Result(msgspec.Struct):
    rate: float
    ok: bool | None


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (np.float64(0.25), 0.25), (np.float32(0.5), 0.5), (np.int64(3), 3), (np.bool_(False), False),
        (np.float64("nan"), None), (float("inf"), None), (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.str_("a"), "a"), (np.datetime64("2026-03-04"), "2026-03-04"),
        (_Result(np.float64(0.5), None), {"rate": 0.5, "ok": None}),
        (datetime.date(2026, 3, 4), "2026-03-04"),
        (datetime.datetime(2026, 3, 4, tzinfo=datetime.UTC), "2026-03-04T00:00:00Z"),
        (pl.DataFrame({"a": [1, None]}), [{"a": 1}, {"a": None}]), (pl.Series([1, 2]), [1, 2]),
        (Path("/data"), "/data"),
        (Decimal("1.10"), "1.10"), ({3}, [3]), (MappingProxyType({"a": np.int8(1)}), {"a": 1}),
        (iter("ab"), ["a", "b"]),
        ({np.int64(1): np.float64("nan"), "text": "\ud800"}, {"1": None, "text": "\ud800"}),
        ({(1, 2): datetime.date(2026, 3, 4)}, {"(1, 2)": "2026-03-04"}), (ValueError("why"), "why"),
    ],
)  # fmt: skip
def test_every_value_is_written(value: Any, written: Any) -> None:
    read = json.loads(json_bytes({"value": [value, {"deep": value}]} if not _once(value) else {"value": [value]}))
    assert read["value"][0] == written
    assert all(each["deep"] == written for each in read["value"][1:])


def _once(value: object) -> bool:
    return isinstance(value, Iterable) and iter(value) is value


@pytest.mark.parametrize("test", ["pcs_test", "ri_star:model", "ri_star:persona", "H2"])
def test_a_simulation_of_any_test_is_printed_with_plain_values(test: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["agora", "simulate", test, "--short", "--json", "--out", str(tmp_path)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    rows = json.loads(done.stdout)["rows"]
    assert rows
    assert {type(row[name]) for row in rows for name in ("estimate", "lo", "hi")} == {float}
    assert done.exit_code == int(any(row["ok"] is False for row in rows))
