"""Evidence is what a reader of the PDF sees: layers, stamps, copies of a text, letters that a font leaves out."""

import pytest

from services.gateway.tests.uploads.documents import counts, lines, pdf, refusal, shown, stream, text

LAYERS = "/OCProperties<</OCGs[10 0 R 11 0 R]/D<</ON[10 0 R]/OFF[11 0 R]>>>>"
NAMED = "/Properties<</On 10 0 R/Off 11 0 R/Rule 12 0 R>>"
GROUPS = ("<</Type/OCG/Name(on)>>", "<</Type/OCG/Name(off)/Usage<</View<</ViewState/OFF>>>>>>")
FORM = "/Type/XObject/Subtype/Form/BBox[0 0 400 400]/Resources<</Font<</F1 5 0 R>>>>"


def layered(name: str, content: str) -> str:
    return f"/OC /{name} BDC /Span <</MCID 0>> BDC {content} EMC {content} EMC"


def test_a_layer_that_is_off_is_left_out_and_counted() -> None:
    content = shown("before") + layered("Off", shown("draft", y=250)) + layered("On", shown("layer", y=200))
    made = pdf(content, *GROUPS, root=LAYERS, resources=NAMED)
    assert (lines(made), counts(made)) == (["before", "layer"], {"hidden": 1})
    assert refusal(pdf(layered("Off", shown("draft")), *GROUPS, root=LAYERS, resources=NAMED))[0] == "no_text"


@pytest.mark.parametrize(
    ("settings", "read"),
    [
        ("/BaseState/OFF/ON[10 0 R]", ["on"]),
        ("/BaseState/OFF", []),
        ("", ["on", "off"]),
        ("/AS[<</Event/View/Category[/View]/OCGs[10 0 R 11 0 R]>>]", ["on"]),
        ("/AS[<</Event/Print/Category[/View]/OCGs[10 0 R 11 0 R]>>]", ["on", "off"]),
    ],
)
def test_layers_are_shown_as_the_file_opens(settings: str, read: list[str]) -> None:
    content = shown("text") + layered("On", shown("on", y=200)) + layered("Off", shown("off", y=100))
    made = pdf(content, *GROUPS, root=f"/OCProperties<</OCGs[10 0 R 11 0 R]/D<<{settings}>>>>", resources=NAMED)
    assert lines(made) == ["text", *read]


@pytest.mark.parametrize(
    ("rule", "seen"),
    [
        ("/OCGs[10 0 R 11 0 R]", True), ("/OCGs[10 0 R 11 0 R]/P/AllOn", False), ("/OCGs 11 0 R", False),
        ("/OCGs[10 0 R 11 0 R]/P/AnyOff", True), ("/OCGs[10 0 R 11 0 R]/P/AllOff", False), ("/OCGs[]", True),
        ("/VE[/Not 11 0 R]", True), ("/VE[/And 10 0 R 11 0 R]", False), ("/VE[/Or 10 0 R 11 0 R]", True),
        ("/VE[/And 10 0 R[/Not 11 0 R]]", True),
    ],
)  # fmt: skip
def test_rules_about_several_layers(rule: str, seen: bool) -> None:
    content = shown("text") + layered("Rule", shown("ruled", y=200))
    made = pdf(content, *GROUPS, f"<</Type/OCMD{rule}>>", root=LAYERS, resources=NAMED)
    assert lines(made) == ["text", *(["ruled"] if seen else [])]


def test_forms_and_notes_of_a_layer_that_is_off_are_left_out() -> None:
    form = stream(shown("in the form", y=200), f"{FORM}/OC 11 0 R")
    note = "<</Type/Annot/Subtype/FreeText/Rect[0 0 9 9]/Contents(typed)/OC 11 0 R>>"
    made = pdf(
        shown("text") + "/X Do", *GROUPS, form, note, root=LAYERS, resources="/XObject<</X 12 0 R>>",
        page="/Annots[13 0 R]",
    )  # fmt: skip
    assert (lines(made), counts(made)) == (["text"], {"hidden": 2})


