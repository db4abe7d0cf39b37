"""Where the lines of a report on paper end."""

import pytest
from playmolt_legal.report.pdf_format import wrapped


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("transformation", 6, ["transf", "ormati", "on"]),
        ("a\n\nb", 5, ["a", "", "b"]),
        ("", 5, [""]),
        ("물품을 인도하였다", 5, ["물품을", "인도하였다"]),
        ("被告没有任何异议。请求", 8, ["被告没有任何异", "议。请求"]),
        ("根据合同（E1）支付", 5, ["根据合同", "（E1）支", "付"]),
        ("于2026年3月5日交付", 6, ["于2026年", "3月5日交付"]),
        ("C2.1 忽略了延期", 7, ["C2.1 忽略", "了延期"]),
    ],
)
def test_lines_end_between_words_and_never_part_a_sign_from_what_it_closes(
    text: str, width: int, lines: list[str]
) -> None:
    assert wrapped(text, width, len) == lines
