"""Texts in old encodings, by the first that fits."""

import codecs
import unicodedata

import pytest
from playmolt_gateway.uploads.outcome import FileText, ReaderOptions, Unread
from playmolt_gateway.uploads.program import read

from services.gateway.tests.uploads.documents import QUESTION, refusal, text

KOREAN = "제1조 매도인은 2025년 3월 2일까지 대금을 받고 물건을 인도한다.\r\n똠방각하와 펲시콜라"
CHINESE = "第一条 出卖人应当在二〇二五年三月二日之前交付标的物，买受人应当支付价款。\n第二条 违约责任"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (KOREAN.encode(), "utf-8"),
        (codecs.BOM_UTF8 + KOREAN.encode(), "utf-8"),
        (KOREAN.encode("utf-16"), "utf-16"),
        (codecs.BOM_UTF16_BE + KOREAN.encode("utf-16-be"), "utf-16"),
        (KOREAN.encode("utf-16-le"), "utf-16-le"),
        (KOREAN.encode("utf-16-be"), "utf-16-be"),
        ("Plain letters.".encode("utf-16-le"), "utf-16-le"),
        (KOREAN.encode("cp949"), "cp949"),
    ],
)
def test_korean_in_every_usual_encoding(content: bytes, encoding: str) -> None:
    found = text(content)
    assert found.text in (KOREAN, "Plain letters.")
    assert (found.encoding, found.media_type, found.pages, found.notes) == (encoding, "text/plain", None, ())
    assert found.sure is not None
    assert found.sure >= 0.9


def test_euc_kr_without_later_syllables_and_chinese() -> None:
    plain = "계약금은 오백만 원이다."
    assert text(plain.encode("euc-kr")).text == plain
    found = text(CHINESE.encode("gb18030"))
    assert (found.text, found.encoding) == (CHINESE, "gb18030")
    assert found.sure == 1


@pytest.mark.parametrize("name", ["big5", "shift_jis", "koi8-r", "euc-kr", "CP949", "utf-16-le", "johab", "iso-8859-1"])
def test_a_named_encoding_is_taken(name: str) -> None:
    written = {"big5": "契約", "shift_jis": "契約書のとおり", "koi8-r": "договор", "iso-8859-1": "accordé"}.get(
        name, "계약"
    )
    found = read(written.encode(name), ReaderOptions(100, 1000, encoding=name))
    assert isinstance(found, FileText)
    assert (found.text, found.sure) == (written, 1)


def test_what_is_not_sure_names_the_best_guess_and_its_first_line() -> None:
    found = read("\n  Le café était fermé.\nEncore".encode("cp1252"), QUESTION)
    assert isinstance(found, Unread)
    assert found.reason == "encoding"
    assert found.name
    assert found.line.startswith("Le caf")


@pytest.mark.parametrize("words", ["Größe", "Müller schuldet dem Kläger", "Straßenverkehr und Gebäude"])
def test_latin_words_are_not_taken_for_chinese(words: str) -> None:
    assert words.encode("cp1252").decode("gb18030")
    assert refusal(words.encode("cp1252"))[0] == "encoding"


@pytest.mark.parametrize("words", ["pdf파일 a4용지 3장", "iPhone은 김씨의 것이다", "A동 1층"])
def test_korean_beside_latin_words_is_korean(words: str) -> None:
    assert text(words.encode("cp949")).text == words


def test_a_wrong_or_unknown_encoding_is_refused() -> None:
    assert refusal("계약".encode("cp949"), ReaderOptions(100, 1000, encoding="utf-8")) == ("encoding", "wrong")
    for name in ("klingon", "rot13", "unicode_escape", "idna"):
        assert refusal(b"text", ReaderOptions(100, 1000, encoding=name)) == ("encoding", "unknown")


def test_texts_are_composed_and_hold_no_controls() -> None:
    found = text(unicodedata.normalize("NFD", "김민수\x1b").encode())
    assert found.text == "김민수 "
    assert refusal(b" \n ") == ("empty", "")
    assert refusal(b"a\0\1\2b") == ("format", "binary")


