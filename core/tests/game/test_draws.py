"""Draws are pure, fair, and independent of each other's names."""

from collections import Counter
from itertools import permutations

import pytest
from playmolt_core.game import draws

SEEDS = [str(seed) for seed in range(6000)]


def _chi_square(counted: Counter[object], outcomes: int) -> float:
    expected = sum(counted.values()) / outcomes
    return sum((seen - expected) ** 2 / expected for seen in counted.values()) + (outcomes - len(counted)) * expected


def test_the_same_seed_and_name_draw_the_same() -> None:
    assert draws.below("7", "case", 1000) == draws.below("7", "case", 1000)
    assert draws.shuffle("7", "roles", "abcdef") == draws.shuffle("7", "roles", "abcdef")


def test_draws_stay_what_they_were_when_the_first_game_was_stored() -> None:
    assert [draws.below(seed, "case", 1000) for seed in ("1", "2", "3")] == [687, 686, 331]
    assert draws.choice("1", "forfeit", "OX") == "O"
    assert "".join(draws.shuffle("1", "lots", "abcdefgh")) == "bgcadefh"


def test_another_seed_or_name_draws_something_else() -> None:
    drawn = {draws.below(seed, name, 2**64) for seed in ("1", "2", "12") for name in ("x", "2x", "1,x")}
    assert len(drawn) == 9


def test_seed_and_name_do_not_run_into_each_other() -> None:
    assert draws.below("1", "2x", 2**64) != draws.below("12", "x", 2**64)


@pytest.mark.parametrize("bound", [1, 2, 3, 6, 60])
def test_each_number_below_the_bound_is_as_likely(bound: int) -> None:
    counted: Counter[object] = Counter(draws.below(seed, "n", bound) for seed in SEEDS)
    assert set(counted) == set(range(bound))
    assert _chi_square(counted, bound) < 3 * bound + 20


def test_a_bound_that_is_not_a_power_of_two_is_not_biased() -> None:
    bound = 3 * 2**62
    low = sum(draws.below(seed, "n", bound) < 2**62 for seed in SEEDS)
    assert abs(low - 2000) < 200


def test_each_order_is_as_likely() -> None:
    counted: Counter[object] = Counter(draws.shuffle(seed, "order", "abcd") for seed in SEEDS)
    assert set(counted) == set(permutations("abcd"))
    assert _chi_square(counted, 24) < 60


def test_choice_draws_every_item() -> None:
    assert {draws.choice(seed, "pick", ("O", "X")) for seed in SEEDS[:50]} == {"O", "X"}


@pytest.mark.parametrize("items", ["", "a"])
def test_nothing_and_one_thing_can_be_shuffled(items: str) -> None:
    assert draws.shuffle("1", "n", items) == tuple(items)


def test_more_draws_than_one_block_holds() -> None:
    assert sorted(draws.shuffle("1", "long", range(100))) == list(range(100))


@pytest.mark.parametrize("bound", [0, -1, 2**64 + 1])
def test_a_bound_out_of_range_is_an_error(bound: int) -> None:
    with pytest.raises(ValueError, match="bound"):
        draws.below("1", "n", bound)
    if bound == 0:
        with pytest.raises(ValueError, match="bound"):
            draws.choice("1", "n", ())
