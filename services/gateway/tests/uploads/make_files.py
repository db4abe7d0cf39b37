"""Makes the committed files of this folder with third-party libraries.

Run it in a separate environment: `pip install pikepdf==10.18.0 reportlab==5.1.0 python-docx==1.2.0
python-hwpx==6.9.0 fonttools==4.68.0 pillow==13.0.0`, then `python make_files.py FONT FOLDER` with an OpenType font that
has Hangul, such as that of pylopdf-fonts-ko. No file was made by Word or Hancom Office.

LibreOffice 7.4.7 of Debian 12 (`libreoffice-writer-nogui`) made `writer.docx` and `writer.pdf` from `writer.fodt`:
`soffice --headless --convert-to docx writer.fodt`, and for the PDF
`--convert-to 'pdf:writer_pdf_Export:{"UseTaggedPDF": {"type": "boolean", "value": "true"}}'`.
"""

import io
import sys
import zipfile
from pathlib import Path

import docx
import pikepdf
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Subsetter
from fontTools.ttLib import TTFont, newTable
from hwpx.document import HwpxDocument
from hwpx.hwp5.writer import write_hwp5
from make_texts import CHINESE, ENGLISH, KOREAN
from PIL import Image, ImageDraw
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics, ttfonts
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas


def truetype(path, letters):
    """A TrueType font, which reportlab needs, with some letters of a font with cubic outlines."""
    font = TTFont(path)
    subsetter = Subsetter()
    subsetter.populate(text=letters)
    subsetter.subset(font)
    order, glyphs, outlines = font.getGlyphOrder(), font.getGlyphSet(), {}
    for name in order:
        pen = TTGlyphPen(glyphs)
        glyphs[name].draw(Cu2QuPen(pen, 1.0, reverse_direction=True))
        outlines[name] = pen.glyph()
    font["loca"], font["glyf"] = newTable("loca"), newTable("glyf")
    font["glyf"].glyphOrder, font["glyf"].glyphs = order, outlines
    for table in ("CFF ", "VORG", "GSUB", "GPOS", "vhea", "vmtx"):
        if table in font:
            del font[table]
    maxp = font["maxp"]
    maxp.tableVersion = 0x00010000
    for name in (
        "maxZones", "maxTwilightPoints", "maxStorage", "maxFunctionDefs", "maxInstructionDefs", "maxStackElements",
        "maxSizeOfInstructions", "maxComponentElements", "maxPoints", "maxContours", "maxCompositePoints",
        "maxCompositeContours", "maxComponentDepth",
    ):  # fmt: skip
        setattr(maxp, name, 1 if name == "maxZones" else 0)
    font["post"].formatType, font.sfntVersion = 3.0, "\x00\x01\x00\x00"
    made = io.BytesIO()
    font.save(made)
    made.seek(0)
    return made


def canvas(draw, *, pages=1):
    file = io.BytesIO()
    made = Canvas(file, pagesize=A4, invariant=1)
    for page in range(pages):
        draw(made, page)
        made.showPage()
    made.save()
    return file.getvalue()


def scan(text="scanned"):
    picture = Image.new("L", (620, 877), 255)
    ImageDraw.Draw(picture).text((60, 60), text, fill=0)
    return ImageReader(picture)


def words(made, page):
    made.setFont("Korean", 11)
    for line, text in enumerate((KOREAN, ENGLISH, KOREAN)):
        made.drawString(60, 780 - 20 * line, f"{page + 1}: {text}")


def collections(made, _):
    for line, (font, text) in enumerate((("HYSMyeongJo-Medium", KOREAN), ("STSong-Light", CHINESE))):
        made.setFont(font, 11)
        made.drawString(60, 780 - 20 * line, text)


def scanned(made, page):
    made.drawImage(scan(f"page {page}"), 0, 0, *A4)


def stamped(made, page):
    """Scans on the second and third page, with the stamp of a court's system."""
    if page in (1, 2):
        scanned(made, page)
        made.setFont("Korean", 9)
        made.drawString(60, 20, f"2025가단1234 갑 제{page}호증")
    else:
        words(made, page)


def recognised(made, page):
    """Invisible text under the picture, as OCR programs write it."""
    text = made.beginText(60, 780)
    text.setFont("Korean", 11)
    text.setTextRenderMode(3)
    text.textLine(KOREAN)
    text.textLine(ENGLISH)
    made.drawText(text)
    scanned(made, page)


def letterhead(made, page):
    """A page with a picture as background, which is not a scan."""
    scanned(made, page)
    words(made, page)