MIXED = "原告는 被告가 契約에 따른 代金을 支給하지 아니하였다고 主張한다."
TAIWANESE = "原告主張被告未依約交付貨物，應賠償新臺幣三百萬元。被告請求駁回原告之訴。"
JAPANESE = "原告は被告が契約に基づく代金を支払わなかったと主張する。"


@pytest.mark.parametrize(
    ("content", "guess", "line"),
    [
        (MIXED.encode("cp949"), "cp949", MIXED),
        (TAIWANESE.encode("big5"), "big5", TAIWANESE),
        ("原告主張被告未依約交付".encode("big5"), "big5", "原告主張被告未依約交付"),
        (JAPANESE.encode("cp932"), "cp932", JAPANESE),
        ("원고는 대금을 지급하였다고 주장한다.".encode("johab"), "johab", "원고는 대금을 지급하였다고 주장한다."),
        ("원고는 주장한다.".encode("iso2022_kr"), "iso2022-kr", "원고는 주장한다."),
    ],
)
def test_other_encodings_are_guessed_and_never_read_as_korean_or_chinese(content: bytes, guess: str, line: str) -> None:
    found = read(content, QUESTION)
    assert isinstance(found, Unread)
    assert (found.reason, found.name, found.line) == ("encoding", guess, line)


def test_japanese_is_not_read_as_korean() -> None:
    assert refusal(JAPANESE.encode("euc_jp"))[0] == "encoding"


def test_traditional_characters_in_gb18030_are_read() -> None:
    assert text(TAIWANESE.encode("gb18030")).text == TAIWANESE


@pytest.mark.parametrize("words", ["각하 가격 가능 가가가가", "一一一一一一 一丁", "원고는피고가지급하지않았다고가"])
@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
def test_zero_bytes_on_both_sides_do_not_swap_the_bytes_of_utf_16(words: str, name: str) -> None:
    found = text(words.encode(name))
    assert (found.text, found.encoding) == (words, name)


def test_names_of_windows_are_encodings_and_swapped_bytes_are_refused() -> None:
    found = read("가나다".encode("cp949"), ReaderOptions(100, 1000, encoding="windows-949"))
    assert isinstance(found, FileText)
    assert (found.text, found.encoding) == ("가나다", "cp949")
    swapped = "원고는 주장한다".encode("utf-16")
    found = read(swapped, ReaderOptions(100, 1000, encoding="utf-16-be"))
    assert isinstance(found, Unread)
    assert (found.reason, found.name, found.line) == ("encoding", "wrong", "utf-16-be")


@pytest.mark.parametrize("words", ["不可抗力", "本案", "法官", "保管", "八万元", "北京法院", "付款凭证"])
def test_short_chinese_is_not_read_as_korean(words: str) -> None:
    found = text(words.encode("gb18030"))
    assert (found.text, found.encoding) == (words, "gb18030")


@pytest.mark.parametrize(
    "words", ["각서", "차용증", "영수증", "갑과 을", "피고는 무죄", "보증금 반환", "똠방각하와 펲시콜라"]
)
def test_short_korean_stays_korean(words: str) -> None:
    found = text(words.encode("cp949"))
    assert (found.text, found.encoding) == (words, "cp949")


@pytest.mark.parametrize(
    "words",
    ["원고는 대금을 지급하였다고 주장한다.", "原告主张被告未依约交付货物。", "Le café était fermé, l’été"],
)
@pytest.mark.parametrize("damage", [b"\x92", b"\xea\xb0", "각".encode("cp949")])
def test_a_text_of_utf_8_with_damaged_bytes_says_where(words: str, damage: bytes) -> None:
    found = read("첫 줄\n".encode() + words.encode() + damage + b"\nlast", QUESTION)
    assert isinstance(found, Unread)
    assert (found.reason, found.name) == ("encoding", "damaged")
    assert found.line.startswith(words + "\ufffd")


def test_half_a_letter_at_the_end_is_damage() -> None:
    assert refusal("원고는 주장한다".encode()[:-1]) == ("encoding", "damaged")


@pytest.mark.parametrize("words", ["合同", "계약서", "被告未付款", "원고는피고에게"])
@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_zero_byte_is_guessed(words: str, name: str) -> None:
    found = read(words.encode(name), QUESTION)
    assert isinstance(found, Unread)
    assert (found.reason, found.name, found.line) == ("encoding", name, words)
