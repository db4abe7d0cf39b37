"""Redraws the icons of the pages from `web/mark.svg`: `python -m tests.icons`."""

import re
import struct
from collections.abc import Mapping
from typing import Final

from playmolt_gateway.pages.assets import FILES
from playmolt_gateway.pictures.letters import FONT_FILES
from playmolt_gateway.pictures.png import FONT
from playmolt_gateway.pictures.png_program import render

PNG_SIZES: Final = (180, 192, 512)
ICO_SIZES: Final = (16, 32, 48)


def drawn(size: int) -> bytes:
    """The mark as a PNG of this width and height."""
    mark = (FILES / "mark.svg").read_text("utf-8")
    return render(
        re.sub(r"<svg ", f'<svg width="{size}" height="{size}" ', mark, count=1), size, size, FONT, FONT_FILES
    )


def ico(pictures: Mapping[int, bytes]) -> bytes:
    """An ICO file: a directory, then the PNG pictures, which are given by size."""
    head, body = struct.pack("<HHH", 0, 1, len(pictures)), b""
    for size, picture in pictures.items():
        place = 6 + 16 * len(pictures) + len(body)
        head += struct.pack("<BBBBHHII", size, size, 0, 0, 1, 32, len(picture), place)
        body += picture
    return head + body


def files() -> Mapping[str, bytes]:
    """Name → content of every icon."""
    icons = {f"mark-{size}.png": drawn(size) for size in PNG_SIZES}
    return icons | {"favicon.ico": ico({size: drawn(size) for size in ICO_SIZES})}


if __name__ == "__main__":
    for name, content in files().items():
        (FILES / name).write_bytes(content)
