"""HWPX as Hancom Office shows it."""

import io
import zipfile

import pytest

from services.gateway.tests.uploads.documents import counts, hp, hwpx, lines, refusal, text, zipped

HEAD = (
    '<hh:refList><hh:numberings><hh:numbering id="1"><hh:paraHead level="1" start="1" numFormat="DIGIT">'
    '제^1조</hh:paraHead><hh:paraHead level="2" start="1" '
    'numFormat="HANGUL_SYLLABLE">^2.</hh:paraHead></hh:numbering></hh:numberings>'
    '<hh:bullets><hh:bullet id="1" char="\uf0a7"/></hh:bullets><hh:paraProperties>'
    '<hh:paraPr id="0"><hh:heading type="NONE" idRef="0" level="0"/></hh:paraPr>'
    '<hh:paraPr id="1"><hh:heading type="NUMBER" idRef="1" level="0"/></hh:paraPr>'
    '<hh:paraPr id="2"><hh:heading type="NUMBER" idRef="1" level="1"/></hh:paraPr>'
    '<hh:paraPr id="3"><hh:heading type="BULLET" idRef="1" level="0"/></hh:paraPr></hh:paraProperties></hh:refList>'
)


def t(content: str) -> str:
    return f"<hp:t>{content}</hp:t>"


def sub(content: str) -> str:
    return f"<hp:subList>{content}</hp:subList>"


def ctrl(content: str) -> str:
    return f"<hp:ctrl>{content}</hp:ctrl>"


def tc(content: str) -> str:
    return f"<hp:tc>{sub(content)}<hp:cellSpan/></hp:tc>"


def test_sections_are_read_in_the_order_of_the_spine() -> None:
    made = hwpx(hp(t("first written")), hp(t("first read")), spine=(1, 0))
    assert lines(made) == ["first read", "first written"]
    assert text(made).media_type == "application/hwp+zip"


def test_numbers_bullets_tables_and_notes_are_read_as_they_are_shown() -> None:
    said = sub(hp(ctrl('<hp:autoNum num="1" numType="FOOTNOTE"/>') + t("민법 제563조")))
    note = ctrl(f'<hp:footNote number="1">{said}</hp:footNote>')
    inner = f"<hp:tbl><hp:tr>{tc(hp(t('가')))}{tc(hp(t('나')))}</hp:tr></hp:tbl>"
    table = (
        f"<hp:tbl><hp:tr>{tc(hp(t('원고')))}{tc(hp(t('김')) + hp(t('철수')))}</hp:tr>"
        f"<hp:tr>{tc(hp(inner))}{tc(hp(t('끝')))}</hp:tr></hp:tbl>"
    )
    section = (
        hp(t("목적"), "1") + hp(t("하나"), "2") + hp(t("둘"), "2") + hp(t("대금") + note + t("을 낸다"), "1")
        + hp(t("점"), "3") + hp(table) + hp(t("가<hp:tab/>나<hp:lineBreak/>다<hp:nbSpace/>라"))
    )  # fmt: skip
    assert lines(hwpx(section, head=HEAD)) == [
        "제1조 목적", "가. 하나", "나. 둘", "제2조 대금［1: 민법 제563조］을 낸다", "• 점", "원고 | 김 철수",
        "가 | 나 | 끝", "가\t나", "다 라",
    ]  # fmt: skip


def test_changes_memos_and_hidden_comments_are_counted() -> None:
    code = "<hp:parameters><hp:stringParam>x</hp:stringParam></hp:parameters>"
    memo = ctrl(f'<hp:fieldBegin id="1" type="MEMO">{code}{sub(hp(t("의견")))}</hp:fieldBegin>')
    section = (
        hp(t('대금은 <hp:deleteBegin Id="1" TcId="1"/>오백만<hp:deleteEnd Id="1" TcId="1" paraend="0"/>'
             '<hp:insertBegin Id="2" TcId="2"/>육백만<hp:insertEnd Id="2" TcId="2" paraend="0"/> 원'))
        + hp(t('남고<hp:deleteBegin Id="3" TcId="3"/>지움')) + hp(t('더 지움<hp:deleteEnd Id="3" TcId="3"/> 이어짐'))
        + hp(memo + t("본문") + ctrl('<hp:fieldEnd beginIDRef="1"/>'))
        + hp(ctrl(f"<hp:hiddenComment>{sub(hp(t('숨은 설명')))}</hp:hiddenComment>") + t("끝"))
    )  # fmt: skip
    made = hwpx(section)
    assert lines(made) == ["대금은 육백만 원", "남고 이어짐", "본문", "끝"]
    assert counts(made) == {"insertion": 1, "deletion": 2, "comment": 1, "hidden": 1}


def test_text_boxes_headers_and_codes_of_fields() -> None:
    code = '<hp:parameters><hp:stringParam name="Command">http\\://x</hp:stringParam></hp:parameters>'
    link = ctrl(f'<hp:fieldBegin type="HYPERLINK">{code}</hp:fieldBegin>')
    box = f"<hp:rect><hp:drawText>{sub(hp(t('글상자')))}</hp:drawText></hp:rect>"
    header = ctrl(f'<hp:header id="1" applyPageType="BOTH">{sub(hp(t("법원")))}</hp:header>')
    section = hp(header + link + t("링크") + ctrl("<hp:fieldEnd/>")) + hp(t("앞") + box) + hp(t("뒤"))
    made = hwpx(section, hp(header + t("둘째 구역")))
    assert lines(made) == ["링크", "앞", "글상자", "뒤", "둘째 구역", "법원"]


