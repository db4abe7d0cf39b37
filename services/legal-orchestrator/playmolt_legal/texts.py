"""The project's own words in every language (`data/texts.json`) and the steering block of the source."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

import msgspec
from playmolt_schemas.canonical import digest
from playmolt_schemas.games.legal import Role
from playmolt_schemas.stored.legal import (
    CaseType,
    Check,
    Evidence,
    EvidenceNote,
    FactChange,
    FactSource,
    FactState,
    GateName,
    Language,
    RefusalReason,
    Side,
)

_DATA: Final = files("playmolt_legal").joinpath("data")
_FORMATS: Final = {
    "text/plain": "TXT",
    "application/pdf": "PDF",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "DOCX",
    "application/hwp+zip": "HWPX",
}
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
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


class LegalTexts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything the service says in one language."""

    not_set: str
    case_types: Mapping[CaseType, str]
    goals: Mapping[str, str]
    stances: Mapping[str, str]
    constraints: Mapping[str, str]
    levels: Mapping[str, str]
    resolutions: Mapping[str, str]
    styles: Mapping[str, str]
    choices: Mapping[str, str]
    titles: Mapping[CaseType, Mapping[Role, str]]
    fields: Mapping[str, str]
    banners: Mapping[str, str]
    support: str
    confirm_disputed: str
    stipulate: str
    restipulate: str
    refusals: Mapping[RefusalReason, str]
    setting: str
    final_title: str
    likelihood: str
    no_likelihood: str
    sides: Mapping[CaseType, Mapping[Side, str]]
    persons_side: str
    rules: str
    tasks: Mapping[str, str]
    rounds: Mapping[str, str]
    ranges: Mapping[CaseType, str]
    gone: str
    method: str
    gate_criteria: str
    block_rules: str
    schema: str
    example: str
    uploads: str
    notes: Mapping[str, str]
    """About an upload, by kind; `pictures` are those in a document, and `picture` pages that are pictures."""
    form: str
    material: str
    rewrite: str
    checks: Mapping[Check, str]
    report: Mapping[str, str]
    outputs: Mapping[str, str]
    values: Mapping[str, str]
    gate_names: Mapping[GateName, str]
    changes: Mapping[FactChange, str]
    standards: Mapping[str, str]
    states: Mapping[FactState, str]
    sources: Mapping[FactSource, str]
    roles: Mapping[Role, str]
    disclaimer: str


def note(words: Mapping[str, str], stored: EvidenceNote) -> EvidenceNote:
    """A note with its text instead of its detail."""
    detail = stored.detail or ""
    pages, _, total = detail.partition("/") if stored.kind == "pages" else (detail, "", "")
    name = _FORMATS.get(detail, detail)
    key = "pictures" if stored.kind == "picture" and not detail else stored.kind
    text = words[key].format(n=stored.count, pages=pages or stored.count, total=total, type=name)
    return EvidenceNote(kind=stored.kind, count=stored.count, text=text)


def about_upload(words: LegalTexts, item: Evidence) -> str:
    """What was left out of an upload, and what prompts do not contain of it, in brackets; "" if there is nothing."""
    said = [note.text for note in item.notes or () if note.text]
    if item.chars and (item.prompt_chars or 0) < item.chars:
        said.append(words.report["cut"].format(n=f"{item.prompt_chars or 0:,}", m=f"{item.chars:,}"))
    return f" ({' '.join(said)})" if said else ""


def data(name: str) -> bytes:
    return _DATA.joinpath(name).read_bytes()


@cache
def _all() -> Mapping[Language, LegalTexts]:
    return msgspec.json.decode(data("texts.json"), type=dict[Language, LegalTexts])


def of(language: Language) -> LegalTexts:
    return _all()[language]


def listed(language: Language, items: Iterable[str]) -> str:
    return ("；" if language == "zh" else "; ").join(items)


@cache
def steering_block() -> str:
    """The block of the source's section 4.1, its fields still open, without a line end behind it."""
    return data("steering_block.txt").decode().removesuffix("\n")


@cache
def _examples() -> Mapping[Language, Mapping[str, Mapping[str, object]]]:
    return msgspec.json.decode(data("examples.json"), type=dict[Language, dict[str, dict[str, Any]]])


def example(language: Language, task: str) -> Mapping[str, object]:
    """A good answer to a task, of a case that has nothing to do with any session."""
    return _examples()[language][task]


@cache
def version() -> str:
    """Name all data files of this package, so that a change of any of them is seen in event 1."""
    names = ("texts.json", "steering_block.txt", "guardrails.json", "scripted.json", "examples.json")
    return digest([data(name).decode() for name in names])[:16]


@cache
def standard_of_proof(language: Language, case_type: CaseType, jurisdiction: str) -> str:
    """The general text, then that of the jurisdiction; for an unknown jurisdiction, a note that its own law applies."""
    words = of(language)
    place = next((name for name, known in _PLACES.items() if known.search(jurisdiction)), None)
    usual = words.standards[case_type].format(jurisdiction=jurisdiction)
    if place is None:
        return f"{usual} {words.standards['otherwise'].format(jurisdiction=jurisdiction)}"
    own = words.standards.get(f"{place}_{case_type}")
    return f"{usual} {own}" if own else usual


def utc_time(at: str) -> datetime:
    return datetime.fromisoformat(at).astimezone(UTC)


def date_text(at: str, language: Language) -> str:
    time = utc_time(at)
    clock = f"{time.hour:02}:{time.minute:02}"
    if language == "ko":
        return f"{time.year}년 {time.month}월 {time.day}일 {clock} (UTC)"
    if language == "zh":
        return f"{time.year}年{time.month}月{time.day}日 {clock}（UTC）"
    return f"{time.day} {_MONTHS[time.month - 1]} {time.year}, {clock} UTC"


def day_text(day: str, language: Language) -> str:
    """A date `2024-03-05`, `2024-03` or `2024` in words."""
    year, *finer = (int(part) for part in day.split("-"))
    if language == "en":
        names = [str(part) if place else _MONTHS[part - 1] for place, part in enumerate(finer)]
        return " ".join([*reversed(names), str(year)])
    units, between = ("년월일", " ") if language == "ko" else ("年月日", "")
    return between.join(f"{part}{unit}" for part, unit in zip((year, *finer), units, strict=False))


@lru_cache(maxsize=256)
def plain(text: str) -> str:
    """The letters, marks and digits of a text, case folded: what two texts are compared by."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if unicodedata.category(char)[0] in "LMN")
