"""Fonts inside a PDF whose codes are the numbers of their glyphs (`/Identity-H`): every reader of texts knows these.

For an OpenType font with numbers of its own the library writes a map from its codes to these, and pypdf and
pdfminer.six do not read that map (`findings/fpdf2_cid_fonts.sh`).
"""

import io
from typing import Any

from fontTools.ttLib import TTFont
from fpdf.fonts import Glyph, TTFFont
from fpdf.output import OutputProducer, PDFFont
from fpdf.syntax import Name, PDFObject
from typing_extensions import override

_NOT_DEFINED = 0
_NEEDED = frozenset(("CFF ", "head", "maxp"))
"""Tables that the file's fonts are written from; the library has read all others."""


class PdfProducer(OutputProducer):
    """Writes a document all of whose fonts are OpenType with outlines in CFF by number."""

    @override
    def _add_fonts(self, *objects: Any) -> dict[int, Any]:
        for font in self.fpdf.fonts.values():
            if isinstance(font, TTFFont):
                _renumber(font)
        made = super()._add_fonts(*objects)
        for each in made.values():
            if isinstance(each, PDFFont):
                each.encoding = Name("Identity-H")
        return made

    @override
    def _add_pdf_obj(self, pdf_obj: PDFObject, trace_label: str | None = None) -> int:
        if getattr(pdf_obj, "type", None) == "CMap":  # from codes to the same numbers
            return 0
        return super()._add_pdf_obj(pdf_obj, trace_label)


def _renumber(font: TTFFont) -> None:
    """Keep the glyphs that the document uses, each under the code that its pages have for it. A glyph that draws two
    characters is there twice: a code has one character."""
    opened = font.ttfont
    for table in set(opened.keys()) - _NEEDED:
        del opened[table]
    used = {code: glyph for glyph, code in font.subset.items() if glyph is not None}
    places = [opened.getGlyphID(used[code].glyph_name) for code in sorted(used)]
    names = [".notdef" if code == _NOT_DEFINED else f"cid{code:05}" for code in sorted(used)]
    outlines = opened["CFF "].cff[0]
    of_glyphs, select = outlines.CharStrings.charStringsIndex, outlines.FDSelect
    of_glyphs.items, select.gidArray = (
        [of_glyphs[place] for place in places], [select.gidArray[place] for place in places]
    )  # fmt: skip
    outlines.CharStrings.charStrings = {name: place for place, name in enumerate(names)}
    outlines.charset, outlines.numGlyphs = names, len(names)
    opened.setGlyphOrder(names)
    file = io.BytesIO()
    opened.save(file)
    opened.close()
    font.ttfont = TTFont(file)
    font.subset._char_id_per_glyph = {  # noqa: SLF001 -- the library has no call for this
        Glyph(code, used[code].unicode, name, used[code].glyph_width): code
        for code, name in zip(sorted(used), names, strict=True)
    }
