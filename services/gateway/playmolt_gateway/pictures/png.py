"""Pictures as PNG for link previews and READMEs: the same SVG with the colors of the pages."""

import re
from functools import cache
from importlib.resources import files
from typing import Final, Literal

import resvg_py

from playmolt_gateway.pictures.scene import Picture

Theme = Literal["light", "dark"]
_WEB: Final = "playmolt_gateway", "web"
_VARIABLE: Final = re.compile(r"--([\w-]+):\s*([^;]+);")
_USED: Final = re.compile(r"var\(--([\w-]+)\)")
FONT: Final = "Noto Sans KR"


def png(picture: Picture, theme: Theme = "light") -> bytes:
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=picture.svg(style(theme)), width=picture.sheet.width, height=picture.sheet.height,
            font_files=list(_fonts()), font_family=FONT, sans_serif_family=FONT,
        )
    )  # fmt: skip


@cache
def style(theme: Theme) -> str:
    """The CSS of the pictures, with variables replaced by their values."""
    sheet = files(_WEB[0]).joinpath(_WEB[1], "style.css").read_text(encoding="utf-8")
    light, _, dark = sheet.partition("@media (prefers-color-scheme: dark)")
    values = dict(_VARIABLE.findall(light))
    if theme == "dark":
        values |= dict(_VARIABLE.findall(dark[: dark.index("}\n}")]))
    rules = files(_WEB[0]).joinpath(_WEB[1], "picture.css").read_text(encoding="utf-8")
    return _USED.sub(lambda found: values[found[1]].strip(), rules)


@cache
def _fonts() -> tuple[str, ...]:
    """The bundled font covers Latin and Hangul; system fonts cover the rest."""
    return (str(files("pylopdf_fonts_ko").joinpath("NotoSansKR-Regular.otf")),)
