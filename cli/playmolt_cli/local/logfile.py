"""A child's log file: limits its size and reports each error once."""

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

ROTATE_BYTES = 8 * 1024 * 1024
TRUNCATE_BYTES = 64 * 1024 * 1024
_ERRORS = frozenset({"error", "critical"})
_READ_BYTES = 256 * 1024


class LogFile:
    """A file that a child appends to: at most TRUNCATE_BYTES, plus as much in a second file `.1`."""

    def __init__(self, path: Path, rotate_bytes: int = ROTATE_BYTES, truncate_bytes: int = TRUNCATE_BYTES) -> None:
        self.path = path
        self._rotate_bytes = rotate_bytes
        self._truncate_bytes = truncate_bytes
        self._read_to = self._size()
        self._rest = b""

    def rotate(self) -> None:
        """Start a new file if the current one is over `rotate_bytes`; call it before the child starts."""
        if self._size() > self._rotate_bytes:
            self.path.replace(self._older)
            self._read_to, self._rest = 0, b""

    def errors(self) -> Iterator[str]:
        """Summaries of the error lines written since the last call."""
        size = self._size()
        if size < self._read_to:
            self._read_to = 0
        if size > self._read_to:
            with self.path.open("rb") as file:
                file.seek(self._read_to)
                chunk = file.read(_READ_BYTES)
            self._read_to += len(chunk)
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._rest = self._rest[-_READ_BYTES:]
            yield from (summary for line in lines if (summary := _error_summary(line)))
        if size > self._truncate_bytes:
            # The child writes with O_APPEND, so it continues at the new end of the file.
            with suppress(OSError):  # on a full disk, truncate without a copy
                shutil.copyfile(self.path, self._older)
            self.path.open("wb").close()

    def last_line(self) -> str:
        """The last non-empty line, cut to 300 characters; empty if there is none."""
        if not self.path.exists():
            return ""
        with self.path.open("rb") as file:
            file.seek(max(0, self._size() - 8192))
            lines = file.read().decode(errors="replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")

    @property
    def _older(self) -> Path:
        return self.path.with_suffix(".log.1")

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0


def _error_summary(line: bytes) -> str:
    try:
        entry = json.loads(line)
    except ValueError:
        return ""
    if not isinstance(entry, dict) or entry.get("level") not in _ERRORS:
        return ""
    detail = entry.get("detail") or str(entry.get("exception", "")).strip().rpartition("\n")[2]
    return f"{entry.get('event', 'error')} {detail}".strip()[:300]
