"""A child's log stays small and its errors are told once."""

import json
from pathlib import Path

import pytest
from playmolt_cli.local.logfile import LogFile


def _append(path: Path, *lines: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _line(level: str, event: str, **more: str) -> str:
    return json.dumps({"level": level, "event": event, **more})


def test_errors_written_since_the_last_look_are_reported_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "relay-1.log"
    _append(path, _line("error", "old"))
    log = LogFile(path)
    _append(path, _line("info", "fine"), _line("error", "feed_broken", detail="why"), "plain text", "[1]")
    assert list(log.errors()) == ["feed_broken why"]
    assert list(log.errors()) == []


def test_a_line_that_is_only_half_written_is_told_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    log = LogFile(path)
    text = _line("error", "late")
    path.write_text(text[:10])
    assert list(log.errors()) == []
    with path.open("a") as file:
        file.write(text[10:] + "\n")
    assert list(log.errors()) == ["late"]


def test_an_exception_is_reported_by_its_last_line(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    log = LogFile(path)
    _append(path, _line("error", "failed", exception="Traceback\n  File\nValueError: bad"))
    assert list(log.errors()) == ["failed ValueError: bad"]


def test_a_grown_file_is_put_aside_before_a_start(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    _append(path, "a long line of text")
    log = LogFile(path, rotate_bytes=10)
    log.rotate()
    assert not path.exists()
    assert path.with_suffix(".log.1").read_text() == "a long line of text\n"
    _append(path, _line("error", "new"))
    assert list(log.errors()) == ["new"]


def test_a_running_child_cannot_fill_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    log = LogFile(path, truncate_bytes=200)
    with path.open("ab") as child:
        for _ in range(100):
            child.write(b"x" * 99 + b"\n")
            child.flush()
            list(log.errors())
            assert path.stat().st_size <= 300
    assert path.with_suffix(".log.1").stat().st_size <= 300


def test_on_a_full_disk_the_old_lines_go_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", full)
    path = tmp_path / "x.log"
    log = LogFile(path, truncate_bytes=10)
    _append(path, _line("error", "disk_full"))
    assert list(log.errors()) == ["disk_full"]
    assert path.stat().st_size == 0


def test_the_last_line_says_why_a_child_died(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    assert LogFile(path).last_line() == ""
    _append(path, "Traceback", "KeyError: 'x'", "")
    assert LogFile(path).last_line() == "KeyError: 'x'"
