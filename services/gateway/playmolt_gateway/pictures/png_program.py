"""Renders SVG to PNG for the gateway, one picture after the other, until its input ends.

A process of its own: the library holds the interpreter's lock while it renders. Input: width, height and length
(little-endian, 2 + 2 + 4 bytes), then the SVG. Output: length (4 bytes), then the PNG; a length of 0 is a failure.
"""

import os
import resource
import struct
import sys
from collections.abc import Sequence
from typing import BinaryIO, Final

import resvg_py

HEAD: Final = struct.Struct("<HHI")
LENGTH: Final = struct.Struct("<I")
_NICE: Final = 2
_MEMORY_BYTES: Final = 1024 * 1024 * 1024


def render(svg: str, width: int, height: int, font: str, font_files: Sequence[str]) -> bytes:
    """The PNG of an SVG, in these fonts alone; raises ValueError for an invalid one."""
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            width=width,
            height=height,
            font_files=list(font_files),
            skip_system_fonts=True,
            font_family=font,
            sans_serif_family=font,
        )
    )


def serve(asked: BinaryIO, given: BinaryIO, font: str, *font_files: str) -> None:
    while len(head := asked.read(HEAD.size)) == HEAD.size:
        width, height, length = HEAD.unpack(head)
        try:
            drawn = render(asked.read(length).decode(), width, height, font, font_files)
        except ValueError:
            drawn = b""
        given.write(LENGTH.pack(len(drawn)) + drawn)
        given.flush()


def main() -> None:
    os.nice(_NICE)
    for limit, most in ((resource.RLIMIT_AS, _MEMORY_BYTES), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(limit)
        resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    serve(sys.stdin.buffer, sys.stdout.buffer, *sys.argv[1:])


if __name__ == "__main__":
    main()