def pdf_files():
    plain = canvas(words)
    yield "plain.pdf", plain
    yield "three_pages.pdf", canvas(words, pages=3)
    yield "collections.pdf", canvas(collections)
    yield "scan.pdf", canvas(scanned, pages=2)
    yield "stamped.pdf", canvas(stamped, pages=4)
    yield "recognised.pdf", canvas(recognised)
    yield "letterhead.pdf", canvas(letterhead)
    for name, made in {
        "owner_rc4_40": {"R": 2, "aes": False, "metadata": False},
        "owner_rc4_128": {"R": 3, "aes": False, "metadata": False},
        "owner_aes_128": {"R": 4},
        "owner_aes_256": {"R": 6},
    }.items():
        with pikepdf.open(io.BytesIO(plain)) as file:
            yield f"{name}.pdf", saved(file, encryption=pikepdf.Encryption(owner="owner", user="", **made))
    with pikepdf.open(io.BytesIO(plain)) as file:
        yield "user_password.pdf", saved(file, encryption=pikepdf.Encryption(owner="owner", user="user", R=6))
    with pikepdf.open(io.BytesIO(canvas(words))) as file:
        for font in file.pages[0].Resources.Font.values():
            if "/ToUnicode" in font:
                del font["/ToUnicode"]
                if font.Subtype == "/TrueType":
                    font.Encoding = names_of_its_own()
        yield "own_glyph_names.pdf", saved(file)
    with pikepdf.open(io.BytesIO(plain)) as file:
        for font in file.pages[0].Resources.Font.values():
            if "/ToUnicode" in font:
                del font["/ToUnicode"]
        yield "own_codes.pdf", saved(file)
    with pikepdf.open(io.BytesIO(plain)) as file:
        made_composite(file)
        yield "no_map.pdf", saved(file)
    with pikepdf.open(io.BytesIO(plain)) as file:
        made_composite(file, collection="Korea1")
        yield "korea1.pdf", saved(file)
    yield "noted_form.pdf", noted_form()
    yield "drawn_form.pdf", drawn_form()


def form(made, _):
    made.drawString(60, 780, "Statement of claim")
    fields = made.acroForm
    fields.textfield(name="claimant", value="Hong Gildong", x=60, y=700, width=200, height=20)
    fields.textfield(name="respondent", value="", x=60, y=670, width=200, height=20)
    fields.checkbox(name="oral", checked=True, x=60, y=640)
    fields.checkbox(name="interpreter", checked=False, x=60, y=610)
    fields.choice(name="court", value="Seoul", options=["Seoul", "Busan"], x=60, y=570, width=100, height=20)
    fields.radio(name="track", value="fast", selected=True, x=60, y=540)
    fields.radio(name="track", value="multi", selected=False, x=90, y=540)


def noted_form():
    """A form with people's annotations: typed notes, sticky notes, highlights, attached files."""
    with pikepdf.open(io.BytesIO(canvas(form))) as file:
        for kind, text, flags in (
            ("FreeText", "received 2 March", 4), ("Text", "see page 3", 4), ("Highlight", "wrong", 4),
            ("Highlight", "", 4), ("Popup", "see page 3", 4), ("FreeText", "not shown", 2),
        ):  # fmt: skip
            note = pikepdf.Dictionary(
                Type=pikepdf.Name.Annot, Subtype=pikepdf.Name(f"/{kind}"), Rect=[60, 60, 300, 90], Contents=text,
                F=flags, DA="/Helv 12 Tf",
            )  # fmt: skip
            file.pages[0].Annots.append(file.make_indirect(note))
        file.attachments["ledger.txt"] = pikepdf.AttachedFileSpec(file, b"attached")
        return saved(file)


def drawn_form():
    """A dynamic XFA form: its pages say that another program is needed."""
    with pikepdf.open(io.BytesIO(canvas(lambda made, _: made.drawString(60, 780, "Please wait...")))) as file:
        file.Root.NeedsRendering = True
        file.Root.AcroForm = pikepdf.Dictionary(Fields=pikepdf.Array(), XFA=file.make_stream(b"<xdp/>"))
        return saved(file)


def names_of_its_own():
    differences = pikepdf.Array([0, *(pikepdf.Name(f"/g{number}") for number in range(256))])
    return pikepdf.Dictionary(Type=pikepdf.Name.Encoding, Differences=differences)


