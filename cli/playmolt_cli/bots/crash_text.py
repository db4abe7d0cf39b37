"""What a program that broke left on standard error: where in its own file, and why, in one line."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_PYTHON: Final = re.compile(r'^\s*File "([^"]+)", line (\d+)', re.MULTILINE)
"""Outermost first; every other language tells the innermost first."""
_OTHERS: Final = re.compile(r"(?:^|[\s(])(?:file://)?([^\s():\"']+\.\w+):(\d+)\b", re.MULTILINE)
_REASON: Final = re.compile(
    r"^(?:\S*(?:Error|Exception)\b|panic:|thread '.*panicked|Exception in thread).*", re.MULTILINE
)
_LONGEST: Final = 300


def crash_of(said: str, command: Sequence[str]) -> str:
    """`FILE:LINE: reason`, as far as it can be told; "" when nothing was said."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not lines:
        return ""
    python = _PYTHON.findall(said)
    reason = None if python else _REASON.search(said)
    told = reason.group() if reason else lines[-1] if python else lines[0]
    place = _deepest(list(reversed(python)) or _OTHERS.findall(said), command)
    return f"{place}: {told}"[:_LONGEST] if place and not told.startswith(place) else told[:_LONGEST]


def _deepest(frames: Sequence[tuple[str, str]], command: Sequence[str]) -> str:
    """The first frame in a file that the command names, else in one beside it, else the first."""
    named = [Path(word).resolve() for word in command if Path(word).is_file()]
    own = [frame for frame in frames if Path(frame[0]).resolve() in named]
    beside = [frame for frame in frames if Path(frame[0]).resolve().parent in {path.parent for path in named}]
    file, line = next(iter(own or beside or frames), ("", ""))
    return f"{Path(file).name}:{line}" if file else ""
