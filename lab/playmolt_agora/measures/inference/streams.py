"""Named random streams of the measures (`measures.md`, section 0)."""

import hashlib

import numpy as np


def stream(seed: str, measure: str, *cell: str) -> np.random.Generator:
    """A measure's PCG64 stream in a cell; its seed is blake2b of `seed|measure|cell…`, 8 bytes, big-endian."""
    name = "|".join((seed, measure, *cell))
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
