"""Turns a model's proposals into facts by code (legal.md, Facts by code)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace
from playmolt_schemas.stored.legal import Fact, FactsStipulated, NumberedText, RefusedItem

from playmolt_legal.fact_states import following_id, sorted_by_state
from playmolt_legal.facts.inputs import entry_input, inputs, quoted, supplied
from playmolt_legal.guardrails import guardrails
from playmolt_legal.guardrails.corpus import Corpus
from playmolt_legal.guardrails.sentences import asks, sentences
from playmolt_legal.state import State
from playmolt_legal.texts import plain

_PROPOSALS: Final = ("ConfirmedFacts", "DisputedFacts")
_QUESTIONS: Final = "MissingFactsQuestions"


def refused(state: State, output: Mapping[str, object]) -> tuple[RefusedItem, ...]:
    """The refused items of a stipulation, each with its reason."""
    check = _ProposalCheck(state)
    return tuple(fault for _, _, fault in check.judged(output) if fault)


def merged(state: State, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The second reply, plus the accepted items of the first that it omits."""
    check = _ProposalCheck(state)
    there = {plain(item["text"]) for field, item, fault in check.judged(second) if not fault and field != _QUESTIONS}
    whole = {field: list(items) for field, items in second.items()}
    for field, item, fault in check.judged(first):
        if field == _QUESTIONS or fault or plain(item["text"]) in there:
            continue
        there.add(plain(item["text"]))
        whole[field].append(item)
    return whole


def stipulated(state: State, output: Mapping[str, Any]) -> FactsStipulated:
    """The facts after a model has sorted the inputs."""
    check = _ProposalCheck(state)
    accepted: dict[str, list[Mapping[str, Any]]] = {field: [] for field in (*_PROPOSALS, _QUESTIONS)}
    dropped = []
    for field, item, fault in check.judged(output):
        if fault:
            dropped.append(fault)
        else:
            accepted[field].append(item)
    book = _FactSet(state)
    for entry in state.facts.timeline:
        if entry.agreed:
            book.agree(entry.id, entry.what)
    for item in accepted["ConfirmedFacts"]:
        book.propose(item)
    for item in accepted["DisputedFacts"]:
        book.dispute(item)
    return FactsStipulated(
        confirmed=tuple(fact for fact in book.facts if fact.state in ("agreed", "proposed")),
        disputed=tuple(fact for fact in book.facts if fact.state == "disputed"),
        questions=tuple(NumberedText(id=f"Q{n}", text=item["text"]) for n, item in enumerate(accepted[_QUESTIONS], 1)),
        refused=tuple(dropped),
    )


class _ProposalCheck:
    """Checks proposals against the inputs."""

    def __init__(self, state: State) -> None:
        self._inputs = inputs(state)
        self._supplied: Corpus = supplied(state)

    def judged(self, output: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], RefusedItem | None]]:
        for field in _PROPOSALS:
            yield from ((field, item, self._fault(item)) for item in output[field])
        yield from ((_QUESTIONS, item, self._beyond(_asserted(item["text"]), item)) for item in output[_QUESTIONS])

    def _fault(self, item: Mapping[str, Any]) -> RefusedItem | None:
        if not quoted(item["quote"] or item["text"], self._inputs):
            return RefusedItem(text=item["text"], quote=item["quote"], reason="quote_not_found", particular=None)
        return self._beyond(sentences(item["text"]), item)

    def _beyond(self, asserted: Iterable[str], item: Mapping[str, Any]) -> RefusedItem | None:
        for sentence in asserted:
            for particular in guardrails.beyond(self._supplied, sentence):
                return RefusedItem(
                    text=item["text"],
                    quote=item.get("quote"),
                    reason="particular_not_supplied",
                    particular=particular,
                )
        return None


def _asserted(text: str) -> list[str]:
    """The sentences of a question that assert something."""
    return [sentence for sentence in sentences(text) if not asks(sentence)]


class _FactSet:
    """The facts under construction; ids are never reused."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.facts: list[Fact] = [*state.facts.confirmed, *state.facts.disputed]
        self._past = state.facts.past
        self._evidence = {item.id for item in state.facts.evidence if item.kind != "statute"}
        self._entries = {entry.id: entry_input(entry) for entry in state.facts.timeline if entry.agreed}
        self._worded: set[str] = set()

    def agree(self, entry: str, what: str) -> None:
        """Adds the fact of an agreed entry, unless the person has already changed it."""
        if any(entry in fact.timeline for fact in (*self.facts, *self._past)):
            return
        place = sum(1 for fact in self.facts if fact.source == "agreed")
        fact = Fact(id=self._next("F"), text=what, state="agreed", source="agreed", timeline=(entry,))
        self.facts.insert(place, fact)

    def propose(self, item: Mapping[str, Any]) -> None:
        backing = tuple(dict.fromkeys(each for each in item["evidence"] if each in self._evidence))
        entries = self._named(item)
        if entries:
            self._word(entries, item["text"], backing)
        elif backing:
            self._put("F", item, state="proposed", source="evidence", evidence=backing)
        else:
            self.dispute(item)

    def dispute(self, item: Mapping[str, object]) -> None:
        self._put("D", item, state="disputed", source="model")

    def _named(self, item: Mapping[str, Any]) -> list[str]:
        """The agreed entries that an item names or quotes."""
        named = [each for each in item["timeline"] if each in self._entries]
        return named or [
            entry for entry, text in self._entries.items() if quoted(item["quote"] or item["text"], (text,))
        ]

    def _word(self, entries: Iterable[str], text: str, backing: tuple[str, ...]) -> None:
        named = set(entries)
        for place, fact in enumerate(self.facts):
            if fact.source != "agreed" or named.isdisjoint(fact.timeline):
                continue
            evidence = tuple(dict.fromkeys((*fact.evidence, *backing)))
            wording = fact.wording if fact.id in self._worded else text
            self.facts[place] = replace(fact, wording=wording, evidence=evidence)
            self._worded.add(fact.id)

    def _put(self, letter: str, item: Mapping[str, Any], **given: Any) -> None:
        same = plain(item["text"])
        if any(plain(fact.text) == same for fact in self._past):
            return
        for place, fact in enumerate(self.facts):
            if plain(fact.text) != same:
                continue
            if fact.source == "model" and given["source"] == "evidence":
                self.facts[place] = replace(fact, **given)
            return
        self.facts.append(Fact(id=self._next(letter), text=item["text"], quote=item["quote"], **given))

    def _next(self, letter: str) -> str:
        present = sorted_by_state(self._state.facts, self.facts)
        return following_id(present, letter)