def made_composite(file, collection="Identity"):
    """A page in a composite font with Identity encoding and without a map."""
    program = pikepdf.Stream(file, b"")
    descriptor = pikepdf.Dictionary(
        Type=pikepdf.Name.FontDescriptor, FontName=pikepdf.Name.Sub, Flags=4, FontBBox=[0, 0, 1000, 1000],
        ItalicAngle=0, Ascent=800, Descent=-200, CapHeight=700, StemV=80, FontFile2=program,
    )  # fmt: skip
    system = pikepdf.Dictionary(Registry=b"Adobe", Ordering=collection.encode(), Supplement=0)
    descendant = pikepdf.Dictionary(
        Type=pikepdf.Name.Font, Subtype=pikepdf.Name.CIDFontType2, BaseFont=pikepdf.Name.Sub, CIDSystemInfo=system,
        FontDescriptor=descriptor, DW=1000,
    )  # fmt: skip
    font = pikepdf.Dictionary(
        Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type0, BaseFont=pikepdf.Name.Sub,
        Encoding=pikepdf.Name("/Identity-H"), DescendantFonts=[descendant],
    )  # fmt: skip
    file.pages[0].Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=font))
    codes = "".join(f"{code:04x}" for code in range(1100, 1180))
    file.pages[0].Contents = pikepdf.Stream(file, f"BT /F1 12 Tf 60 700 Td <{codes}> Tj ET".encode())


def saved(file, **more):
    made = io.BytesIO()
    file.save(made, deterministic_id=not more, **more)
    return made.getvalue()


def docx_of_library():
    document = docx.Document()
    document.add_heading("매매 계약서", 1)
    document.add_paragraph(KOREAN)
    for text in ("첫째 항목", "둘째 항목"):
        document.add_paragraph(text, style="List Number")
    document.add_paragraph("글머리 항목", style="List Bullet")
    table = document.add_table(3, 3)
    for row, cells in enumerate((("품목", "수량", "금액"), ("기계", "2", "4,000"), ("합계", "", "4,000"))):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    table.cell(2, 0).merge(table.cell(2, 1))
    section = document.sections[0]
    section.header.paragraphs[0].text = "서울중앙지방법원"
    section.footer.paragraphs[0].text = "대외비"
    commented = document.add_paragraph("잔금은 나중에 지급한다.")
    document.add_comment(commented.runs, text="언제인지 물을 것", author="김", initials="김")
    hidden = document.add_paragraph("보이는 글 ")
    hidden.add_run("숨은 글").font.hidden = True
    document.add_picture(io.BytesIO(png()))
    changed = document.add_paragraph("대금은 ")
    for kind, text in (("ins", "육백만"), ("del", "오백만")):
        tag = "t" if kind == "ins" else "delText"
        changed._p.append(
            parse_xml(
                f'<w:{kind} {nsdecls("w")} w:id="9" w:author="김" w:date="2025-01-01T00:00:00Z">'
                f"<w:r><w:{tag}>{text}</w:{tag}></w:r></w:{kind}>"
            )
        )
    changed.add_run(" 원이다.")
    made = io.BytesIO()
    document.save(made)
    return made.getvalue()


def png():
    made = io.BytesIO()
    Image.new("L", (8, 8), 128).save(made, "PNG")
    return made.getvalue()


def hwpx_of_library():
    document = HwpxDocument.new()
    document.add_paragraph("소장")
    paragraph = document.add_paragraph(KOREAN)
    paragraph.add_footnote("민법 제563조")
    document.add_paragraph("뒤의 문단이다.")
    table = document.add_table(2, 2)
    for row, cells in enumerate((("원고", "피고"), ("김철수", "이영희"))):
        for column, text in enumerate(cells):
            table.set_cell_text(row, column, text)
    document.set_header_text("서울중앙지방법원")
    document.set_footer_text("제출용")
    noted = document.add_paragraph("메모가 있는 문단")
    document.add_memo_with_anchor("변호사의 메모", paragraph=noted)
    changed = document.add_paragraph("대금은 오백만 원이다.")
    document.add_tracked_delete(changed, match="오백만")
    document.add_tracked_insert(changed, "육백만")
    made = io.BytesIO()
    document.save_to_stream(made)
    return made.getvalue()


def hwp_of_library(hwpx):
    with zipfile.ZipFile(io.BytesIO(hwpx)) as file:
        return write_hwp5({name: file.read(name) for name in file.namelist()})


def main():
    font, folder = Path(sys.argv[1]), Path(sys.argv[2])
    letters = KOREAN + ENGLISH + "가단갑제호증가나다" + "".join(map(chr, range(32, 127)))
    pdfmetrics.registerFont(ttfonts.TTFont("Korean", truetype(font, letters)))
    for name in ("HYSMyeongJo-Medium", "STSong-Light"):
        pdfmetrics.registerFont(UnicodeCIDFont(name))
    folder.mkdir(exist_ok=True)
    for name, content in pdf_files():
        (folder / name).write_bytes(content)
    (folder / "library.docx").write_bytes(docx_of_library())
    hwpx = hwpx_of_library()
    (folder / "library.hwpx").write_bytes(hwpx)
    (folder / "library.hwp").write_bytes(hwp_of_library(hwpx))


if __name__ == "__main__":
    main()
