"""The structure of a PDF: elements in elements, as a table needs them. The library's own builder knows one level."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fpdf.structure_tree import StructElem, StructureTreeBuilder
from fpdf.syntax import PDFArray
from typing_extensions import override


class Element(StructElem):
    """A structure element; `a` are attributes as PDF writes them."""

    __slots__ = ("a",)

    def __init__(self, kind: str, parent: StructElem, page: int, attributes: str | None = None) -> None:
        super().__init__(struct_type=kind, parent=parent, kids=[], page_number=page)
        self.a = attributes


class _Tree(PDFArray):
    """What the document's element holds. It is written as the elements of the first level; the library, which reads
    it to number elements and to set their page, gets those of all levels."""

    def __init__(self) -> None:
        super().__init__()
        self.first = PDFArray()

    @override
    def serialize(self, *args: Any, **options: Any) -> str:
        return self.first.serialize(*args, **options)


class Structure(StructureTreeBuilder):
    """Builds the tree: what is added belongs to the element that is open, at first the document."""

    def __init__(self) -> None:
        super().__init__()
        self._all = self.doc_struct_elem.k = _Tree()
        self._open: StructElem = self.doc_struct_elem

    def element(self, kind: str, page: int, attributes: str | None = None) -> Element:
        """Add an element that holds others; it begins on this page."""
        made = Element(kind, self._open, page, attributes)
        self._all.append(made)
        kids = self._all.first if self._open is self.doc_struct_elem else self._open.k
        kids.append(made)
        return made

    @contextmanager
    def within(self, element: StructElem) -> Iterator[None]:
        """Open an element."""
        outer, self._open = self._open, element
        yield
        self._open = outer

    @override
    def add_marked_content(
        self,
        page_number: int,
        struct_type: str,
        mcid: int | None = None,
        title: str | None = None,
        alt_text: str | None = None,
    ) -> tuple[StructElem, int]:
        made = self.element(struct_type, page_number)
        if mcid is not None:
            made.k.append(mcid)
        place = self.spid_per_page_number.setdefault(page_number, len(self.spid_per_page_number))
        self.struct_tree_root.parent_tree.nums[place].append(made)
        return made, place
