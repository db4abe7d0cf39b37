"""The person's inputs, text by text, and whether one contains a quote (legal.md, Facts by code)."""

from collections.abc import Iterator
from typing import Final

import msgspec
from playmolt_schemas.stored.legal import TimelineItem

from playmolt_legal.guardrails import corpus
from playmolt_legal.guardrails.corpus import Corpus
from playmolt_legal.state import State
from playmolt_legal.texts import plain

_LEAST: Final = 8
"""The minimum length of a quote in letters and digits, unless it is a whole input."""


class Input(msgspec.Struct, frozen=True):
    """One text of the person; a short quote must equal `whole`."""

    text: str
    whole: str


def inputs(state: State) -> tuple[Input, ...]:
    return tuple(each for each in _inputs(state) if each.text.strip())


def supplied(state: State) -> Corpus:
    """The dates, sums, laws and names in the inputs."""
    return corpus.of_texts(tuple(each.text for each in inputs(state)))


def quoted(quote: str, given: tuple[Input, ...]) -> bool:
    """Whether one input contains the quote and the quote is long enough."""
    sought = plain(quote)
    if not sought:
        return False
    return any(sought in plain(each.text) and (len(sought) >= _LEAST or sought == each.whole) for each in given)


def entry_input(entry: TimelineItem) -> Input:
    return Input(f"{entry.when} {entry.what}", plain(entry.what))


def _inputs(state: State) -> Iterator[Input]:
    narrative, facts = state.narrative, state.facts
    yield from map(_input, (narrative.overview, narrative.acts, narrative.opposing_claims))
    for addition in narrative.additions:
        yield _input(addition.text)
        yield from (_input(f"{answer.question} {answer.text}") for answer in addition.answers)
    yield from (entry_input(entry) for entry in facts.timeline)
    yield from (_input(f"{item.title} {item.description}") for item in facts.evidence)
    yield from map(_input, state.uploads.values())
    yield from (_input(correction.text) for correction in facts.corrections)


def _input(text: str) -> Input:
    return Input(text, plain(text))
