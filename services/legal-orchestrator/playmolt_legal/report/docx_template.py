"""An empty Word document with the styles that a report uses, and nothing else of the library's template.

The template has a picture of its first page, the data of the person who made it, a theme with fonts of its own and some
160 styles.
"""

from collections.abc import Collection, Iterator
from typing import Any, Final

import docx
from docx.document import Document as WordDocument
from docx.oxml.ns import qn

_PARTS: Final = ("officeDocument", "core-properties", "extended-properties", "styles", "settings", "numbering")
"""The ends of the names of relationships whose parts stay."""
_SETTINGS: Final = ("w:defaultTabStop", "w:characterSpacingControl", "w:compat", "w:themeFontLang", "w:decimalSymbol",
                    "w:listSeparator")  # fmt: skip
_THEMED: Final = (
    "w:asciiTheme", "w:hAnsiTheme", "w:eastAsiaTheme", "w:cstheme", "w:themeColor", "w:themeTint", "w:themeShade",
    "w:themeFill", "w:themeFillTint", "w:themeFillShade",
)  # fmt: skip
_REVISIONS: Final = ("w:rsid", "w:rsidR", "w:rsidRPr", "w:rsidSect", "w:rsidRDefault", "w:rsidP")
_LINKS: Final = ("w:basedOn", "w:next", "w:link")


def bare_document(styles: Collection[str]) -> WordDocument:
    """A document of one empty section with these styles, what they build on, and the lists that they use."""
    book: WordDocument = docx.Document()
    for part in (book.part.package, book.part):
        for name, relation in list(part.rels.items()):
            if not relation.reltype.endswith(_PARTS):
                del part.rels[name]
    _keep_styles(book.styles.element, {book.styles[name].style_id for name in styles})
    _keep_lists(book.part.numbering_part.element, book.styles.element)
    settings = book.settings.element
    _drop(each for each in settings if each.tag not in {qn(name) for name in _SETTINGS})
    for root in (book.styles.element, book.part.numbering_part.element, book.element, settings):
        _drop(list(root.iter(qn("w:rsid"))))
        for element in root.iter():
            for name in (*_THEMED, *_REVISIONS):
                element.attrib.pop(qn(name), None)
    return book


def _keep_styles(styles: Any, wanted: Collection[str]) -> None:
    known = {each.get(qn("w:styleId")): each for each in styles.findall(qn("w:style"))}
    kept, open_ = set[str](), {*wanted, *(name for name, each in known.items() if each.get(qn("w:default")) == "1")}
    while open_:
        name = open_.pop()
        kept.add(name)
        open_ |= set(_named(known[name])) - kept
    _drop(each for name, each in known.items() if name not in kept)
    _drop(styles.findall(qn("w:latentStyles")))


def _named(style: Any) -> Iterator[str]:
    """The styles that a style names."""
    for tag in _LINKS:
        if (link := style.find(qn(tag))) is not None:
            yield link.get(qn("w:val"))


def _keep_lists(numbering: Any, styles: Any) -> None:
    used = {each.get(qn("w:val")) for each in styles.iter(qn("w:numId"))}
    lists = numbering.findall(qn("w:num"))
    _drop(each for each in lists if each.get(qn("w:numId")) not in used)
    bases = {each.find(qn("w:abstractNumId")).get(qn("w:val")) for each in numbering.findall(qn("w:num"))}
    _drop(each for each in numbering.findall(qn("w:abstractNum")) if each.get(qn("w:abstractNumId")) not in bases)


def _drop(elements: Any) -> None:
    for element in list(elements):
        element.getparent().remove(element)
