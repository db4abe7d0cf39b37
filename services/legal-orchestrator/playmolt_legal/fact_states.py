"""The life of a fact: proposed, agreed or disputed, then superseded or withdrawn (legal.md, The life of a fact)."""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace
from playmolt_schemas.games.legal import FactAction
from playmolt_schemas.stored.legal import Fact, FactChanged, FactRecord, Facts, FactState

from playmolt_legal.texts import plain

STANDING = ("proposed", "agreed", "disputed")


def found(facts: Facts, identifier: str) -> Fact | None:
    everything = (*facts.confirmed, *facts.disputed, *facts.past)
    return next((fact for fact in everything if fact.id == identifier), None)


def following_id(facts: Facts, letter: str) -> str:
    """The next id of a letter; ids are never reused, not even those of facts that a new intake dropped."""
    there = (fact.id for fact in (*facts.confirmed, *facts.disputed, *facts.past))
    once = (identifier for record in facts.history for identifier in (record.id, record.new_id or ""))
    taken = (int(identifier[1:]) for identifier in (*there, *once) if identifier.startswith(letter))
    return f"{letter}{max(taken, default=0) + 1}"


def kept(before: Facts, after: Facts, inputs: Iterable[str]) -> Facts:
    """The facts that remain where the person restates timeline or evidence of a session that carries facts over.

    What the person said of a fact stays, and its history. Other facts stay while their entries and evidence do, or
    where they have none, while an input contains them.
    """
    given = [plain(text) for text in inputs]
    entries = {item.id for item in after.timeline if item in before.timeline}
    backing = {item.id for item in after.evidence if item in before.evidence}

    def trimmed(fact: Fact) -> Fact:
        return replace(
            fact,
            timeline=tuple(each for each in fact.timeline if each in entries),
            evidence=tuple(each for each in fact.evidence if each in backing),
        )

    def stays(fact: Fact) -> bool:
        if fact.source == "person":
            return True
        if fact.timeline or fact.evidence:
            return trimmed(fact) == fact
        return any(plain(fact.quote or fact.text) in text for text in given)

    return replace(
        after,
        confirmed=tuple(trimmed(fact) for fact in before.confirmed if stays(fact)),
        disputed=tuple(trimmed(fact) for fact in before.disputed if stays(fact)),
        past=tuple(trimmed(fact) for fact in before.past),
        history=before.history,
    )


class FactRequest(msgspec.Struct, frozen=True):
    """A person's action on a fact; `text` is the new text of a correction."""

    action: FactAction
    text: str = ""
    reason: str | None = None


def change(facts: Facts, fact: Fact, by: str, asked: FactRequest) -> FactChanged | None:
    """The event of a person's action on a current fact; None if it changes nothing."""
    action, text, reason = asked.action, asked.text, asked.reason
    if action == "correct":
        if plain(text) == plain(fact.text):
            return None
        new = following_id(facts, fact.id[0])
        return FactChanged(fact_id=fact.id, action=action, by=by, text=text, new_id=new, reason=reason)
    if (action, fact.state) in (("confirm", "agreed"), ("dispute", "disputed")):
        return None
    return FactChanged(fact_id=fact.id, action=action, by=by, reason=reason)


def changed(facts: Facts, event: FactChanged, at: str) -> Facts:
    """The facts after a change, with its place in the history."""
    old = found(facts, event.fact_id)
    if old is None:
        raise LookupError(f"unknown fact {event.fact_id}")
    now = _changed(old, event)
    record = FactRecord(
        n=len(facts.history) + 1,
        id=old.id,
        action=event.action,
        from_=old.state,
        to=now[-1].state,
        old=old.text,
        new=event.text,
        new_id=event.new_id,
        reason=event.reason,
        by=event.by,
        at=at,
    )
    standing = tuple(_put(now, (*facts.confirmed, *facts.disputed), old))
    return replace(
        sorted_by_state(facts, standing),
        past=(*facts.past, *(fact for fact in now if fact.state not in STANDING)),
        history=(*facts.history, record),
    )


def sorted_by_state(facts: Facts, standing: Iterable[Fact]) -> Facts:
    there = tuple(standing)
    return replace(
        facts,
        confirmed=tuple(fact for fact in there if fact.state != "disputed"),
        disputed=tuple(fact for fact in there if fact.state == "disputed"),
    )


def recorded(before: Facts, after: Facts, at: str) -> Facts:
    """The history with what a stipulation proposed or moved."""
    history = list(before.history)
    for fact in (*after.confirmed, *after.disputed):
        old = found(before, fact.id)
        if old is not None and old.state == fact.state:
            continue
        history.append(
            FactRecord(
                n=len(history) + 1,
                id=fact.id,
                action="stipulated",
                from_=old.state if old else None,
                to=fact.state,
                old=None,
                new=fact.text,
                new_id=None,
                reason=None,
                by=None,
                at=at,
            )
        )
    return replace(after, history=tuple(history))


def to_state(action: str) -> FactState:
    match action:
        case "confirm":
            return "agreed"
        case "correct":
            return "superseded"
        case "withdraw":
            return "withdrawn"
    return "disputed"


def _changed(old: Fact, event: FactChanged) -> tuple[Fact, ...]:
    """What takes a fact's place, and last what becomes of the fact itself."""
    gone = replace(old, state=to_state(event.action), reason=event.reason)
    if event.action == "confirm":
        return (replace(gone, source="person"),)
    if event.action != "correct":
        return (gone,)
    new = Fact(
        id=event.new_id or "",
        text=event.text or "",
        state=old.state,
        source="person",
        evidence=old.evidence,
        timeline=old.timeline,
        replaces=old.id,
        reason=event.reason,
    )
    return (new, replace(gone, replaced_by=new.id))


def _put(now: tuple[Fact, ...], standing: tuple[Fact, ...], old: Fact) -> Iterator[Fact]:
    for fact in standing:
        if fact.id == old.id:
            yield from (each for each in now if each.state in STANDING)
        else:
            yield fact
