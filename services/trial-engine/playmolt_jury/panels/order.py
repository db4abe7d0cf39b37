"""Seeds and orders of a panel's juries. Pure: the same plan gives the same juries."""

import hashlib
from typing import Final

from playmolt_core.game import draws

_SEEDS: Final = 2**31


def seed_of(plan_seed: int, number: int) -> int:
    """The seed of a panel's jury number 1, 2, …: below 2³¹, which every server takes, and no two alike."""
    first = int.from_bytes(hashlib.blake2b(f"{plan_seed}".encode(), digest_size=8).digest())
    return (first + number) % _SEEDS


def order_of(plan_seed: int, number: int, steps: int) -> tuple[int, ...]:
    """The order in which jury `number` plays its steps, from 0: a permutation, which depends on nothing else.

    Juries 1 to `steps` are the rows of a Latin square, and so is every following block, each with draws of its own:
    after n juries, each step was as often in each place as in any other, give or take one.
    """
    block, row = divmod(number - 1, steps)
    names = (f"order/{steps}/{block}/{each}" for each in ("labels", "columns", "rows"))
    labels, columns, rows = (draws.shuffle(str(plan_seed), name, range(steps)) for name in names)
    return tuple(labels[(rows[row] + column) % steps] for column in columns)