def test_stamps_and_signatures_are_read_as_the_page_shows_them() -> None:
    stamp = "<</Type/Annot/Subtype/Stamp/Rect[0 0 9 9]/Contents(a remark)/AP<</N 11 0 R>>>>"
    signed = "<</Type/Annot/Subtype/Widget/FT/Sig/T(Signature1)/Rect[0 0 9 9]/AP<</N 13 0 R>>>>"
    hidden = "<</Type/Annot/Subtype/Stamp/F 2/Rect[0 0 9 9]/AP<</N<</Off 11 0 R>>>>/AS/Off>>"
    outer = "/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</In 14 0 R>>>>"
    made = pdf(
        shown("claim"), stamp, stream(shown("RECEIVED 2 March 2025"), FORM), signed, stream("/In Do", outer),
        stream(shown("Digitally signed by") + shown("Hong Gildong", y=280), FORM), hidden,
        page="/Annots[10 0 R 12 0 R 15 0 R]",
    )  # fmt: skip
    assert lines(made) == ["claim", "RECEIVED 2 March 2025", "Digitally signed by Hong Gildong"]
    assert counts(made) == {"comment": 1, "hidden": 1}


def test_a_text_that_is_drawn_twice_to_look_bold_is_read_once() -> None:
    pieces = "BT /F1 12 Tf {x} 200 Td (Con) Tj (tract) Tj ET "
    form = stream(shown("row", y=0), FORM)
    drawn = "".join(f"q 1 0 0 1 0 {y} cm /X Do Q " for y in (150, 150, 100))
    content = shown("Title") + shown("Title", 50.4, 299.7) + pieces.format(x=50) + pieces.format(x=50.3) + drawn
    assert lines(pdf(content, form, resources="/XObject<</X 10 0 R>>")) == ["Title", "Contract", "row", "row"]


@pytest.mark.parametrize(
    ("shows", "read"),
    [
        ("50 300 Td (1) Tj (0) Tj (0) Tj (0) Tj", ["1000"]),
        ("/F1 4 Tf 50 300 Td (1) Tj 2.2 0 Td (0) Tj 2.2 0 Td (0) Tj", ["100"]),
        ("/F1 4 Tf 50 300 Td (l) Tj .9 0 Td (l) Tj", ["ll"]),
        ("14 TL 50 300 Td (same) Tj T* (same) Tj (same) ' (same) '", ["same"] * 4),
        ("/F1 1 Tf 12 0 0 12 50 300 Tm (no) Tj 12 0 0 12 80 300 Tm (no) Tj", ["no no"]),
    ],
)
def test_what_is_written_again_elsewhere_is_no_copy(shows: str, read: list[str]) -> None:
    assert lines(pdf(f"BT /F1 12 Tf {shows} ET")) == read


def test_text_beside_the_part_of_a_page_that_is_shown_is_left_out_and_counted() -> None:
    content = shown("kept") + shown("cropped away", y=380) + shown("and this", x=5000) + shown("end", y=250)
    made = pdf(content, page="/CropBox[0 0 400 350]")
    assert (lines(made), counts(made)) == (["kept", "end"], {"hidden": 1})


def test_a_cover_of_an_encrypted_file_says_that_it_needs_a_password() -> None:
    payload = "<</Type/Filespec/F(a.pdf)/AFRelationship/EncryptedPayload/EF<</F 11 0 R>>>>"
    assert refusal(pdf(shown("protected"), payload, stream("x"), root="/AF[10 0 R]")) == ("password", "pdf")


def test_a_page_under_a_picture_with_transparent_parts_is_one_of_pictures() -> None:
    picture = "/Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray"
    scan, images = "q 400 0 0 400 0 0 cm /I Do Q", "/XObject<</I 10 0 R>>"
    masked = (stream("x", f"{picture}/SMask 11 0 R"), stream("x", picture))
    assert refusal(pdf(scan, *masked, resources=images)) == ("no_text", "pictures")
    assert lines(pdf(scan + shown("Short letter"), *masked, resources=images)) == ["Short letter"]


ONE_BYTE, TWO_BYTES = "<00> <FF>", "<0000> <FFFF>"


def composite(codes: str, letters: str, encoding: str = "/Identity-H", *more: str) -> bytes:
    """A page that shows codes of a composite font with a map to letters."""
    system = "<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>"
    font = f"<</Type/Font/Subtype/Type0/BaseFont/X/Encoding{encoding}/DescendantFonts[10 0 R]/ToUnicode 11 0 R>>"
    inner = f"<</Type/Font/Subtype/CIDFontType2/BaseFont/X/CIDSystemInfo{system}/DW 1000>>"
    content = f"BT /F1 12 Tf 50 300 Td <{codes}> Tj ET"
    return pdf(content, inner, stream(map_of(letters)), *more, font=font)


