"""The project's own words in every language (`data/texts.json`) and the steering block of the source."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec
from playmolt_schemas.canonical import digest
from playmolt_schemas.games.legal import (
    CaseType,
    Check,
    FactChange,
    FactSource,
    FactState,
    GateName,
    Language,
    RefusalReason,
    Role,
    Side,
)

_DATA: Final = files("playmolt_legal").joinpath("data")


class Texts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


def data(name: str) -> bytes:
    return _DATA.joinpath(name).read_bytes()


@cache
def _all() -> Mapping[Language, Texts]:
    return msgspec.json.decode(data("texts.json"), type=dict[Language, Texts])


def of(language: Language) -> Texts:
    return _all()[language]


def listed(language: Language, items: Iterable[str]) -> str:
    return ("；" if language == "zh" else "; ").join(items)


@cache
def steering_block() -> str:
    """The block of the source's section 4.1, its fields still open, without a line end behind it."""
    return data("steering_block.txt").decode().removesuffix("\n")


@cache
def _examples() -> Mapping[Language, Mapping[str, Mapping[str, Any]]]:
    return msgspec.json.decode(data("examples.json"), type=dict[Language, dict[str, dict[str, Any]]])


def example(language: Language, task: str) -> Mapping[str, Any]:
    """A good answer to a task, of a case that has nothing to do with any session."""
    return _examples()[language][task]


@cache
def version() -> str:
    """Name all data files of this package, so that a change of any of them is seen in event 1."""
    names = ("texts.json", "steering_block.txt", "guardrails.json", "scripted.json", "examples.json")
    return digest([data(name).decode() for name in names])[:16]
