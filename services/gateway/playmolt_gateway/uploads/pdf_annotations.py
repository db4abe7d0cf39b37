"""What lies on the pages of a PDF beside their content: values of forms, typed notes, comments, files within it."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from pypdf import PageObject, PdfReader
from pypdf.generic import ArrayObject, DictionaryObject, PdfObject, StreamObject, create_string_object

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


class Annotations:
    """Reads the annotations of pages, and counts those that are left out."""

    def __init__(self) -> None:
        self.comments = 0
        self.hidden = 0
        self.files = 0

    def lines(self, page: PageObject) -> list[str]:
        """A line for each field with a value and each note that is typed on the page."""
        found = dict.fromkeys(line for each in self._annotations(page) for line in self._read(each))
        return list(found)

    def _annotations(self, page: PageObject) -> Iterator[DictionaryObject]:
        listed = _value(page, "/Annots")
        for each in islice(listed, _MOST) if isinstance(listed, ArrayObject) else ():
            found = each.get_object()
            if isinstance(found, DictionaryObject):
                yield found

    def _read(self, annotation: DictionaryObject) -> Iterator[str]:
        kind = annotation.get("/Subtype")
        lines = [_field(annotation)] if kind == "/Widget" else [_text(_value(annotation, "/Contents"))]
        lines = [line.strip() for line in lines if line.strip()]
        if lines and _number(annotation, "/F") & _UNSEEN:
            self.hidden += 1
        elif kind in ("/Widget", "/FreeText"):
            yield from lines
        elif kind == "/FileAttachment":
            self.files += 1
        elif kind not in _NO_COMMENTS:
            self.comments += len(lines)


def files_within(reader: PdfReader) -> int:
    """How many files a PDF carries as attachments."""
    return sum(1 for _ in islice(reader.attachment_list, _FILES_MOST))


def is_drawn_by_its_reader(reader: PdfReader) -> bool:
    """Whether the pages are made by the program that opens the file (a dynamic XFA form); its own say to use one."""
    needs = _value(reader.root_object, "/NeedsRendering")
    return needs is not None and str(needs).lower() == "true"


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
