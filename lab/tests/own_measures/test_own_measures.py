"""Custom measures run over turns in a sandboxed process."""

import socket
import sys
from typing import Any

import pytest
from msgspec.structs import replace
from playmolt_agora.measures.data.turns import table
from playmolt_agora.own_measures import running
from playmolt_agora.own_measures.running import measured
from playmolt_agora_runner import rehearsal
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_schemas.instrument import measure_file as declaration
from playmolt_schemas.instrument.measure_file import MeasureDeclaration
from playmolt_schemas.stored.agora.plan import Plan

HEAD = """\
import polars as pl
KEYS = ("run", "agent")
COLUMNS = {"run": "str", "agent": "str", "acts": "int"}
LABELS = {"acts": {"ko": "행동", "en": "Acts"}}
SECONDS, MEMORY_MB = 20, 512


def measure(turns):
"""
GOOD = '    return turns.group_by("run", "agent").agg(pl.len().cast(pl.Int64).alias("acts"))\n'

WITHOUT_LIMITS = """
import builtins, re, resource, runpy, types
_open, _set = builtins.open, resource.setrlimit
def used(who):
    with _open("/proc/self/status") as file:
        return types.SimpleNamespace(ru_maxrss=int(re.search(r"VmHWM:\\s+(\\d+)", file.read())[1]))
def opened(file, *more, **named):
    if str(file).startswith("/proc"):
        raise FileNotFoundError(file)
    return _open(file, *more, **named)
def limited(which, bounds):
    if which == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    _set(which, bounds)
builtins.open, resource.setrlimit, resource.getrusage = opened, limited, used
runpy.run_module("playmolt_agora.own_measures.child", run_name="__main__")
"""


def declared(body: str) -> MeasureDeclaration:
    found = declaration.read("mine", HEAD + body)
    assert isinstance(found, MeasureDeclaration), found
    return found


@pytest.fixture(scope="module")
def turns(plan: Plan, folder: PlanFolder) -> Any:
    return table(rehearsal.records(plan, folder.rooms, folder.texts))


def test_the_examples_shares_of_a_run_sum_to_one(turns: Any, folder: PlanFolder) -> None:
    found = measured(folder.measures[0], turns)
    assert found.code is None, found.detail
    rows = found.table.to_pylist()
    assert {row["agent"] for row in rows} == set(turns.column("agent").to_pylist())
    for run in {row["run"] for row in rows}:
        shares = [row["share"] for row in rows if row["run"] == run and row["share"] is not None]
        assert not shares or sum(shares) == pytest.approx(1)


def test_a_measure_sees_every_turn(turns: Any) -> None:
    found = measured(declared(GOOD), turns)
    assert sum(row["acts"] for row in found.table.to_pylist()) == turns.num_rows


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("    while True:\n        pass\n", "measure_timeout"),
        ("    return 1 / 0\n", "measure_failed"),
        ("    x = bytearray(4 * 1024 ** 3)\n" + GOOD, "measure_memory"),
        ('    return turns.select("run", "agent")\n', "measure_output"),
        ('    return turns.select("run", "agent", pl.lit(1).alias("acts"))\n', "measure_output"),
        ("    import pyarrow as pa\n    return pa.table([['x']] * 3, ['run', 'agent', 'agent'])\n", "measure_output"),
        (
            "    import pyarrow as pa\n    span = pa.array([(1, 2, 3)], pa.month_day_nano_interval())\n"
            "    return pa.table({'run': ['x'], 'agent': ['y'], 'acts': span})\n",
            "measure_output",
        ),
        ('    open("kept", "w").write("x")\n' + GOOD, "measure_forbidden"),
        ("    import os\n    os.system('true')\n" + GOOD, "measure_forbidden"),
    ],
    ids=["loops", "raises", "eats", "columns", "keys", "twice", "type", "writes", "starts"],
)
def test_one_that_does_not_hold_is_a_code(turns: Any, body: str, code: str) -> None:
    found = measured(declared(body), turns, seconds=2 if code == "measure_timeout" else 20)
    assert found.code == code, found.detail
    assert found.table is None


