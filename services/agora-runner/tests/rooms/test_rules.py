"""Rules of a world of a plan's folder by themselves: who hears whom, and how resources grow."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playmolt_agora_runner.world import ledger, visibility
from playmolt_schemas.stored.agora.own_world import HearingRule, OwnWorld, Regrowth, WorldPlace, WorldResource

SEATS = ("a", "b", "c", "d", "e")
HERE = dict.fromkeys(SEATS, "hall")
NUMBERS = st.integers(0, 1_000)


def heard(actor: str = "a", places: dict[str, str] | None = None, **rule: Any) -> str:
    places = places or HERE
    world = OwnWorld(places={"hall": WorldPlace(), "yard": WorldPlace(hears=("hall",)), "barn": WorldPlace()})
    here = frozenset({places[actor]})
    return "".join(visibility.hearers(world, SEATS, places, actor, here, HearingRule(**rule)))


def test_a_ring_reaches_as_far_to_each_side_and_closes() -> None:
    assert heard(who="ring", reach=1) == "be"
    assert heard("c", who="ring", reach=1) == "bd"
    assert heard(who="ring", reach=2) == "bcde"
    assert heard(who="ring", reach=50) == "bcde"


def test_groups_are_seats_in_a_row_and_hear_themselves_alone() -> None:
    assert heard(who="groups", size=2) == "b"
    assert heard("c", who="groups", size=2) == "d"
    assert heard("e", who="groups", size=2) == ""


def test_a_place_hears_itself_and_what_it_is_said_to_hear() -> None:
    places = {"a": "hall", "b": "hall", "c": "yard", "d": "barn", "e": "hall"}
    assert heard(places=places, who="place") == "bce"
    assert heard("c", places=places, who="place") == "", "the yard hears the hall, and not the other way"
    assert heard("d", places=places, who="all") == "abce"


def test_the_dead_hear_nothing() -> None:
    assert heard(places={"a": "hall", "c": "hall"}, who="all") == "c"


@pytest.mark.parametrize(
    ("rule", "held", "grown"),
    [
        (Regrowth(), 50, 0),
        (Regrowth(kind="constant", amount=7), 50, 7),
        (Regrowth(kind="constant", amount=70), 50, 50),
        (Regrowth(kind="proportional", rate="0.25"), 50, 12),
        (Regrowth(kind="proportional", rate="0.25"), 0, 0),
        (Regrowth(kind="logistic", rate="0.5"), 50, 12),
        (Regrowth(kind="logistic", rate="0.5"), 100, 0),
        (Regrowth(kind="logistic", rate="10"), 50, 50),
    ],
)
def test_a_resource_grows_by_its_rule_rounded_down_to_its_maximum(rule: Regrowth, held: int, grown: int) -> None:
    assert ledger.regrown(WorldResource(start=0, max=100, regrowth=rule), held) == grown


@given(NUMBERS, NUMBERS, st.sampled_from(["constant", "proportional", "logistic"]), st.integers(0, 10))
def test_it_never_leaves_its_bounds(held: int, most: int, kind: Any, rate: int) -> None:
    resource = WorldResource(start=0, max=most + 1, regrowth=Regrowth(kind=kind, amount=rate, rate=str(rate)))
    held = min(held, resource.max)
    assert 0 <= held + ledger.regrown(resource, held) <= resource.max


@given(NUMBERS, st.integers(-2_000, 2_000))
def test_a_change_goes_as_far_as_there_is_room(held: int, step: int) -> None:
    world = OwnWorld(places={}, resources={"grass": WorldResource(start=0, max=1_000)})
    change = ledger.changed(world, {"grass": held}, {"grass": step}).get("grass", 0)
    assert held + change == max(0, min(1_000, held + step))
