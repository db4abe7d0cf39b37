"""Distribution of tests to workers: tests that share a platform stay together, and the platform ends after the last."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.order import EACH, LONGEST, PARTS, PROCESSES, SLOW, TOGETHER, Shared, in_order, is_fast, piece

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[1]


class Item:
    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid


def ordered(*nodeids: str) -> list[str]:
    items: list[Any] = [Item(nodeid) for nodeid in nodeids]
    return [item.nodeid for item in in_order(items)]


def test_whatever_is_named_is_there() -> None:
    named = [*EACH, *LONGEST, *PROCESSES, *SLOW, *TOGETHER]
    named += [f"{folder}/{file}" for folder, files in TOGETHER.items() for file in files]
    named += [f"{folder}/{file}" for folder, parts in PARTS.items() for part in parts for file in part]
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_fast_are_unit_tests_that_start_no_process_and_take_no_time() -> None:
    left_out = ("tests/test_order.py", "cli/tests/test_demo.py", "lab/tests/simulation/test_a.py")
    assert [is_fast(file) for file in (*left_out, "core/tests/test_settings.py")] == [False, False, False, True]


@pytest.mark.parametrize(
    ("nodeid", "expected"),
    [
        ("tests/browser/test_access.py::test_a", "tests/browser"),
        ("tests/browser/test_jury.py::test_a", "tests/browser/test_jury.py"),
        ("tests/browser/test_watch.py::test_a", "tests/browser/test_jury.py"),
        ("tests/integration/gateway/audit/test_names.py::test_a[::]", "tests/integration/gateway/audit"),
        ("tests/integration/platform/test_soak.py::test_a", "tests/integration/platform/test_soak.py"),
        ("core/tests/test_settings.py::TestA::test_b", "core/tests/test_settings.py"),
        ("cli/tests/test_demo.py::test_a[EUC-KR]", "cli/tests/test_demo.py::test_a[EUC-KR]"),
    ],
)
def test_a_piece_is_a_file_a_folder_that_shares_a_part_of_it_or_a_test_by_itself(nodeid: str, expected: str) -> None:
    assert piece(nodeid) == expected


def test_what_waits_for_processes_comes_first_and_the_larger_file_before_the_smaller() -> None:
    few, many, page, game = "core/a.py::a", "core/b.py::", "tests/browser/a.py::", "tests/integration/gateway/a.py::a"
    alone, part = "tests/integration/platform/test_soak.py::a", "tests/browser/test_legal.py::a"
    slow = "sdk/tests/test_loop.py::a"
    assert ordered(few, alone, f"{many}a", part, f"{page}a", slow, f"{many}b", game, f"{page}b") == [
        game, f"{page}a", f"{page}b", part, alone, slow, f"{many}a", f"{many}b", few,
    ]  # fmt: skip


def test_what_a_folder_shares_ends_with_its_last_test(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    shared = "import pytest\n@pytest.fixture(scope='session')\ndef shared({}):\n    {}\n"
    for folder, name in (("tests", "whole"), ("tests/browser", "shared")):
        (pytester.path / folder).mkdir()
        body = f"print('begun {name}')\n    yield\n    print('ended {name}')"
        (pytester.path / folder / "conftest.py").write_text(
            shared.format("", body).replace("def shared", f"def {name}")
        )
    for number, path in enumerate(("browser/test_a", "browser/test_b", "browser/test_jury", "test_c")):
        fixtures = "whole, shared" if "browser" in path else "whole"
        (pytester.path / "tests" / f"{path}.py").write_text(f"def test_it({fixtures}):\n    print('test {number}')\n")
    result = pytester.runpytest_inprocess("-s", "-p", "no:randomly", "-p", "no:cacheprovider", plugins=[Shared()])
    result.assert_outcomes(passed=4)
    said = re.findall(r"(?:begun|ended) \w+|test \d$", result.stdout.str(), re.MULTILINE)
    assert said == [
        "begun whole", "begun shared", "test 0", "test 1", "ended shared", "begun shared", "test 2", "ended shared",
        "test 3", "ended whole",
    ]  # fmt: skip


def test_a_file_that_cannot_be_imported_fails_a_run_of_workers(pytester: pytest.Pytester) -> None:
    """The process from which workers are forked has already tried to import the file."""
    pytester.makeini("[pytest]\naddopts = --import-mode=importlib")
    pytester.makepyfile(test_broken="import there_is_no_such_module\ndef test_a() -> None: ...")
    lines = ("import sys, pytest", f"sys.path.insert(0, {str(ROOT)!r})", "from tests import workers")
    script = "\n".join((*lines, "workers._import_tests(['.'])", "raise SystemExit(pytest.main())"))
    ended = pytester.run(sys.executable, "-c", script, timeout=120)
    assert ended.ret == pytest.ExitCode.INTERRUPTED
    ended.stdout.fnmatch_lines(["*ModuleNotFoundError*there_is_no_such_module*"])
