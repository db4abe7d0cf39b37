"""Talks with witnesses: available choices, where they lead, and when a witness breaks (see content/material.py)."""

from collections.abc import Collection, Mapping

import msgspec
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import EvidenceUnlocked, WitnessTalked

from playmolt_jury.content.material import Choice, ChoiceCondition, Material, Node, Reaction, Witness


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a talk. `node` is "" before the first step; `used` are the steps whose pressure has counted."""

    node: str = ""
    shown: str = ""
    pressure: int = 0
    cracked: bool = False
    used: tuple[str, ...] = ()
    visited: tuple[str, ...] = ()
    unlocked: tuple[str, ...] = ()
    """Items that the latest step unlocked."""


def node_of(witness: Witness, talk: Talk) -> Node:
    """The current node; the start node before the first step, or if the current node no longer exists."""
    return witness.nodes.get(talk.node) or witness.nodes[witness.start]


def node_id(witness: Witness, talk: Talk) -> str:
    return talk.node if talk.node in witness.nodes else witness.start


def offered(witness: Witness, talk: Talk, *, read: Collection[str], cracked: Collection[str]) -> tuple[Choice, ...]:
    """The choices whose conditions hold."""
    visited = {node_id(witness, talk), *talk.visited}
    return tuple(
        choice
        for choice in node_of(witness, talk).choices
        if _holds(choice.when, talk.pressure, visited=visited, read=read, cracked=cracked)
    )


def words_of(material: Material, step: WitnessTalked) -> tuple[str, str]:
    """The overseer's question ("" if an item was shown) and the witness's answer; "" for texts that no longer exist."""
    witness = next((each for each in material.witnesses if each.id == step.witness_id), None)
    if witness is None:
        return "", ""
    at, shown = witness.nodes.get(step.at), witness.nodes.get(step.shown)
    asked = next((choice.text for choice in at.choices if choice.id == step.choice), "") if at else ""
    return asked, shown.text if shown else ""


def say(witness: Witness, talk: Talk, choice: Choice, still_locked: Collection[str]) -> tuple[Event, ...]:
    """The events of choosing an available choice; `still_locked` are item ids."""
    at = node_id(witness, talk)
    gain = 0 if f"{at}/{choice.id}" in talk.used else choice.pressure
    return _step(witness, talk, gain, choice.goto, still_locked, choice=choice.id)


def show(witness: Witness, talk: Talk, evidence_id: str, still_locked: Collection[str]) -> tuple[Event, ...]:
    """The events of showing an item; without a reaction the talk stays at its node."""
    reactions: Mapping[str, Reaction] = {**witness.evidence, **node_of(witness, talk).evidence}
    reaction = reactions.get(evidence_id)
    if reaction is None:
        return _step(witness, talk, 0, "", still_locked, evidence_id=evidence_id)
    gain = 0 if evidence_id in talk.used else reaction.pressure
    return _step(witness, talk, gain, reaction.goto, still_locked, evidence_id=evidence_id)


def after(talk: Talk, event: WitnessTalked) -> Talk:
    used = event.evidence_id or f"{event.at}/{event.choice}"
    stays = event.shown != event.node
    return Talk(
        node=event.node,
        shown=event.shown,
        pressure=event.pressure,
        cracked=event.cracked,
        # A step that shows the fallback has no pressure to count.
        used=talk.used if used in talk.used or stays else (*talk.used, used),
        visited=tuple(dict.fromkeys((*talk.visited, event.at, event.node))),
    )


def _holds(
    when: ChoiceCondition, pressure: int, *, visited: Collection[str], read: Collection[str], cracked: Collection[str]
) -> bool:
    return (
        pressure >= when.pressure
        and all(each in read for each in when.read)
        and all(each in visited for each in when.visited)
        and all(each in cracked for each in when.cracked)
    )


def _step(
    witness: Witness,
    talk: Talk,
    gain: int,
    goto: str,
    still_locked: Collection[str],
    *,
    choice: str | None = None,
    evidence_id: str | None = None,
) -> tuple[Event, ...]:
    pressure = max(0, talk.pressure + gain)
    breaks = not talk.cracked and pressure >= witness.threshold
    at = node_id(witness, talk)
    node = witness.breaks if breaks else goto or at
    step = WitnessTalked(
        witness_id=witness.id,
        at=at,
        choice=choice,
        evidence_id=evidence_id,
        shown=node if breaks or goto else witness.fallback,
        node=node,
        pressure=pressure,
        cracked=talk.cracked or breaks,
    )
    if not breaks:
        return (step,)
    return (
        step,
        *(
            EvidenceUnlocked(evidence_id=each, witness_id=witness.id)
            for each in witness.unlocks
            if each in still_locked
        ),
    )
