"""Redaction of superseded and withdrawn facts from prompts, and the turns that relied on them."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

import msgspec
from playmolt_schemas.stored.legal import Fact, Facts

from playmolt_legal.guardrails.names import names
from playmolt_legal.guardrails.particulars import Particular, particulars
from playmolt_legal.guardrails.sentences import sentences
from playmolt_legal.texts import plain

_LEAST: Final = 4
"""A shorter text is not searched for: it would match unrelated words."""


class _Redaction(msgspec.Struct, frozen=True):
    """What only a superseded or withdrawn fact named."""

    mark: str
    whole: re.Pattern[str] | None
    particulars: tuple[Particular, ...]
    names: tuple[str, ...]

    def out_of(self, text: str) -> str:
        if self.whole is not None:
            text = self.whole.sub(self.mark, text)
        for each in self.found(text):
            text = text.replace(each.text, self.mark)
        for name in self.names:
            text = _word(name).sub(self.mark, text)
        return text

    def found(self, text: str) -> Iterator[Particular]:
        if self.particulars:
            yield from (each for each in particulars(text) if any(_same(each, past) for past in self.particulars))

    def occurs_in(self, text: str) -> bool:
        return self.out_of(text) != text


def mark(fact: Fact) -> str:
    return f"［{fact.id}: {fact.state}］"


def redactor(facts: Facts, evidence: tuple[str, ...]) -> Callable[[object], object]:
    """Redacts past facts in every text of a value, except what evidence also says."""
    redactions = [_redaction(facts, evidence, fact) for fact in facts.past]

    def redacted(value: object) -> object:
        match value:
            case str():
                for each in redactions:
                    value = each.out_of(value)
                return value
            case dict():
                return {name: redacted(inner) for name, inner in value.items()}
            case list() | tuple():
                return [redacted(inner) for inner in value]
        return value

    return redacted if redactions else lambda value: value


def without(facts: Facts, output: dict[str, object]) -> dict[str, object]:
    """A turn's answer in which a mark replaces each statement that rests on a past fact."""
    marks = {fact.id: mark(fact) for fact in facts.past}

    def kept(item: Any) -> Any:
        if isinstance(item, dict) and isinstance(item.get("basis"), list):
            return next((marks[each] for each in item["basis"] if each in marks), item)
        return item

    return {
        field: [kept(item) for item in value] if isinstance(value, list) else value for field, value in output.items()
    }


def relies(facts: Facts, evidence: tuple[str, ...], fact: Fact, output: dict[str, object]) -> bool:
    """Whether an answer cites a fact by id, or has a date, sum or name that only this fact named."""
    if fact.id in _cited(output):
        return True
    redaction = _redaction(facts, evidence, fact)
    return any(redaction.occurs_in(text) for text in _leaves(output))


def _redaction(facts: Facts, evidence: tuple[str, ...], fact: Fact) -> _Redaction:
    current = [text for each in (*facts.confirmed, *facts.disputed) for text in (each.text, each.wording) if text]
    kept = "\n".join((*current, *evidence))
    known = _particulars(kept)
    old = " ".join(text for text in (fact.text, fact.wording) if text)
    sought = plain(fact.text)
    whole = None
    if len(sought) >= _LEAST and not any(sought in plain(text) for text in current):
        whole = re.compile(r"[\W_]*".join(map(re.escape, sought)), re.IGNORECASE)
    return _Redaction(
        mark=mark(fact),
        whole=whole,
        particulars=tuple(
            each
            for each in particulars(old)
            if each.kind in ("date", "amount") and not any(_same(each, other) for other in known)
        ),
        names=tuple(name for sentence in sentences(old) for name in names(sentence) if not _word(name).search(kept)),
    )


@lru_cache(maxsize=16)
def _particulars(kept: str) -> tuple[Particular, ...]:
    """Cached, since the texts are long and every past fact is compared with the same ones."""
    return tuple(particulars(kept))


def _word(name: str) -> re.Pattern[str]:
    # Korean particles and titles cling to a name, so only Latin letters end it.
    end = r"(?![A-Za-z])" if name.isascii() else ""
    return re.compile(rf"(?<!\w){re.escape(name)}{end}")


def _same(one: Particular, other: Particular) -> bool:
    if one.kind != other.kind:
        return False
    if one.kind == "amount":
        return one.key[0] == other.key[0] and (one.key[1] == other.key[1] or "" in (one.key[1], other.key[1]))
    return not set(one.readings).isdisjoint(other.readings)


def _cited(output: dict[str, object]) -> set[str]:
    ids: set[str] = set()
    for field, value in output.items():
        if field == "Citations" and isinstance(value, list):
            ids.update(each for text in value for each in re.findall(r"(?<![\w.])[FDEL]\d+(?!\w|\.\d)", text))
        for item in value if isinstance(value, list) else ():
            if isinstance(item, dict):
                basis = item.get("basis")
                ids.update(basis if isinstance(basis, list) else ())
                ids.update([item["evidence"]] if "evidence" in item else ())
    return ids


def _leaves(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for inner in value.values():
                yield from _leaves(inner)
        case list():
            for inner in value:
                yield from _leaves(inner)


def questioned(facts: Facts, text: str) -> Iterator[Fact]:
    """The facts that a correction questions: it names their sum or date together with a new one."""
    named = [each for each in particulars(text) if each.kind in ("date", "amount")]
    standing = (*facts.confirmed, *facts.disputed)
    held = {fact.id: particulars(_whole(facts, fact)) for fact in standing}
    news = {
        each.kind for each in named if not any(_same_value(each, other) for known in held.values() for other in known)
    }
    for fact in standing:
        if any(each.kind in news and any(_same_value(each, own) for own in held[fact.id]) for each in named):
            yield fact


def _whole(facts: Facts, fact: Fact) -> str:
    """The text of a fact with the dates of its timeline entries."""
    whens = [entry.when for entry in facts.timeline if entry.id in fact.timeline]
    return "\n".join((fact.text, fact.wording or "", *whens))


def _same_value(one: Particular, other: Particular) -> bool:
    """The same sum or date; a date without a year matches the same day of any year."""
    if one.kind != "date" or other.kind != "date":
        return _same(one, other)
    return _same(one, other) or any(
        reading[1:] == known[1:] and "0" in (reading[0], known[0]) and "0" not in reading[1:]
        for reading in one.readings
        for known in other.readings
    )
