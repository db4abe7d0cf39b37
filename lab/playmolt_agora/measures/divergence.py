"""Distributions over actions, their entropy and their divergence, in bits (`measures.md`, sections 0, 3 and 6)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from playmolt_schemas.instrument.definitions import SMOOTHING, UNSMOOTHED_FROM

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]


def smoothing(n: float, m: float) -> float:
    """Α: 0 where both sides have 600 turns or more, else 0.5."""
    return 0.0 if min(n, m) >= UNSMOOTHED_FROM else SMOOTHING


def shares(counts: ArrayLike, alpha: float) -> Floats:
    """Estimate (c + α) / (n + αK) along the last axis; NaN where that has no denominator."""
    smoothed = np.asarray(counts, dtype=np.float64) + alpha
    total = smoothed.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(smoothed, total, out=np.full_like(smoothed, np.nan), where=total > 0))


def entropy(p: ArrayLike) -> Any:
    """Entropy in bits along the last axis; 0 log 0 = 0."""
    values = np.asarray(p, dtype=np.float64)
    return -(values * np.log2(values, out=np.zeros_like(values), where=values > 0)).sum(axis=-1)


def jsd_parts(p: ArrayLike, q: ArrayLike) -> Floats:
    """What each action adds to the divergence of two distributions; the parts sum to it."""
    left, right = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
    middle = (left + right) / 2
    return _half(left, middle) + _half(right, middle)


def jsd(p: ArrayLike, q: ArrayLike) -> Any:
    """Jensen–Shannon divergence (not its root) in bits along the last axis: 0 to 1, 1 for disjoint supports."""
    return np.clip(jsd_parts(p, q).sum(axis=-1), 0.0, 1.0)


def count_jsd(left: ArrayLike, right: ArrayLike, alpha: float) -> Any:
    """Divergence of two rows of counts under one α; NaN where a side without smoothing is empty."""
    return jsd(shares(left, alpha), shares(right, alpha))


def miller_madow(counts: ArrayLike) -> Floats:
    """Entropy of counts in bits along the last axis with Miller and Madow's correction; NaN for no counts."""
    values = np.asarray(counts, dtype=np.float64)
    n, seen = values.sum(axis=-1), np.count_nonzero(values, axis=-1)
    return np.asarray(entropy(shares(values, 0.0)) + (seen - 1) / (2 * np.where(n > 0, n, np.nan) * np.log(2)))


def normed_entropy(counts: ArrayLike) -> Floats:
    """The corrected entropy over its maximum log₂ K, at most 1; NaN for no counts."""
    return np.asarray(np.minimum(1.0, miller_madow(counts) / np.log2(np.asarray(counts).shape[-1])))


def _half(p: Floats, middle: Floats) -> Floats:
    ratio = np.divide(p, middle, out=np.ones_like(p), where=p > 0)
    part: Floats = p * np.log2(ratio) / 2
    return part
