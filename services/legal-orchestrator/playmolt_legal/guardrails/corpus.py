"""What an answer may name without inventing it."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec
from playmolt_schemas.stored.legal import Fact, Facts, FactsForm, NumberedText, Round1Form

from playmolt_legal.guardrails import redaction
from playmolt_legal.guardrails.particulars import Particular, particulars
from playmolt_legal.state import State

_WORD: Final = re.compile(r"[A-Za-zÀ-ÿ]+(?:[-'’][A-Za-zÀ-ÿ]+)*")
_ID: Final = re.compile(r"\b[EFLT]\d{1,3}\b")


class Corpus(msgspec.Struct, frozen=True):
    """Words, ready to be looked up in. `joined` is without white space and case folded."""

    joined: str
    words: frozenset[str]
    known: tuple[Particular, ...]
    ids: frozenset[str]

    def holds(self, text: str) -> bool:
        """Whether it contains a text, ignoring white space and case."""
        return _joined(text) in self.joined

    def names(self, name: str) -> bool:
        """Whether it contains a person's name; a surname alone matches any name that starts with it."""
        if name.isascii() or _WORD.fullmatch(name.split(maxsplit=1)[0]):
            return all(word.casefold() in self.words for word in _WORD.findall(name))
        if len(name) == 1:
            return re.search(rf"{name}(?:씨|모|[가-힣]{{2}})", self.joined) is not None
        return name in self.joined

    def supplies(self, particular: Particular) -> bool:
        """Whether it contains the same date, amount, statute or case number."""
        same = [known for known in self.known if known.kind == particular.kind]
        match particular.kind:
            case "date":
                return any(self._dated(key) for key in particular.readings)
            case "statute":
                named = any(_same_statute(particular.key, known.key) for known in same)
                return named or (not particular.key[1] and self.holds(particular.key[0]))
            case "amount":
                return any(_same_amount(particular, known) for known in same)
            case _:
                return any(particular.key == known.key for known in same)

    def _dated(self, key: tuple[str, ...]) -> bool:
        """A year in one place and a day in another count as a supplied date."""
        dates = [date for known in self.known if known.kind == "date" for date in known.readings]
        pieced = any(date[0] == key[0] for date in dates) and ("0", *key[1:]) in dates
        return pieced or any(_same_date(key, date) for date in dates)

    def verifies(self, citation: str) -> bool:
        """Whether a citation names existing evidence or facts, or quotes the person."""
        cited = [found for found in particulars(citation) if found.kind in ("case", "statute")]
        if cited:
            return all(self.supplies(found) for found in cited)
        ids = _ID.findall(citation)
        if ids:
            return all(identifier in self.ids for identifier in ids)
        return self.holds(citation)


def of(state: State) -> Corpus:
    """What an answer may name: what the person has supplied or picked so far, and the confirmed facts."""
    facts = [text for fact in state.facts.confirmed for text in (fact.text, fact.wording) if text]
    redacted = redaction.redactor(state.facts, state.evidence_texts)
    inputs = (redacted(text) for text in (*_texts(state), *_picked(state)))
    return _corpus((*inputs, *_evidence(state), *facts), basis_ids(state.facts))


def supplied(state: State) -> Corpus:
    """What the person has supplied so far.

    A model words the confirmed facts and the issues that are offered to the person, so these are not in it.
    """
    return _corpus((*_texts(state), *_evidence(state)), basis_ids(state.facts))


def of_texts(texts: tuple[str, ...]) -> Corpus:
    return _corpus(texts, frozenset())


def basis_ids(facts: Facts) -> frozenset[str]:
    """The ids that a statement may rest on: confirmed facts, evidence, agreed entries with a current fact."""
    confirmed = {entry for fact in facts.confirmed for entry in fact.timeline}
    doubted = {entry for fact in (*facts.disputed, *facts.past) for entry in fact.timeline} - confirmed
    return frozenset(
        [fact.id for fact in facts.confirmed]
        + [item.id for item in facts.evidence]
        + [entry.id for entry in facts.timeline if entry.agreed and entry.id not in doubted]
    )


