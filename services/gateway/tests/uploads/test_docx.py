"""DOCX as Word shows it: the order, tables, lists, notes, changes, text boxes, fields, headers."""

import io
import re
import zipfile

import pytest
from playmolt_gateway.uploads.list_marks import numbered

from services.gateway.tests.uploads.documents import counts, docx, lines, p, r, refusal, zipped

BULLETS = (
    '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
    '<w:lvlText w:val="%1."/></w:lvl><w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="ganada"/>'
    '<w:lvlText w:val="%1-%2)"/></w:lvl></w:abstractNum>'
    '<w:abstractNum w:abstractNumId="2"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="\uf0b7"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl></w:abstractNum>'
    '<w:abstractNum w:abstractNumId="3"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
    '<w:pStyle w:val="Article"/><w:lvlText w:val="제%1조"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="2"/></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="3"/></w:num>'
    '<w:num w:numId="4"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/>'
    "</w:lvlOverride></w:num>"
)


def listed(content: str, number: int, level: int = 0, more: str = "") -> str:
    return p(r(content), f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>{more}')


def test_lists_have_the_marks_that_word_shows() -> None:
    styles = (
        '<w:style w:type="paragraph" w:styleId="Article"><w:pPr><w:numPr><w:numId w:val="3"/></w:numPr></w:pPr>'
        "</w:style>"
        '<w:style w:type="paragraph" w:styleId="Own"><w:basedOn w:val="Article"/></w:style>'
    )
    body = (
        listed("one", 1) + listed("inner", 1, 1) + listed("inner again", 1, 1) + listed("two", 1)
        + listed("inner", 1, 1) + p(r("between")) + listed("three", 1) + listed("from five", 4)
        + listed("dot", 2) + listed("ring", 2, 1)
        + p(r("purpose"), '<w:pStyle w:val="Article"/>') + p(r("price"), '<w:pStyle w:val="Own"/>')
        + p(r("none"), '<w:pStyle w:val="Article"/><w:numPr><w:numId w:val="0"/></w:numPr>')
    )  # fmt: skip
    assert lines(docx(body, numbering=BULLETS, styles=styles)) == [
        "1. one", "1-가) inner", "1-나) inner again", "2. two", "2-가) inner", "between", "3. three", "5. from five",
        "• dot", "• ring", "제1조 purpose", "제2조 price", "none",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "name", "shown"),
    [
        (4, "upperRoman", "IV"), (28, "lowerLetter", "bb"), (3, "ganada", "다"), (2, "chosung", "ㄴ"),
        (12, "koreanCounting", "십이"), (3, "koreanLegal", "셋"), (11, "chineseCountingThousand", "十一"),
        (105, "chineseCounting", "一百零五"), (10, "chineseLegalSimplified", "壹拾"), (3, "decimalEnclosedCircle", "③"),
        (21, "ordinalText", "Twenty-first"), (22, "ordinal", "22nd"), (7, "decimalZero", "07"), (3, "unknown", "3"),
        (2, "ideographTraditional", "乙"), (5, "none", ""), (0, "upperRoman", "0"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_their_format_says(number: int, name: str, shown: str) -> None:
    assert numbered(number, name) == shown


def cell(content: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{content}</w:tc>"


def table(*rows: str) -> str:
    return f"<w:tbl><w:tblPr/>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def test_a_row_is_a_line_and_a_merged_cell_is_read_once() -> None:
    inner = table(cell(p(r("a"))) + cell(p(r("b"))), cell(p(r("c"))) + cell(p(r("d"))))
    body = p(r("before")) + table(
        cell(p(r("both")), '<w:gridSpan w:val="2"/>') + cell(p(r("down")), '<w:vMerge w:val="restart"/>'),
        cell(p(r("x")) + p(r("y"))) + cell(p("")) + cell(p(""), "<w:vMerge/>"),
        cell(inner + p("")) + cell(p(r("last"))),
    ) + p(r("after"))  # fmt: skip
    assert lines(docx(body)) == ["before", "both | down", "x y | ", "a | b | c | d | last", "after"]


def test_notes_stand_right_after_the_word_that_has_the_mark() -> None:
    mark = '<w:r><w:footnoteReference w:id="7"/></w:r>'
    end = '<w:r><w:endnoteReference w:id="2"/></w:r>'
    notes = (
        '<w:footnote w:type="separator" w:id="-1"><w:p/></w:footnote>'
        f'<w:footnote w:id="7">{p("<w:r><w:footnoteRef/></w:r>" + r(" Civil Code 563"))}{p(r("and 568"))}</w:footnote>'
    )
    body = p(r("The seller") + mark + r(" pays") + end + r("."))
    made = docx(body, footnotes=notes, endnotes=f'<w:endnote w:id="2">{p(r("in cash"))}</w:endnote>')
    assert lines(made) == ["The seller［1: Civil Code 563 and 568］ pays［i: in cash］."]


def changed(kind: str, content: str) -> str:
    return f'<w:{kind} w:id="1" w:author="Kim">{content}</w:{kind}>'


def test_changes_are_read_as_accepted_and_counted_by_unbroken_stretches() -> None:
    mark = "<w:rPr><w:{kind}/></w:rPr>"
    body = (
        p(r("The price is ") + changed("del", r("five", tag="delText")) + changed("del", r(" hundred", tag="delText"))
          + changed("ins", r("six")) + changed("ins", r(" hundred")) + r(" won."))
        + p(changed("ins", r("A whole paragraph")), mark.format(kind="ins")) + p(changed("ins", r("goes on")) + r("."))
        + p(r("kept") + changed("del", r(" gone", tag="delText")), mark.format(kind="del")) + p(r(" joined"))
        + p(changed("moveFrom", r("moved away"))) + p(changed("moveTo", r("moved here")))
        + p(changed("ins", changed("del", r("written and deleted", tag="delText"))) + r("end"))
    )  # fmt: skip
    made = docx(body)
    assert lines(made) == [
        "The price is six hundred won.", "A whole paragraph", "goes on.", "kept joined", "", "moved here", "end"
    ]  # fmt: skip
    assert counts(made) == {"insertion": 2, "deletion": 3, "moved": 1}


def test_hidden_text_and_comments_are_left_out_and_counted() -> None:
    styles = (
        '<w:style w:type="character" w:styleId="Secret"><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="Gone"><w:rPr><w:vanish/></w:rPr></w:style>'
    )
    body = (
        p(r("seen") + r(" hidden", "<w:vanish/>") + r(" too", '<w:rStyle w:val="Secret"/>') + r(" again")
          + r(" not", '<w:vanish w:val="0"/>'))
        + p(r("all gone"), '<w:pStyle w:val="Gone"/>')
        + p('<w:commentRangeStart w:id="1"/>' + r("commented") + '<w:commentRangeEnd w:id="1"/>'
            '<w:r><w:commentReference w:id="1"/></w:r>')
    )  # fmt: skip
    made = docx(body, styles=styles, comments=f'<w:comment w:id="1">{p(r("a remark"))}</w:comment>')
    assert lines(made) == ["seen again not", "commented"]
    assert counts(made) == {"hidden": 2, "comment": 1}


def test_a_text_box_is_read_once_at_its_anchor() -> None:
    content = f"<w:txbxContent>{p(r('in the box'))}</w:txbxContent>"
    box = (
        f'<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:txbx>{content}</wps:txbx></w:drawing>'
        f"</mc:Choice><mc:Fallback><w:pict><v:textbox>{content}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    old = f"<w:r><w:pict><v:shape><v:textbox>{content.replace('in the', 'an old')}</v:textbox></v:shape></w:pict></w:r>"
    body = p(r("before")) + p(box + r("at the anchor")) + p(r("text") + old) + p(box) + p(r("after"))
    assert lines(docx(body)) == [
        "before", "in the box", "at the anchor", "text", "an old box", "in the box", "after"
    ]  # fmt: skip


def field(code: str, result: str = "") -> str:
    separated = f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{r(result)}' if result else ""
    return (
        f'<w:r><w:fldChar w:fldCharType="begin"/></w:r>{r(code, tag="instrText")}{separated}'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def test_codes_of_fields_are_never_read() -> None:
    nested = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>' + r(" IF ", tag="instrText") + field(" MERGEFIELD Name ", "Kim")
        + r(' = "Kim" ', tag="instrText") + '<w:r><w:fldChar w:fldCharType="separate"/></w:r>' + r("yes")
        + '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )  # fmt: skip
    body = (
        p(r("See page ") + field(" PAGEREF a ", "7") + r(", ") + field(" XE hidden ") + nested)
        + p('<w:fldSimple w:instr=" DATE ">' + r("2 March 2025") + "</w:fldSimple>")
        + p(f'<w:hyperlink r:id="rId9">{r("a link")}</w:hyperlink>')
    )
    external = '<Relationship Id="rId9" Type="x/hyperlink" Target="http://127.0.0.1:9/" TargetMode="External"/>'
    assert lines(docx(body, relations=external)) == ["See page 7, yes", "2 March 2025", "a link"]


def test_form_fields_show_their_box_and_their_choice() -> None:
    begin = '<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{}</w:ffData></w:fldChar></w:r>'
    end = '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    box = begin.format('<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>') + r(
        "FORMCHECKBOX", tag="instrText"
    )
    choice = begin.format(
        '<w:ddList><w:result w:val="1"/><w:listEntry w:val="rent"/><w:listEntry w:val="sale"/></w:ddList>'
    )
    assert lines(docx(p(box + end + r(" yes, ") + choice + end))) == ["☒ yes, sale"]


def test_headers_and_footers_are_read_once_at_the_end() -> None:
    sections = (
        '<w:headerReference w:type="default" r:id="header1"/><w:headerReference w:type="first" r:id="header2"/>'
        '<w:footerReference w:type="default" r:id="footer1"/>'
    )
    more = {"header1": p(r("Court of Seoul")), "header2": p(r("First page")), "footer1": p(r("Confidential"))}
    again = f"<w:pPr><w:sectPr>{sections}</w:sectPr></w:pPr>"
    body = f"<w:p>{again}{r('text')}</w:p>" + p(r("more"))
    assert lines(docx(body, sections=sections, **more)) == ["text", "more", "Court of Seoul", "Confidential"]
    titled = docx(body, sections=f"{sections}<w:titlePg/>", **more)
    assert sorted(lines(titled)[2:]) == ["Confidential", "Court of Seoul", "First page"]


def test_characters_are_those_that_word_shows() -> None:
    symbols = '<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r><w:r><w:sym w:font="Symbol" w:char="00B7"/></w:r>'
    body = p(r("a") + "<w:r><w:tab/></w:r>" + r("b") + "<w:r><w:br/></w:r>" + r("c\uf0b7") + symbols)
    assert lines(docx(body)) == ["a\tb", "c•☑•"]


def test_the_strict_edition_of_the_standard_is_read_alike() -> None:
    body = p(r("strict ") + changed("ins", r("and read")))
    with zipfile.ZipFile(io.BytesIO(docx(body))) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    strict = {
        name: content.replace(
            b"schemas.openxmlformats.org/wordprocessingml/2006/", b"purl.oclc.org/ooxml/wordprocessingml/"
        ).replace(b"schemas.openxmlformats.org/officeDocument/2006/", b"purl.oclc.org/ooxml/officeDocument/")
        for name, content in parts.items()
    }
    assert b"purl.oclc.org" in strict["_rels/.rels"]
    assert (lines(zipped(strict)), counts(zipped(strict))) == (["strict and read"], {"insertion": 1})


NOTES = '<w:footnote w:id="2"><w:p>' + r("first") + '</w:p></w:footnote><w:footnote w:id="3"><w:p>' + r("second")
NOTES += "</w:p></w:footnote>"


def noted(number: int, more: str = "", mark: str = "") -> str:
    return f'<w:r><w:footnoteReference w:id="{number}"{more}/><w:t>{mark}</w:t></w:r>'


def test_a_note_has_the_mark_that_word_shows() -> None:
    own = p(r("word") + noted(2, ' w:customMarkFollows="1"', "†") + r(" more") + noted(3))
    assert lines(docx(own, footnotes=NOTES)) == ["word［†: first］ more［1: second］"]
    marked = NOTES.replace("first", "† first")
    assert lines(docx(own, footnotes=marked)) == ["word［†: first］ more［1: second］"], (
        "Word writes it into the note, too"
    )
    late = '<w:footnotePr><w:numStart w:val="7"/></w:footnotePr>'
    assert lines(docx(p(r("word") + noted(2)), footnotes=NOTES, settings=late)) == ["word［7: first］"]
    again = '<w:footnotePr><w:numFmt w:val="upperRoman"/><w:numRestart w:val="eachSect"/></w:footnotePr>'
    former = f"<w:sectPrChange><w:sectPr>{late}</w:sectPr></w:sectPrChange>"
    body = p(r("a") + noted(2), f"<w:sectPr>{again}{former}</w:sectPr>") + p(r("b") + noted(3))
    assert lines(docx(body, footnotes=NOTES, sections=again)) == ["a［I: first］", "b［I: second］"]


@pytest.mark.parametrize(
    ("equation", "shown"),
    [
        ("<m:f><m:num>1</m:num><m:den>2</m:den></m:f>", "1/2"),
        ("<m:f><m:num>3,000+a</m:num><m:den>12</m:den></m:f>", "(3,000+a)/12"),
        ("<m:sSup><m:e>1.05</m:e><m:sup>n</m:sup></m:sSup>", "1.05^n"),
        ("<m:sSubSup><m:e>x</m:e><m:sub>i</m:sub><m:sup>2</m:sup></m:sSubSup>", "x_i^2"),
        ("<m:d><m:e>a</m:e></m:d>", "(a)"),
        ('<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr><m:e>a</m:e><m:e>b</m:e></m:d>', "[a|b]"),
        ("<m:rad><m:deg/><m:e>2</m:e></m:rad>", "√(2)"),
        ('<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>i=1</m:sub><m:sup>n</m:sup><m:e>x</m:e></m:nary>',
         "∑_(i=1)^n x"),
        ("<m:sPre><m:sub>1</m:sub><m:sup>2</m:sup><m:e>A</m:e></m:sPre>", "_1^2 A"),
        ("<m:func><m:fName>sin</m:fName><m:e>x</m:e></m:func>", "sin x"),
        ('<m:acc><m:accPr><m:chr m:val="\u0304"/></m:accPr><m:e>y</m:e></m:acc>', "ȳ"),
        ("<m:m><m:mr><m:e>1</m:e><m:e>2</m:e></m:mr><m:mr><m:e>3</m:e><m:e>4</m:e></m:mr></m:m>", "1, 2; 3, 4"),
    ],
)  # fmt: skip
def test_an_equation_is_read_with_its_signs(equation: str, shown: str) -> None:
    space = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    written = re.sub(r">([^<>]+)<", r"><m:r><m:t>\1</m:t></m:r><", equation)
    assert lines(docx(p(r("is ") + f"<m:oMath {space}>{written}</m:oMath>"))) == [f"is {shown}"]


def test_lines_of_the_file_are_none_of_the_text() -> None:
    assert lines(docx("<w:p><w:r><w:t>The price\n      is due.</w:t></w:r></w:p>")) == ["The price is due."]


def test_a_symbol_beyond_the_first_plane_is_read() -> None:
    extended = '<w16se:symEx xmlns:w16se="x" w16se:font="Segoe UI Emoji" w16se:char="1F600"/>'
    choice = f'<mc:Choice Requires="w16se">{extended}</mc:Choice><mc:Fallback><w:t>no</w:t></mc:Fallback>'
    assert lines(docx(p(f"<w:r><mc:AlternateContent>{choice}</mc:AlternateContent></w:r>" + r("!")))) == ["😀!"]


@pytest.mark.parametrize(
    ("around", "kind"),
    [("<w:r><w:rPr><w:vanish/></w:rPr>{}</w:r>", "hidden"), ('<w:del w:id="1"><w:r>{}</w:r></w:del>', "deletion")],
)
def test_a_note_whose_mark_is_left_out_is_counted(around: str, kind: str) -> None:
    mark = around.format('<w:footnoteReference w:id="2"/>')
    made = docx(p(r("word") + mark + r(" more") + noted(3)), footnotes=NOTES)
    assert (lines(made), counts(made)) == (["word more［1: second］"], {kind: 1})


@pytest.mark.parametrize(
    "shape",
    [
        '<w:drawing><wp:anchor><wp:docPr id="1" name="a" hidden="1"/>{}</wp:anchor></w:drawing>',
        '<w:pict><v:shape style="position:absolute;visibility: hidden">{}</v:shape></w:pict>',
    ],
)
def test_a_shape_that_was_hidden_is_left_out_and_counted(shape: str) -> None:
    box = shape.format(f"<v:textbox><w:txbxContent>{p(r('draft'))}</w:txbxContent></v:textbox>")
    made = docx(p(r("seen") + f"<w:r>{box}</w:r>"))
    assert (lines(made), counts(made)) == (["seen"], {"hidden": 1})
    shown = docx(p(r("seen") + f"<w:r>{box}</w:r>".replace('hidden="1"', 'hidden="0"').replace('hidden"', 'visible"')))
    assert lines(shown) == ["seen", "draft"]


def test_a_paragraph_does_not_go_on_after_a_table() -> None:
    body = p(r("before"), "<w:rPr><w:del/></w:rPr>") + table(cell(p(r("cell")))) + p(r("after"))
    assert lines(docx(body)) == ["before", "cell", "after"]


@pytest.mark.parametrize(
    ("code", "read"),
    [
        (" SYMBOL 254 \\f Wingdings \\s 12 ", "☑"), (' SYMBOL 0xA3 \\f "Symbol" ', "≤"), (" SYMBOL 8364 \\u ", "€"),
        (" SYMBOL 97 ", "α"), (" SYMBOL nonsense ", ""), (" EQ \\f(1,2) ", "1/2"), (" EQ \\o\\ac(○,인) ", "○인"),
        (" EQ \\r(3,x) ", "3√x"), (" EQ \\f(\\s\\up5(a),b) ", "a/b"), (" MACROBUTTON NoMacro [이름] ", "[이름]"),
        (' QUOTE "in words" ', "in words"), (" XE secret ", ""), (" AUTONUM ", "1."), ("", ""),
    ],
)  # fmt: skip
def test_a_field_whose_text_is_in_its_code_is_read_as_word_shows_it(code: str, read: str) -> None:
    simple = f"<w:fldSimple w:instr='{code}'/>"
    assert lines(docx(p(r("is:") + field(code) + r(";")) + p(r("is:") + simple + r(";")))) == [
        f"is:{read};", f"is:{read.replace('1.', '2.')};"
    ]  # fmt: skip
    assert lines(docx(p(r("is:") + field(code, "stored")))) == ["is:stored"]


def test_documents_within_the_document_are_counted() -> None:
    chunk = '<w:altChunk r:id="rId9"/>'
    within = docx(p(r("before")) + chunk + p("<w:subDoc/>" + r("after")))
    assert (lines(within), counts(within)) == (["before", "after"], {"embedded": 2})
    assert refusal(docx(chunk)) == ("no_text", "embedded")


def test_letters_taken_by_number_are_those_of_their_font() -> None:
    letters = (("Arial", "00A7"), ("바탕", "AC00"), ("Symbol", "F061"), ("Symbol", "F0A3"), ("Wingdings", "F0FE"))
    symbols = "".join(f'<w:r><w:sym w:font="{font}" w:char="{code}"/></w:r>' for font, code in letters)
    assert lines(docx(p(symbols))) == ["§가α≤☑"]


def test_a_watermark_is_read_with_its_header() -> None:
    mark = '<w:r><w:pict><v:shape><v:textpath string="사본 COPY"/></v:shape></w:pict></w:r>'
    shown = '<w:headerReference w:type="default" r:id="header1"/>'
    assert lines(docx(p(r("body")), sections=shown, header1=p(mark))) == ["body", "사본 COPY"]


def graphic(reference: str) -> str:
    return f"<w:r><w:drawing><a:graphic><a:graphicData>{reference}</a:graphicData></a:graphic></w:drawing></w:r>"


def with_graphic(body: str, part: str) -> bytes:
    """A DOCX whose relationship `rId7` is the part."""
    made = io.BytesIO(docx(body, relations='<Relationship Id="rId7" Type="x/graphic" Target="graphics/one.xml"/>'))
    with zipfile.ZipFile(made, "a") as file:
        file.writestr("word/graphics/one.xml", part)
    return made.getvalue()


def test_the_words_of_a_diagram_are_read_each_under_what_it_belongs_to() -> None:
    def point(key: int, text: str, kind: str = "node") -> str:
        words = "".join(f"<a:p><a:r><a:t>{each}</a:t></a:r></a:p>" for each in text.split("/"))
        return f'<d:pt modelId="{key}" type="{kind}"><d:t>{words}</d:t></d:pt>'

    def tie(above: int, below: int, order: int, kind: str = "parOf") -> str:
        return f'<d:cxn type="{kind}" srcId="{above}" destId="{below}" srcOrd="{order}"/>'

    points = (point(1, "이사/회의"), point(4, "never", "pres"), point(3, "총무"), point(2, "감사"), point(0, "", "doc"))
    ties = tie(0, 1, 0) + tie(1, 3, 1) + tie(1, 2, 0) + tie(1, 4, 0, "presOf") + tie(2, 1, 0)
    model = (
        f'<d:dataModel xmlns:d="urn:d" xmlns:a="urn:a"><d:ptLst>{"".join(points)}</d:ptLst>'
        f"<d:cxnLst>{ties}</d:cxnLst></d:dataModel>"
    )
    shown = '<d:relIds xmlns:d="urn:d" r:dm="rId7" r:lo="rId8"/>'
    made = with_graphic(p(r("before") + graphic(shown)) + p(r("after")), model)
    assert (lines(made), counts(made)) == (["before", "이사 회의", "감사", "총무", "after"], {})
    gone = with_graphic(p(r("before") + changed("del", graphic(shown))), model)
    assert (lines(gone), counts(gone)) == (["before"], {"deletion": 1})


def test_the_words_and_numbers_of_a_chart_are_read() -> None:
    def cells(kind: str, *values: str) -> str:
        points = "".join(f'<c:pt idx="{n}"><c:v>{value}</c:v></c:pt>' for n, value in enumerate(values))
        return f"<c:{kind}><c:strRef><c:f>Sheet1!A1</c:f><c:strCache>{points}</c:strCache></c:strRef></c:{kind}>"

    months = cells("cat", "1월", "2월")
    series = "".join(
        f"<c:ser>{cells('tx', name)}{months}{cells('val', *values)}</c:ser>"
        for name, values in (("매출", ("10", "20.5")), ("비용", ("7", "8")))
    )
    words = "<a:r><a:t>분기 </a:t></a:r><a:r><a:t>실적</a:t></a:r>"
    title = f"<c:title><c:tx><c:rich><a:p>{words}</a:p></c:rich></c:tx></c:title>"
    space = f'<c:chartSpace xmlns:c="urn:c" xmlns:a="urn:a"><c:chart>{title}{series}</c:chart></c:chartSpace>'
    made = with_graphic(p(r("표") + graphic('<c:chart xmlns:c="urn:c" r:id="rId7"/>')), space)
    assert (lines(made), counts(made)) == (["표", "분기 실적", "| 1월 | 2월", "매출 | 10 | 20.5", "비용 | 7 | 8"], {})
    lost = with_graphic(p(r("표") + graphic('<c:chart xmlns:c="urn:c" r:id="rId8"/>')), space)
    assert (lines(lost), counts(lost)) == (["표"], {"picture": 1})
