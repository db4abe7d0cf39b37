"""A figure as an object: its picture in every format, and the numbers behind it."""

from pathlib import Path
from typing import Final

from playmolt_agora.studies.table import Table

_DPI: Final = 300


class Figure:
    """A figure. It shows itself in a notebook."""

    def __init__(self, name: str, title: str, size: tuple[float, float], svg: str, data: Table) -> None:
        self.name = name
        self.title = title
        self.width_mm, self.height_mm = size
        self.svg = svg
        self.data = data

    def __repr__(self) -> str:
        return f"Figure({self.name!r}, {self.width_mm:g} × {self.height_mm:g} mm)"

    def _repr_svg_(self) -> str:
        return self.svg

    @property
    def pdf(self) -> bytes:
        from playmolt_agora.report.printing import formats  # noqa: PLC0415 -- loads what writes PDF

        return formats.pdf(self.svg, self.title)

    def png(self, dpi: int = _DPI) -> bytes:
        from playmolt_agora.report.printing import formats  # noqa: PLC0415 -- as above

        return formats.png(self.svg, dpi)

    def save(self, path: str | Path) -> None:
        """Write the picture in the format of the path's ending. ValueError for another one than svg, pdf, png."""
        ending = Path(path).suffix.lower()
        if ending == ".svg":
            body = self.svg.encode()
        elif ending == ".pdf":
            body = self.pdf
        elif ending == ".png":
            body = self.png()
        else:
            raise ValueError(f"{path}: figures are written as .svg, .pdf or .png")
        Path(path).write_bytes(body)