def stipulated(confirmed: Iterable[Fact], disputed: Iterable[Fact], questions: Iterable[NumberedText]) -> Iterator[str]:
    """What a model worded when it sorted the facts."""
    for fact in (*confirmed, *disputed):
        yield fact.text
        if fact.wording:
            yield fact.wording
    yield from (question.text for question in questions)


def uncited(known: Corpus, text: str) -> Iterator[str]:
    """The statutes and case numbers of a text that a corpus lacks."""
    for particular in particulars(text):
        if particular.kind in ("case", "statute") and not known.supplies(particular):
            yield particular.text


@lru_cache(maxsize=64)
def _corpus(texts: tuple[str, ...], ids: frozenset[str]) -> Corpus:
    parts = [_part(text) for text in texts]
    return Corpus(
        joined="".join(part.joined for part in parts),
        words=frozenset[str]().union(*(part.words for part in parts)),
        known=tuple(particular for part in parts for particular in part.known),
        ids=ids,
    )


class _Part(NamedTuple):
    joined: str
    words: frozenset[str]
    known: tuple[Particular, ...]


@lru_cache(maxsize=256)
def _part(text: str) -> _Part:
    """What one text contributes to a corpus. Long uploads take a quarter of a second, and stay the same."""
    words = (word.casefold().removesuffix("'s").removesuffix("’s") for word in _WORD.findall(text))
    return _Part(_joined(text), frozenset(words), particulars(text))


def _texts(state: State) -> Iterator[str]:
    facts, narrative = state.facts, state.narrative
    yield from (state.title, state.jurisdiction, narrative.overview, narrative.acts, narrative.opposing_claims)
    for addition in narrative.additions:
        yield addition.text
        yield from (answer.text for answer in addition.answers)
    for entry in facts.timeline:
        yield from (entry.when, entry.what)
    yield from (correction.text for correction in facts.corrections)
    picked = set(_picked(state))
    for answered in state.gate_history:
        if not isinstance(answered.form, FactsForm):
            yield from (text for text in _form_texts(answered.form) if text not in picked)


def _evidence(state: State) -> Iterator[str]:
    """The texts of evidence; they are never redacted."""
    for item in state.facts.evidence:
        yield from (item.title, item.description)
    yield from state.uploads.values()


def _picked(state: State) -> Iterator[str]:
    """The issues in focus that are the judge's words: the person picked them, and supplied none of them."""
    judge = state.newest("judge", 1)
    offered = {_joined(issue) for issue in judge.output["Issues"]} if judge else set()
    for answered in state.gate_history:
        if isinstance(answered.form, Round1Form):
            yield from (issue for issue in answered.form.focus_issues if _joined(issue) in offered)


def _form_texts(form: msgspec.Struct) -> Iterator[str]:
    for value in msgspec.to_builtins(form).values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from value.values()
        else:
            yield from value if isinstance(value, list | tuple) else ()


def _joined(text: str) -> str:
    return re.sub(r"\s", "", text).casefold()


def _same_date(key: tuple[str, ...], known: tuple[str, ...]) -> bool:
    return all(part in ("0", other) for part, other in zip(key, known, strict=True))


def _same_amount(one: Particular, known: Particular) -> bool:
    """A sum without a currency is that sum in any. A range holds every sum in it."""
    (value, currency), (other, known_currency) = one.key, known.key
    if currency != known_currency and "" not in (currency, known_currency):
        return False
    return value == other or bool(one.below and Decimal(value) <= Decimal(other) < Decimal(one.below))


def _same_statute(key: tuple[str, ...], known: tuple[str, ...]) -> bool:
    # Korean and English names of laws cannot be compared: the article number decides.
    if key[1] != known[1]:
        return False
    law, other = key[0], known[0]
    if not law or not other or law.isascii() != other.isascii() or law.endswith(other) or other.endswith(law):
        return True
    return _abbreviates(law, other) or _abbreviates(other, law)


def _abbreviates(short: str, law: str) -> bool:
    """Whether a name has some letters of a law in their order: echr, 근기법."""
    if " " in short or len(short) < _SHORTEST or short[0] != law[0]:
        return False
    letters = iter(law)
    return all(letter in letters for letter in short)


_SHORTEST: Final = 3
"""민법 would abbreviate 민사집행법."""
