"""The standard of proof, by type of case and the jurisdiction that was named."""

import re
from functools import cache
from typing import Final

from playmolt_schemas.games.legal import CaseType, Language

from playmolt_legal.roles import texts

_PLACES: Final = {
    "korea": re.compile(r"korea|seoul|\bkr\b|한국|대한민국|서울|부산|韩国|大韩", re.IGNORECASE),
    "china": re.compile(r"china|\bcn\b|beijing|shanghai|중국|中国|中华|北京|上海", re.IGNORECASE),
    "common": re.compile(
        r"united states|\busa?\b|u\.s\.|new york|california|delaware|texas|england|wales|united kingdom|\buk\b|\bgb\b"
        r"|미국|영국|잉글랜드|美国|英国|英格兰",
        re.IGNORECASE,
    ),
}
"""Jurisdictions whose words are known, by names they go by."""


@cache
def of(language: Language, case_type: CaseType, jurisdiction: str) -> str:
    """The language's usual words, then those of the jurisdiction; of one that is not known, that its own count."""
    words = texts.of(language)
    place = next((name for name, known in _PLACES.items() if known.search(jurisdiction)), None)
    usual = words.standards[case_type].format(jurisdiction=jurisdiction)
    if place is None:
        return f"{usual} {words.standards['otherwise'].format(jurisdiction=jurisdiction)}"
    own = words.standards.get(f"{place}_{case_type}")
    return f"{usual} {own}" if own else usual