def map_of(letters: str, codes: str = TWO_BYTES) -> str:
    rows = letters.split(",") if letters else []
    listed = f"{len(rows)} beginbfchar\n" + "\n".join(rows) + "\nendbfchar" if rows else ""
    return f"begincmap\n1 begincodespacerange\n{codes}\nendcodespacerange\n{listed}\nendcmap"


@pytest.mark.parametrize("letters", ["", "<0001> <ACC4>,<0002> <C57D>"])
def test_codes_that_a_map_leaves_out_give_no_letters(letters: str) -> None:
    assert refusal(composite("00010002004100420043", letters))[0] == "unreadable_text"


def test_a_letter_that_a_map_leaves_out_is_marked() -> None:
    made = composite("0001" * 20 + "0141", "<0001> <ACC4>")
    assert (text(made).text, counts(made)) == ("계" * 20 + "\ufffd", {"unidentified": 1})


def test_codes_of_one_byte_in_an_encoding_of_the_file() -> None:
    encoding = stream(f"1 begincodespacerange {ONE_BYTE} endcodespacerange", "/Type/CMap/CMapName/X")
    assert lines(composite("010203", "<01> <ACC4>,<02> <C57D>,<03> <AE08>", " 12 0 R", encoding)) == ["계약금"]


def test_codes_of_a_known_encoding_are_not_looked_up_in_a_map_of_codes() -> None:
    """The letter 계 is U+ACC4; the code AC C4 is another letter."""
    assert lines(composite("계약".encode("cp949").hex(), "<ACC4> <0058>", "/KSCms-UHC-H")) == ["계약"]


@pytest.mark.parametrize(
    ("first", "name", "letters", "read"),
    [
        (33, "ABCDEF+X", None, None), (33, "Arial", None, "!#$"), (1, "ABCDEF+X", "", None),
        (1, "ABCDEF+X", "<21> <ACC4>", None), (1, "ABCDEF+X", "<21> <ACC4>,<23> <C57D>,<24> <AE08>", "계약금"),
    ],
)  # fmt: skip
def test_a_simple_font_that_numbers_its_glyphs(first: int, name: str, letters: str | None, read: str | None) -> None:
    mapped = "" if letters is None else "/ToUnicode 10 0 R"
    font = (
        f"<</Type/Font/Subtype/TrueType/BaseFont/{name}/FirstChar {first}/LastChar 60/Widths[]{mapped}"
        f"/FontDescriptor<</Type/FontDescriptor/Flags 4/FontName/{name}>>>>"
    )
    made = pdf(shown("!#$"), stream(map_of(letters or "", ONE_BYTE)), font=font)
    if read is None:
        assert refusal(made)[0] == "unreadable_text"
    else:
        assert lines(made) == [read]


def meant(text: str, content: str) -> str:
    return f"/Span <</ActualText ({text})>> BDC {content} EMC"


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("(an ) Tj " + meant("office", "(o) Tj [(XX) -50 (ice)] TJ") + "( here) Tj", ["an office here"]),
        ("(ex) Tj " + meant("\\376\\377\\000\\255", "(-) Tj") + " 0 -14 Td (ample) Tj", ["example"]),
        ("(seen) Tj " + meant("", "(drawn) Tj [(twice)] TJ"), ["seen"]),
        (meant("outer", "(x) Tj " + meant("inner", "(y) Tj") + "(z) Tj") + "( end) Tj", ["outer end"]),
        ("/Span /Word BDC (glyphs) Tj EMC ( well) Tj", ["판결 well"]),
        ("/Span <</MCID 0>> BDC (as it is) Tj EMC", ["as it is"]),
    ],
)
def test_the_text_given_for_glyphs_is_read_in_their_place(content: str, read: list[str]) -> None:
    named = "/Properties<</Word<</ActualText<FEFFD310ACB0>>>>>"
    assert lines(pdf(f"BT /F1 12 Tf 50 300 Td {content} ET", resources=named)) == read
