"""Random draws as pure functions of a game's seed and a name.

Each name has its own random stream, so that a new draw changes no other. The bits come from SHA-256 in counter mode;
rejection sampling makes all outcomes equally likely.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

_WORD = 1 << 64


def below(seed: str, name: str, bound: int) -> int:
    """Draw an integer from 0 to bound - 1. Raises ValueError unless bound is 1 to 2**64."""
    return _below(_words(seed, name), bound)


def choice(seed: str, name: str, items: Sequence[T]) -> T:
    """Draw one item. Raises ValueError if there are none."""
    return items[below(seed, name, len(items))]


def shuffle(seed: str, name: str, items: Sequence[T]) -> tuple[T, ...]:
    """The items in random order; all orders are equally likely."""
    words = _words(seed, name)
    shuffled = list(items)
    for last in range(len(shuffled) - 1, 0, -1):
        other = _below(words, last + 1)
        shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
    return tuple(shuffled)


def _below(words: Iterator[int], bound: int) -> int:
    if not 1 <= bound <= _WORD:
        raise ValueError(f"bound {bound} is not within 1 to 2**64")
    fair = _WORD - _WORD % bound
    return next(word for word in words if word < fair) % bound


def _words(seed: str, name: str) -> Iterator[int]:
    # The lengths keep ("1", "2x") and ("12", "x") apart.
    head = f"{len(seed)},{len(name)},{seed},{name},".encode()
    block = 0
    while True:
        digest = hashlib.sha256(head + block.to_bytes(8, "big")).digest()
        yield from (int.from_bytes(digest[start : start + 8], "big") for start in range(0, 32, 8))
        block += 1