def test_letters_with_annotations_and_lists_without_a_place_in_the_spine() -> None:
    section = hp("<hp:dutmal><hp:mainText>甲</hp:mainText><hp:subText>갑</hp:subText></hp:dutmal>" + t(" 제출"), "1")
    for listed in (True, False):
        made = hwpx(section + hp('<hp:compose composeText="①"/>'), head=HEAD, listed=listed)
        assert lines(made) == ["제1조 甲 제출", "①"]


def test_a_document_with_a_password_says_so() -> None:
    manifest = '<odf:manifest xmlns:odf="x"><odf:file-entry><odf:encryption-data/></odf:file-entry></odf:manifest>'
    assert refusal(hwpx("", **{"META-INF/manifest.xml": manifest})) == ("password", "hwpx")


def test_what_hancom_office_draws_as_text_is_read() -> None:
    number = '<hp:ctrl><hp:autoNum num="3" numType="TABLE"/></hp:ctrl>'
    body = hp(
        "<hp:t>값 </hp:t><hp:equation><hp:shapeComment>수식</hp:shapeComment><hp:script>1 over 2</hp:script>"
        "</hp:equation><hp:t>, 표 </hp:t>" + number
        + '<hp:t> </hp:t><hp:checkBtn value="CHECKED" caption="동의"/><hp:checkBtn value="UNCHECKED" caption="거부"/>'
        '<hp:edit><hp:text>입력</hp:text></hp:edit><hp:comboBox selectedValue="둘"/>'
    ) + hp('<hp:textart text="글맵시"/>')  # fmt: skip
    assert lines(hwpx(body)) == ["값 1 over 2, 표 3 ☒ 동의☐ 거부입력둘", "글맵시"]


def test_master_pages_are_read_once_at_the_end() -> None:
    named = '<hp:secPr><hp:masterPage idRef="m0"/></hp:secPr>'
    with zipfile.ZipFile(io.BytesIO(hwpx(hp(named + t("첫째 구역")), hp(named + t("둘째 구역"))))) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    item = b'<opf:item id="m0" href="Contents/masterpage0.xml" media-type="application/xml"/></opf:manifest>'
    parts["Contents/content.hpf"] = parts["Contents/content.hpf"].replace(b"</opf:manifest>", item)
    master = (
        f'<hm:masterPage xmlns:hm="m" xmlns:hp="http://www.hancom.co.kr/hwpml/2011/paragraph">{sub(hp(t("대외비")))}'
    )
    made = zipped({**parts, "Contents/masterpage0.xml": f"{master}</hm:masterPage>"})
    assert lines(made) == ["첫째 구역", "둘째 구역", "대외비"]


@pytest.mark.parametrize(("side", "read"), [("TOP", ["표 1", "가 | 나"]), ("BOTTOM", ["가 | 나", "표 1"])])
def test_a_caption_is_read_on_its_side_of_the_table(side: str, read: list[str]) -> None:
    caption = f'<hp:caption side="{side}">{sub(hp(t("표 1")))}</hp:caption>'
    table = f"<hp:tbl>{caption}<hp:tr>{tc(hp(t('가')))}{tc(hp(t('나')))}</hp:tr></hp:tbl>"
    assert lines(hwpx(hp(table))) == read
    assert lines(hwpx(hp(f"<hp:tbl><hp:tr>{tc(hp(table))}{tc(hp(t('끝')))}</hp:tr></hp:tbl>"))) == [
        f"{' '.join(read)} | 끝"
    ]  # fmt: skip


def test_numbers_of_notes_have_the_format_of_the_note_or_of_its_section() -> None:
    def noted(form: str) -> str:
        number = f'<hp:autoNum num="3" numType="ENDNOTE">{form}</hp:autoNum>'
        return ctrl(f'<hp:endNote number="3">{sub(hp(ctrl(number) + t("민법")))}</hp:endNote>')

    section = '<hp:secPr><hp:endNotePr><hp:autoNumFormat type="ROMAN_SMALL"/></hp:endNotePr></hp:secPr>'
    own = '<hp:autoNumFormat type="CIRCLED_DIGIT"/>'
    assert lines(hwpx(hp(section + t("가") + noted("") + t("나") + noted(own)))) == ["가［iii: 민법］나［③: 민법］"]


@pytest.mark.parametrize(
    "drawn",
    ['<hp:textart text="지움"/>', "<hp:pic/>", ctrl(f'<hp:footNote number="1">{sub(hp(t("지움")))}</hp:footNote>')],
)
def test_what_is_drawn_in_a_deletion_is_left_out_and_counted(drawn: str) -> None:
    made = hwpx(hp(t('앞<hp:deleteBegin Id="1"/>') + drawn + t('<hp:deleteEnd Id="1"/>뒤')))
    assert (lines(made), counts(made)) == (["앞뒤"], {"deletion": 1})


def test_a_number_that_is_none_spoils_no_document_and_lines_of_the_file_are_none_of_the_text() -> None:
    head = HEAD.replace('idRef="1" level="0"', 'idRef="1" level=""').replace('start="1"', 'start="x"')
    assert lines(hwpx(hp(t("목적\n    이다"), "1") + hp('<hp:listBox selectedValue="둘"/>'), head=head)) == [
        "제1조 목적 이다", "둘"
    ]  # fmt: skip