def test_a_number_that_its_type_cannot_hold_is_a_code_and_no_crash(turns: Any) -> None:
    """A hash of polars has 64 bits without a sign."""
    found = measured(declared(GOOD.replace("pl.len().cast(pl.Int64)", "pl.lit(2**63, pl.UInt64).first()")), turns)
    assert (found.code, found.table) == ("measure_output", None)
    assert "column acts has a value that int64 cannot hold" in found.detail


def test_a_column_of_nulls_has_any_type(turns: Any) -> None:
    found = measured(declared(GOOD.replace("pl.len().cast(pl.Int64)", "pl.lit(None).first()")), turns)
    assert found.code is None, found.detail
    assert str(found.table.schema.field("acts").type) == "int64"
    nothing = measured(declared('    return pl.DataFrame({"run": [], "agent": [], "acts": []})\n'), turns)
    assert (nothing.code, nothing.rows) == (None, 0), nothing.detail


def test_a_table_without_columns_lacks_those_declared(turns: Any) -> None:
    found = measured(declared("    return pl.DataFrame()\n"), turns)
    assert (found.code, found.detail) == (
        "measure_output",
        "returned the columns (none); the declared columns are run, agent, acts",
    )


def test_keys_are_told_apart_as_they_are_written(turns: Any) -> None:
    """A number that is not finite is written as null, so two of them are one key."""
    numbers = HEAD.replace('("run", "agent")', '("acts",)').replace('"acts": "int"', '"acts": "float"')
    twice = '    return pl.DataFrame({"run": ["a", "b"], "agent": ["a", "b"], "acts": [float("nan"), float("inf")]})\n'
    labels = '"acts": {"ko": "행동", "en": "Acts"}'
    others = "".join(f'"{name}": {{"ko": "{name}", "en": "{name}"}}, ' for name in ("run", "agent"))
    made = declaration.read("mine", numbers.replace(labels, others + labels) + twice)
    assert isinstance(made, MeasureDeclaration), made
    assert measured(made, turns).code == "measure_output"


def test_of_too_many_rows_no_more_are_read_than_show_it(turns: Any) -> None:
    endless = declared(
        "    import pyarrow as pa\n    n = 3_000_000\n"
        "    return pa.table({'run': pa.repeat('x', n), 'agent': pa.repeat('y', n), 'acts': pa.repeat(1, n)})\n"
    )
    assert running._answer(endless, turns, 20, running._CHILD).rows == declaration.ROWS_MOST + 1
    found = measured(endless, turns)
    assert (found.code, found.table) == ("measure_output", None)
    assert "more than 1,000,000 rows" in found.detail


def test_one_that_calls_out_reaches_nobody(turns: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        call = f"    import socket\n    socket.create_connection(('127.0.0.1', {port}), 1)\n"
        assert measured(declared(call + GOOD), turns).code == "measure_forbidden"
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_fault_names_the_line_that_raised(turns: Any) -> None:
    found = measured(declared("    first = 1\n    raise ValueError('of mine')\n"), turns)
    assert (found.line, "of mine" in found.detail) == (HEAD.count("\n") + 2, True)


def test_before_the_lock_each_is_tried_and_one_that_changes_is_refused(plan: Plan, folder: PlanFolder) -> None:
    drawn = GOOD.replace("pl.len()", "pl.lit(__import__('os').getpid())")
    asked = rehearsal.tried(plan, _with(folder, declared(drawn)), running.trial_faults)
    assert [(fault.file, fault.code) for fault in asked.faults] == [("measures/mine.py", "measure_unstable")]
    assert rehearsal.tried(plan, _with(folder, declared(GOOD)), running.trial_faults).faults == ()


def _with(folder: PlanFolder, measure: MeasureDeclaration) -> PlanFolder:
    return replace(folder, measures=(measure,))


def test_a_measure_runs_where_the_system_lacks_limits(turns: Any) -> None:
    """As on macOS, which has no /proc and takes no limit of memory; the process then watches its own."""
    command = (sys.executable, "-I", "-B", "-c", WITHOUT_LIMITS)
    found = measured(declared(GOOD), turns, command=command)
    assert sum(row["acts"] for row in found.table.to_pylist()) == turns.num_rows
    greedy = HEAD.replace("512", "64") + "    kept = [bytes([1]) * 1024 ** 2 for _ in range(400)]\n" + GOOD
    made = declaration.read("mine", greedy)
    assert isinstance(made, MeasureDeclaration), made
    assert measured(made, turns, command=command).code == "measure_memory"
