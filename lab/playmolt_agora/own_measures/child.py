"""The process of one measure: it reads turns and a declaration, runs the function once, and writes what it gave.

Started in isolated mode, with nothing of the environment, in an empty folder. It has no connections: turns arrive as an
Arrow stream on its standard input after one line of JSON, and the answer leaves on standard output. What the guard
forbids is recorded, so that a measure that catches the error is reported too.
"""

import json
import os
import sys
import traceback
from typing import Any

import polars as pl
import pyarrow as arrow  # type: ignore[import-untyped]
from playmolt_schemas.instrument.measure_file import ROWS_MOST
from playmolt_schemas.process_limits import MemoryLimit, set_limits

from playmolt_agora.own_measures.confinement import WRITING, confine

_FORBIDDEN_EVENTS = (
    "socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "pty.", "os.remove",
    "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown", "os.kill",
    "os.utime", "shutil.", "tempfile.", "urllib.Request", "sqlite3.connect",
)  # fmt: skip
_REFUSED_WORDS = ("permission denied", "operation not permitted", "os error 1)", "os error 13", "file too large")
"""Native code's message that the kernel denied a call."""
_MEMORY_WORDS = ("out of memory", "memory allocation")

_OUT = os.fdopen(os.dup(1), "wb")
# What a measure prints is not part of the answer.
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class Forbidden(PermissionError):
    """What a measure may not do."""


class Guard:
    """Refuses what is not the measure's business once it is on, and remembers it."""

    def __init__(self) -> None:
        self.on = False
        self.tried: list[str] = []

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self.on:
            return
        if event == "open":
            self._open(*arguments)
        elif event.startswith(_FORBIDDEN_EVENTS):
            self.refuse(event)

    def _open(self, path: Any, mode: Any, flags: Any) -> None:
        writes = isinstance(flags, int) and flags & WRITING
        if (mode and set(mode) & set("wax+")) or (writes and path != os.devnull):
            self.refuse(f"open {path!r} for writing")

    def refuse(self, what: object) -> None:
        """Note that it was tried, and refuse it."""
        self.tried.append(str(what)[:200])
        raise Forbidden(f"a measure may not do that: {what}")


def _watch_writers(guard: Guard) -> None:
    """The writers of polars are native: Python would not hear of them."""
    for kind, starts in ((pl.DataFrame, "write_"), (pl.LazyFrame, "sink_")):
        for name in [name for name in vars(kind) if name.startswith(starts)]:
            setattr(kind, name, _watched(getattr(kind, name), name, guard))


def _watched(method: Any, name: str, guard: Guard) -> Any:
    def watched(self: Any, *arguments: Any, **named: Any) -> Any:
        targets = [*arguments[:1], *(named.get(key) for key in ("file", "path", "database", "workbook"))]
        if guard.on and any(isinstance(target, str | os.PathLike) for target in targets):
            guard.refuse(name)
        return method(self, *arguments, **named)

    return watched


def _limited(memory_mb: int, seconds: int) -> MemoryLimit:
    """No file grows, no process starts, so much memory and processor time, as far as the system can say so."""
    set_limits({"RLIMIT_FSIZE": (0, 0), "RLIMIT_CORE": (0, 0), "RLIMIT_CPU": (seconds + 5, seconds + 10)})
    head = {"code": "measure_memory", "detail": f"took more than {memory_mb} MB"}
    # It ends in the middle of whatever runs.
    return MemoryLimit(memory_mb * 1024 * 1024, lambda: _answer(head))


def _answer(head: dict[str, Any], table: Any = None) -> None:
    """One line of JSON, and the table after it; then the process ends, whatever the measure left behind."""
    _OUT.write(json.dumps(head).encode() + b"\n")
    if table is not None:
        with arrow.ipc.new_stream(_OUT, table.schema) as writer:
            writer.write_table(table)
    _OUT.flush()
    os._exit(0)


def _run(task: dict[str, Any], turns: Any, guard: Guard) -> Any:
    """The table that the measure gives."""
    frame = pl.DataFrame(turns).lazy()
    frame.select(pl.len()).collect()  # its threads are there before the guard is
    _watch_writers(guard)
    code = compile(task["text"], "<measure>", "exec")
    space: dict[str, Any] = {"__name__": "measure", "__builtins__": __builtins__}
    memory = _limited(task["memory_mb"], task["seconds"])
    confine()
    _OUT.write(b"started\n")
    _OUT.flush()
    guard.on = True
    exec(code, space)  # noqa: S102 -- what this process is for
    found = space["measure"](frame)
    if isinstance(found, pl.LazyFrame):
        found = found.collect()
    guard.on = False
    memory.check()
    if isinstance(found, pl.DataFrame):
        found = found.to_arrow()
    if not isinstance(found, arrow.Table):
        raise TypeError(f"measure returned {type(found).__name__}; return a LazyFrame, a DataFrame or an Arrow table")
    return found.slice(0, ROWS_MOST + 1)  # more are refused, and would fill the memory of who reads them


def _failure(error: BaseException, task: dict[str, Any]) -> dict[str, object]:
    said = str(error).lower()
    if isinstance(error, MemoryError) or any(words in said for words in _MEMORY_WORDS):
        return {"code": "measure_memory", "detail": f"took more than {task['memory_mb']} MB"}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<measure>"]
    line = frames[-1].lineno if frames else getattr(error, "lineno", None)
    return {"code": "measure_failed", "detail": f"{type(error).__name__}: {error}"[:1000], "line": line}


def main() -> None:
    """Run one measure and exit."""
    guard = Guard()
    sys.addaudithook(guard)
    task = json.loads(sys.stdin.buffer.readline())
    turns = arrow.ipc.open_stream(sys.stdin.buffer).read_all()
    table: Any = None
    head: dict[str, object] = {"code": None, "detail": ""}
    try:
        table = _run(task, turns, guard)
    except BaseException as error:
        guard.on = False
        head = _failure(error, task)
        if any(words in str(error).lower() for words in _REFUSED_WORDS):
            guard.tried.append(str(error)[:200])
    if guard.tried:
        head, table = {"code": "measure_forbidden", "detail": f"tried what it may not: {guard.tried[0]}"}, None
    _answer(head, table)


if __name__ == "__main__":
    main()
