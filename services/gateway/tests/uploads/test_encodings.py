"""Texts in old encodings, by the first that fits."""

import codecs
import unicodedata

import pytest
from playmolt_gateway.uploads.outcome import FileText, Question, Unread
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
    found = read(written.encode(name), Question(100, 1000, encoding=name))
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
    assert refusal("계약".encode("cp949"), Question(100, 1000, encoding="utf-8")) == ("encoding", "wrong")
    for name in ("klingon", "rot13", "unicode_escape", "idna"):
        assert refusal(b"text", Question(100, 1000, encoding=name)) == ("encoding", "unknown")


def test_texts_are_composed_and_hold_no_controls() -> None:
    found = text(unicodedata.normalize("NFD", "김민수\x1b").encode())
    assert found.text == "김민수 "
    assert refusal(b" \n ") == ("empty", "")
    assert refusal(b"a\0\1\2b") == ("format", "binary")
