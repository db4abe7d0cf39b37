"""Faults of packs, with their places."""

from collections.abc import Mapping
from typing import Literal

import msgspec

FaultCode = Literal[
    "syntax", "unknown_key", "missing_key", "wrong_type", "out_of_bounds", "unknown_file", "missing_text", "extra_text",
    "bad_reference", "never_opens", "dead_end", "unreachable_node", "never_offered", "never_breaks", "lost_for_good",
    "ending_unreachable", "ending_missing", "ending_twice", "gives_away", "twice",
]  # fmt: skip
Path = tuple[str | int, ...]
"""A place in a file: keys and array indexes."""
Lines = Mapping[Path, int]


class PackFlaw(msgspec.Struct, frozen=True):
    """A fault before its line is looked up."""

    file: str
    path: Path
    code: FaultCode
    message: str


class PackFault(msgspec.Struct, frozen=True, order=True):
    """`file` is relative to the folder; `line` is that of the table or key, or 1 for a missing file."""

    file: str
    line: int
    code: FaultCode
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.code}: {self.message}"


def located(flaw: PackFlaw, lines: Lines) -> PackFault:
    """The fault with the line of its place, or of the nearest enclosing table."""
    path = flaw.path
    while path and path not in lines:
        path = path[:-1]
    return PackFault(flaw.file, lines.get(path, 1), flaw.code, flaw.message)


class InvalidPack(ValueError):
    """An invalid pack, with all its faults."""

    def __init__(self, faults: tuple[PackFault, ...]) -> None:
        self.faults = faults
        super().__init__("\n".join(map(str, faults)))
