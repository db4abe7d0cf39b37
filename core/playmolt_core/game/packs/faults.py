"""What is wrong with a pack, and where."""

from collections.abc import Mapping
from typing import Literal

import msgspec

FaultCode = Literal[
    "syntax", "unknown_key", "missing_key", "wrong_type", "out_of_bounds", "unknown_file", "missing_text", "extra_text",
    "bad_reference", "never_opens", "dead_end", "unreachable_node", "never_offered", "never_breaks", "lost_for_good",
    "ending_unreachable", "ending_missing", "ending_twice", "gives_away", "twice",
]  # fmt: skip
Path = tuple[str | int, ...]
"""Where something stands in a file: keys, and places in arrays."""
Lines = Mapping[Path, int]


class PackFlaw(msgspec.Struct, frozen=True):
    """A fault whose line is not looked up yet."""

    file: str
    path: Path
    code: FaultCode
    message: str


class PackFault(msgspec.Struct, frozen=True, order=True):
    """`file` is relative to the folder; `line` that of the table or key, 1 for a file that is missing."""

    file: str
    line: int
    code: FaultCode
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.code}: {self.message}"


def located(flaw: PackFlaw, lines: Lines) -> PackFault:
    """At the line of what is at fault, or of the nearest table around it."""
    path = flaw.path
    while path and path not in lines:
        path = path[:-1]
    return PackFault(flaw.file, lines.get(path, 1), flaw.code, flaw.message)


class InvalidPack(ValueError):
    """A pack cannot be played; `faults` are all that is wrong with it."""

    def __init__(self, faults: tuple[PackFault, ...]) -> None:
        self.faults = faults
        super().__init__("\n".join(map(str, faults)))
