"""Refusals of files in the session's language."""

import pytest
from playmolt_cli.legal.attach import in_words
from playmolt_gateway.uploads import refusals
from playmolt_schemas.codes import FieldFault


@pytest.mark.parametrize("fault", refusals.every(), ids=lambda fault: fault.message[:40])
def test_every_refusal_of_a_file_is_known_in_every_language(fault: FieldFault) -> None:
    assert in_words(fault.message, "en") == fault.message
    texts = {in_words(fault.message, language) for language in ("en", "ko", "zh")}
    assert len(texts) == 3
    assert not any("{" in text for text in texts)


def test_figures_are_kept_and_other_refusals_stay_as_they_are() -> None:
    message = (
        'has 120,000 characters of text and exceeds the limit of 100,000 characters. Take a part with pages: "3-9"'
    )
    assert in_words(message, "ko").startswith("글자 수가 120,000자로, 한도인 100,000자를 넘습니다.")
    assert in_words("must contain 1 to 200 characters", "zh") == "must contain 1 to 200 characters"
