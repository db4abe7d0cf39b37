"""The tables of the guardrails (`data/guardrails.json`)."""

from collections.abc import Mapping
from typing import Final

import msgspec
from playmolt_schemas.stored.legal import Language

from playmolt_legal import texts


class Certain(msgspec.Struct, frozen=True):
    """Words of certainty; `quantity` matches 100 %, `estimate` any percentage that is not a share of something."""

    ko: tuple[str, ...]
    en: tuple[str, ...]
    zh: tuple[str, ...]
    quantity: str
    estimate: str


class NamesKo(msgspec.Struct, frozen=True):
    """What makes a Korean name: surnames, what follows a name, and what only looks like one.

    Strings of syllables: `given` are those of given names, `single` those that are a given name by themselves, `alone`
    the surnames that occur before a title without a given name and mean nothing else. `roles` precede a name. A word
    that ends in `word_ends` is not a name, unless its given name is in `kept`; nor is one of `not_names` with one of
    `suffixes` behind it.
    """

    surnames: str
    given: str
    single: str
    alone: str
    word_ends: str
    suffixes: str
    kept: frozenset[str]
    compound: tuple[str, ...]
    honorifics: tuple[str, ...]
    titles: tuple[str, ...]
    roles: tuple[str, ...]
    not_names: frozenset[str]
    organisation_ends: str
    after: str


class NamesEn(msgspec.Struct, frozen=True):
    """English titles, common names (found even at the start of a sentence), and capitalised words that are not names.

    `known` are such words, singular where the plural adds an s; `abstract` is how many more of them end;
    `companies` follow the name of one. `human_verbs` take people as their subject; `impersonal` are subjects of them
    that are not names, case folded.
    """

    titles: str
    given: tuple[str, ...]
    known: tuple[str, ...]
    companies: tuple[str, ...]
    human_verbs: str
    impersonal: tuple[str, ...]
    abstract: str


class Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Word lists and patterns; lists hold regular expressions unless they say otherwise.

    `short_laws_en` are abbreviations of laws. `contracts` (Korean and Chinese) and `contracts_en` are documents with
    articles that are not laws; `counters_en`, `counters_ko` follow a number of people or things, and `counting_ko`
    precedes one; `paying_en`, `paying_ko`, `paying_zh` are near a sum of money that goes without its currency,
    `money_ko` before one in thousands of 만, `sums_en` behind one. `number_labels` make a number something else than an
    account, `called` may be between the two where the label comes last; `phone_words` make a service number a phone;
    `no_account` are dates, ranges of them, times, sums and counts.
    """

    certain: Certain
    outcomes: Mapping[Language, tuple[str, ...]]
    negations: Mapping[Language, tuple[str, ...]]
    offensive: Mapping[Language, tuple[str, ...]]
    personal: Mapping[str, str]
    account_words: str
    phone_words: str
    company_number: str
    number_labels: str
    called: str
    no_account: tuple[str, ...]
    outside_counsel: Mapping[Language, str]
    outside_counsel_negated: Mapping[Language, str]
    excluded_categories: Mapping[str, tuple[str, ...]]
    case_codes: tuple[str, ...]
    case_codes_en: tuple[str, ...]
    not_laws: tuple[str, ...]
    short_laws_en: str
    currencies: Mapping[str, str]
    numbers_en: Mapping[str, int]
    scales_en: Mapping[str, int]
    contracts: str
    contracts_en: str
    counters_en: str
    counters_ko: str
    counting_ko: str
    paying_en: str
    sums_en: str
    paying_ko: str
    money_ko: str
    paying_zh: str
    months: tuple[str, ...]
    months_short: tuple[str, ...]
    names_ko: NamesKo
    names_en: NamesEn
    reporters_en: str


TABLES: Final = msgspec.json.decode(texts.data("guardrails.json"), type=Tables)
