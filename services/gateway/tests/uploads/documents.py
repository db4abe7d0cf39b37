"""Builds small documents for tests."""

import io
import zipfile

from playmolt_gateway.uploads.outcome import FileText, Outcome, ReaderOptions
from playmolt_gateway.uploads.program import read

QUESTION = ReaderOptions(chars=100_000, text_bytes=370_000)
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_MORE = (
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
    'PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_OWPML = "http://www.hancom.co.kr/hwpml/2011"
_HWPX = " ".join(
    f'xmlns:{short}="{_OWPML}/{name}"'
    for short, name in (("hp", "paragraph"), ("hs", "section"), ("hh", "head"), ("hc", "core"))
)


def zipped(parts: dict[str, str | bytes], *, compressed: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compressed) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return made.getvalue()


def related(targets: dict[str, tuple[str, str]], extra: str = "") -> str:
    rows = "".join(
        f'<Relationship Id="{key}" Type="{_RELATED}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{rows}{extra}</Relationships>'


_FONT = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"


def shown(text: str, x: float = 50, y: float = 300) -> str:
    """PDF operators for text at a position on a page, 12 points high."""
    return f"\nBT /F1 12 Tf {x} {y} Td ({text}) Tj ET\n"


def stream(content: str, entries: str = "") -> str:
    return f"<<{entries}/Length {len(content)}>>\nstream\n{content}\nendstream"


def pdf(content: str, *objects: str, root: str = "", page: str = "", resources: str = "", font: str = _FONT) -> bytes:
    """A PDF with one page of 400 × 400 points. `objects` are numbered from 10."""
    numbered = {
        1: f"<</Type/Catalog/Pages 2 0 R{root}>>",
        2: "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        3: f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 400]/Contents 4 0 R{page}"
        f"/Resources<</Font<</F1 5 0 R>>{resources}>>>>",
        4: stream(content),
        5: font,
        **dict(enumerate(objects, 10)),
    }
    made, places = b"%PDF-1.7\n", dict[int, int]()
    for number, written in numbered.items():
        places[number] = len(made)
        made += f"{number} 0 obj\n{written}\nendobj\n".encode("latin-1")
    rows = "".join(f"{number} 1\n{place:010} 00000 n \n" for number, place in places.items())
    tail = f"xref\n0 1\n0000000000 65535 f \n{rows}trailer\n<</Size {max(numbered) + 1}/Root 1 0 R>>"
    return made + f"{tail}\nstartxref\n{len(made)}\n%%EOF\n".encode()


def docx(body: str, *, sections: str = "", relations: str = "", **parts: str) -> bytes:
    """A DOCX with this body. `parts` are other parts by kind, such as `styles`: the content of their root element."""
    kinds = {"header1": "header", "header2": "header", "footer1": "footer"}
    targets = {name: (kinds.get(name, name), f"{name}.xml") for name in parts}
    roots = {"header1": "hdr", "header2": "hdr", "footer1": "ftr"}
    files: dict[str, str | bytes] = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": related({"rId1": ("officeDocument", "word/document.xml")}),
        "word/_rels/document.xml.rels": related(targets, relations),
        "word/document.xml": f"<w:document {W} {_MORE}><w:body>{body}<w:sectPr>{sections}</w:sectPr></w:body>"
        "</w:document>",
    }
    for name, content in parts.items():
        root = roots.get(name, name)
        files[f"word/{name}.xml"] = f"<w:{root} {W} {_MORE}>{content}</w:{root}>"
    return zipped(files)


def p(content: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{content}</w:p>"


def r(text: str, properties: str = "", tag: str = "t") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:{tag} xml:space="preserve">{text}</w:{tag}></w:r>'


def hwpx(
    *sections: str, head: str = "", spine: tuple[int, ...] = (), listed: bool = True, **more: str | bytes
) -> bytes:
    """An HWPX with these sections. `spine` orders them, and `more` are other entries of the zip file.

    `listed`: the header is in the spine, as most writers have it.
    """
    numbers = range(len(sections))
    items = "".join(
        f'<opf:item id="s{n}" href="Contents/section{n}.xml" media-type="application/xml"/>' for n in numbers
    )
    order = "".join(f'<opf:itemref idref="s{n}"/>' for n in spine or numbers)
    header = '<opf:itemref idref="header"/>'
    return zipped(
        {
            "mimetype": "application/hwp+zip",
            "Contents/content.hpf": '<opf:package xmlns:opf="http://www.idpf.org/2007/opf/"><opf:manifest>'
            f'<opf:item id="header" href="Contents/header.xml" media-type="application/xml"/>{items}</opf:manifest>'
            f"<opf:spine>{header if listed else ''}{order}</opf:spine></opf:package>",
            "Contents/header.xml": f"<hh:head {_HWPX}>{head}</hh:head>",
            "Preview/PrvText.txt": "the preview is never read",
            **{f"Contents/section{n}.xml": f"<hs:sec {_HWPX}>{content}</hs:sec>" for n, content in enumerate(sections)},
            **more,
        }
    )


def hp(content: str, properties: str = "0") -> str:
    return f'<hp:p paraPrIDRef="{properties}"><hp:run>{content}</hp:run><hp:linesegarray/></hp:p>'


def lines(content: bytes) -> list[str]:
    return text(content).text.splitlines()


def text(content: bytes) -> FileText:
    found = read(content, QUESTION)
    assert isinstance(found, FileText), found
    return found


def counts(content: bytes) -> dict[str, int]:
    return {note.kind: note.count for note in text(content).notes}


def refusal(content: bytes, question: ReaderOptions = QUESTION) -> tuple[str, str]:
    found: Outcome = read(content, question)
    assert not isinstance(found, FileText), found
    return found.reason, found.name
