"""The tables of the guardrails (`data/guardrails.json`)."""

from collections.abc import Mapping
from typing import Final

import msgspec
from playmolt_schemas.legal import Language

from playmolt_legal import texts


class Certain(msgspec.Struct, frozen=True):
    """Words of certainty; `quantity` is 100 % where it is no share of something."""

    ko: tuple[str, ...]
    en: tuple[str, ...]
    quantity: str


class NamesKo(msgspec.Struct, frozen=True):
    """What makes a Korean name: surnames, what follows a name, and what only looks like one."""

    surnames: str
    compound: tuple[str, ...]
    honorifics: tuple[str, ...]
    titles: tuple[str, ...]
    not_names: frozenset[str]
    organisation_ends: str
    after: str


class NamesEn(msgspec.Struct, frozen=True):
    """English titles, common names (told even where they open a sentence), and capitalised words that are no names."""

    titles: str
    given: tuple[str, ...]
    known: tuple[str, ...]


class Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Word lists and patterns; lists hold regular expressions unless they say otherwise."""

    certain: Certain
    outcomes: Mapping[Language, tuple[str, ...]]
    negations: Mapping[Language, str]
    offensive: Mapping[Language, tuple[str, ...]]
    personal: Mapping[str, str]
    not_personal: str
    outside_counsel: Mapping[Language, str]
    outside_counsel_negated: Mapping[Language, str]
    excluded_categories: Mapping[str, tuple[str, ...]]
    case_codes: tuple[str, ...]
    case_codes_en: tuple[str, ...]
    not_laws: tuple[str, ...]
    currencies: Mapping[str, str]
    months: tuple[str, ...]
    names_ko: NamesKo
    names_en: NamesEn
    reporters_en: str


TABLES: Final = msgspec.json.decode(texts.data("guardrails.json"), type=Tables)
