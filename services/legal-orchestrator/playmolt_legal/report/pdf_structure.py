"""The structure of a PDF: elements in elements, as tables and lists need them, and links with their annotations.

The library's own builder knows one level, and leaves the annotation of a link outside of the structure.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from fpdf.annotations import PDFAnnotation
from fpdf.structure_tree import NumberTree, StructElem, StructureTreeBuilder
from fpdf.syntax import PDFArray
from typing_extensions import override

_ROLES: Final = "<</Title /P>>"
"""What the types are that PDF 1.7 does not have."""


class Element(StructElem):
    """A structure element; `a` are attributes as PDF writes them."""

    __slots__ = ("a",)

    def __init__(self, kind: str, parent: StructElem, page: int, attributes: str | None = None) -> None:
        super().__init__(struct_type=kind, parent=parent, kids=[], page_number=page)
        self.a = attributes


class _AnnotationOf:
    """The annotation of a link, as a part of its element."""

    def __init__(self, annotation: PDFAnnotation) -> None:
        self._annotation = annotation

    def serialize(self, **_options: Any) -> str:
        return f"<</Type /OBJR /Obj {self._annotation.ref}>>"


class _ParentTree(NumberTree):
    """From the number of a page to the elements of its marks, and from that of an annotation to its element."""

    def __init__(self) -> None:
        super().__init__()
        self.annotations: dict[int, StructElem] = {}

    @override
    def serialize(self, *args: Any, **options: Any) -> str:
        lists = {number: f"[{' '.join(each.ref for each in elements)}]" for number, elements in self.nums.items()}
        numbers = lists | {number: element.ref for number, element in self.annotations.items()}
        pairs = " ".join(f"{number} {numbers[number]}" for number in sorted(numbers))
        return f"{self.id} 0 obj\n<</Nums [{pairs}]>>\nendobj"


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
        self._parents = self.struct_tree_root.parent_tree = _ParentTree()
        vars(self.struct_tree_root)["role_map"] = _ROLES  # written as it is: the library knows no roles

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
        place = self.spid_per_page_number.setdefault(page_number, self._next_number())
        self._parents.nums[place].append(made)
        return made, place

    def tie(self, element: StructElem, annotation: PDFAnnotation) -> None:
        """Make an annotation a part of an element."""
        vars(annotation)["struct_parent"] = number = self._next_number()
        self._parents.annotations[number] = element
        element.k.append(_AnnotationOf(annotation))

    def _next_number(self) -> int:
        return len(self.spid_per_page_number) + len(self._parents.annotations)
