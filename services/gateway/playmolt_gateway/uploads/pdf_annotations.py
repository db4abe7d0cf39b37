"""What lies on the pages of a PDF beside their content: values of forms, stamps, typed notes, comments, files."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from pypdf import PageObject, PdfReader
from pypdf.generic import ArrayObject, DictionaryObject, PdfObject, StreamObject, create_string_object

from playmolt_gateway.uploads.pdf_layers import Layers

EMPTY_BOX: Final = "☐"
_MOST: Final = 5000
_PARENTS: Final = 16
_FILES_MOST: Final = 1000
_UNSEEN: Final = 0x02 | 0x20
"""Flags of an annotation that no page shows: hidden, not on screen."""
_PUSH_BUTTON: Final = 1 << 16
_RADIO_BUTTON: Final = 1 << 15
_PASSWORD: Final = 1 << 13
_NO_COMMENTS: Final = ("/Link", "/Popup", "/Widget", "/FreeText", "/FileAttachment")
_DRAWN: Final = ("/Stamp", "/Watermark")
"""Annotations whose text is in their picture."""

_Drawn = Callable[[StreamObject], str]
"""The text of an annotation's picture."""


class Annotations:
    """Reads the annotations of pages, and counts those that are left out."""

    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self.comments = 0
        self.hidden = 0
        self.files = 0

    def lines(self, page: PageObject, drawn: _Drawn) -> list[str]:
        """A line for each field with a value, and each stamp, signature and typed note that the page shows."""
        found = dict.fromkeys(line for each in self._annotations(page) for line in self._read(each, drawn))
        return list(found)

    def _annotations(self, page: PageObject) -> Iterator[DictionaryObject]:
        listed = _value(page, "/Annots")
        for each in islice(listed, _MOST) if isinstance(listed, ArrayObject) else ():
            found = each.get_object()
            if isinstance(found, DictionaryObject):
                yield found

    def _read(self, annotation: DictionaryObject, drawn: _Drawn) -> Iterator[str]:
        kind = annotation.get("/Subtype")
        signed = kind == "/Widget" and _text(_inherited(annotation, "/FT")) == "/Sig"
        said = _field(annotation) if kind == "/Widget" else _text(_value(annotation, "/Contents"))
        said = said.strip()
        shown = said if kind in ("/Widget", "/FreeText") else ""
        if kind in _DRAWN or signed or (kind == "/FreeText" and not said):
            picture = _picture(annotation)
            shown = drawn(picture) if picture is not None else ""
        if kind == "/FileAttachment":
            self.files += 1
        if _number(annotation, "/F") & _UNSEEN or self._layers.hide(_value(annotation, "/OC")):
            self.hidden += bool(said or shown)
            return
        if kind not in _NO_COMMENTS:
            self.comments += bool(said)
        if shown:
            yield shown


def files_within(reader: PdfReader) -> int:
    """How many files a PDF carries as attachments."""
    return sum(1 for _ in islice(reader.attachment_list, _FILES_MOST))


def is_drawn_by_its_reader(reader: PdfReader) -> bool:
    """Whether the pages are made by the program that opens the file (a dynamic XFA form); its own say to use one."""
    needs = _value(reader.root_object, "/NeedsRendering")
    return needs is not None and str(needs).lower() == "true"


def is_protected_within(reader: PdfReader) -> bool:
    """Whether the file is a cover of one that is encrypted: its pages only say how to open that."""
    listed = _value(reader.root_object, "/AF")
    files = [each.get_object() for each in islice(listed, _MOST)] if isinstance(listed, ArrayObject) else []
    return any(
        isinstance(each, DictionaryObject) and each.get("/AFRelationship") == "/EncryptedPayload" for each in files
    )


def _picture(annotation: DictionaryObject) -> StreamObject | None:
    """The normal look of an annotation, in its present state."""
    looks = _value(annotation, "/AP")
    look = _value(looks, "/N") if isinstance(looks, DictionaryObject) else None
    if isinstance(look, DictionaryObject) and not isinstance(look, StreamObject):
        look = _value(look, str(annotation.get("/AS", "")))
    return look if isinstance(look, StreamObject) else None


def _value(holder: DictionaryObject, key: str) -> PdfObject | None:
    found = holder.get(key)
    return found.get_object() if isinstance(found, PdfObject) else None


def _inherited(field: DictionaryObject, key: str) -> PdfObject | None:
    """A value of a form's field, which may be that of the fields above it."""
    at: PdfObject | None = field
    for _ in range(_PARENTS):
        if not isinstance(at, DictionaryObject):
            return None
        if (found := _value(at, key)) is not None:
            return found
        at = _value(at, "/Parent")
    return None


def _number(holder: DictionaryObject, key: str) -> int:
    found = _inherited(holder, key)
    return int(found) if isinstance(found, int) else 0


def _text(found: PdfObject | None) -> str:
    if isinstance(found, StreamObject):
        found = create_string_object(found.get_data())
    if isinstance(found, ArrayObject):
        return ", ".join(filter(None, (_text(each.get_object()) for each in islice(found, _MOST))))
    return str(found) if isinstance(found, str) else ""


def _field(widget: DictionaryObject) -> str:
    """A field's name and value; "" if it has none, or one that is not shown."""
    kind, flags = _text(_inherited(widget, "/FT")), _number(widget, "/Ff")
    if kind == "/Btn":
        shown = "" if flags & _PUSH_BUTTON else _box(widget, radio=bool(flags & _RADIO_BUTTON))
    elif kind == "/Ch" or (kind == "/Tx" and not flags & _PASSWORD):
        shown = _chosen(widget, _text(_inherited(widget, "/V")))
    else:
        shown = ""
    name = _text(_inherited(widget, "/TU")) or _text(_inherited(widget, "/T"))
    return f"{name}: {shown}" if name and shown.strip() else shown


def _box(widget: DictionaryObject, *, radio: bool) -> str:
    state = _value(widget, "/AS") or _inherited(widget, "/V")
    on = state is not None and str(state) != "/Off"
    if radio:
        return str(state).removeprefix("/") if on else ""
    return "☒" if on else EMPTY_BOX


def _chosen(widget: DictionaryObject, value: str) -> str:
    """The value as the page shows it: options may have a text of their own."""
    options = _inherited(widget, "/Opt")
    for each in islice(options, _MOST) if isinstance(options, ArrayObject) else ():
        pair = each.get_object()
        if isinstance(pair, ArrayObject) and len(pair) > 1 and _text(pair[0].get_object()) == value:
            return _text(pair[1].get_object())
    return value
