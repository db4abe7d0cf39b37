"""Talks played by the rules themselves: whatever is said in whatever order, a witness can still be broken."""

import random
from collections.abc import Collection, Iterator

import pytest
from playmolt_jury.content import pack
from playmolt_jury.content.material import Witness
from playmolt_jury.dialogue import Talk, after, node_of, offered, say, show
from playmolt_schemas.stored.jury import EvidenceUnlocked, WitnessTalked

MOST_STEPS = 2000
OPEN = frozenset(f"E{number}" for number in range(1, 9))
LOCKED = frozenset(f"E{number}" for number in range(9, 16))


def witness(id_: str) -> Witness:
    (found,) = (each for each in pack.shipped().materials["en"].witnesses if each.id == id_)
    return found


def step(subject: Witness, talk: Talk, choice: str | None, *, item: str = "") -> tuple[Talk, set[str]]:
    """The talk after something was said or shown, and what that unlocked."""
    if choice is None:
        events = show(subject, talk, item, LOCKED)
    else:
        (found,) = (each for each in offered(subject, talk, read=OPEN | LOCKED, cracked=()) if each.id == choice)
        events = say(subject, talk, found, LOCKED)
    for event in events:
        if isinstance(event, WitnessTalked):
            talk = after(talk, event)
    return talk, {event.evidence_id for event in events if isinstance(event, EvidenceUnlocked)}


def wandering(subject: Witness, seed: int, read: Collection[str]) -> Iterator[tuple[Talk, set[str]]]:
    """Says and shows whatever comes to mind."""
    whim = random.Random(seed)
    talk = Talk()
    for _ in range(MOST_STEPS):
        choices = [each.id for each in offered(subject, talk, read=read, cracked=())]
        if choices and (not read or whim.random() < 0.8):
            talk, unlocked = step(subject, talk, whim.choice(choices))
        else:
            talk, unlocked = step(subject, talk, None, item=whim.choice(sorted(read)))
        yield talk, unlocked


@pytest.mark.parametrize("id_", ["lin_xia", "osei", "gu_lan"])
@pytest.mark.parametrize("seed", range(4))
def test_whoever_goes_on_long_enough_with_open_evidence_breaks_a_witness(id_: str, seed: int) -> None:
    subject = witness(id_)
    unlocked = next(unlocked for talk, unlocked in wandering(subject, seed, OPEN) if talk.cracked)
    assert unlocked == set(subject.unlocks)


@pytest.mark.parametrize("id_", ["lin_xia", "osei", "gu_lan"])
def test_there_is_always_something_to_say_even_when_nothing_has_been_read(id_: str) -> None:
    subject = witness(id_)
    for talk, _ in wandering(subject, 7, ()):
        assert node_of(subject, talk).ends or offered(subject, talk, read=(), cracked=())


@pytest.mark.parametrize("id_", ["lin_xia", "osei", "gu_lan"])
def test_who_has_broken_never_goes_back_to_denying_it(id_: str) -> None:
    subject = witness(id_)
    (frame,) = (each for each in pack.shipped().structure.witnesses if each.id == id_)
    for talk, _ in wandering(subject, 3, OPEN | LOCKED):
        assert frame.nodes[talk.node].afterwards is talk.cracked


def test_being_seen_opens_the_student() -> None:
    talk, unlocked = Talk(), set[str]()
    for choice, item in (
        (None, "E8"),
        ("was_it_you", ""),
        ("dinner", ""),
        ("and_then", ""),
        (None, "E2"),
    ):
        assert not unlocked
        talk, unlocked = step(witness("lin_xia"), talk, choice, item=item)
    assert (talk.node, unlocked) == ("standing", {"E9", "E10", "E11"})


def test_threats_close_the_student() -> None:
    subject = witness("lin_xia")
    warm, _ = step(subject, Talk(), None, item="E7")
    home, _ = step(subject, warm, "back")
    cold, _ = step(subject, home, "visa_threat")
    assert (warm.pressure, cold.pressure, cold.node) == (10, 0, "wall")


def test_the_hour_of_the_last_beat_shakes_the_doctor() -> None:
    talk, _ = step(witness("gu_lan"), Talk(), None, item="E12")
    assert (talk.node, talk.pressure) == ("last_beat", 40)


def test_what_means_nothing_to_a_witness_changes_nothing() -> None:
    talk, unlocked = step(witness("osei"), Talk(), None, item="E7")
    assert (talk.node, talk.shown, talk.pressure, unlocked) == ("bay", "not_my_bench", 0, set())
