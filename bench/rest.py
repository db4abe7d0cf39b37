"""An idle `up`: the time until it is ready, and the CPU time and memory of its processes."""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench import Row
from bench.beside import Figure, Play, Side
from bench.processes import tree_megabytes, tree_seconds
from bench.servers import HERE, Checkout, folder, processes, product

_KINDS = ("a new folder", "an existing folder")


class Size(NamedTuple):
    """`settle`: seconds for the work that follows a start. `idle`: seconds of the measurement at rest."""

    settle: float = 5.0
    idle: float = 15.0
    rounds: int = 3


WHOLE = Size()
SHORT = Size(0.0, 0.5, 1)


class Start(NamedTuple):
    """Seconds until ready, CPU seconds until settled, megabytes of memory, and the share of a core used at rest."""

    ready: float
    used: float
    megabytes: float
    share: float


def _start(data: Path, size: Size, checkout: Checkout) -> Start:
    began = time.monotonic()
    with product(data, checkout=checkout):
        ready = time.monotonic() - began
        time.sleep(size.settle)
        roots = processes(data)
        used, began = tree_seconds(*roots), time.monotonic()
        time.sleep(size.idle)
        share = (tree_seconds(*roots) - used) / (time.monotonic() - began)
        return Start(ready, used, tree_megabytes(*roots), share)


def measure(size: Size, checkout: Checkout = HERE) -> list[Start]:
    """Measure the first and the second start on a folder."""
    with folder() as data:
        return [_start(data, size, checkout) for _ in _KINDS]


def rows(size: Size) -> list[Row]:
    rounds = [_figures(measure(size)) for _ in range(size.rounds)]
    return [
        (same[0].what, same[0].form.format(statistics.median(figure.value for figure in same)), "", "")
        for same in zip(*rounds, strict=True)
    ]


def sides(size: Size) -> list[Side]:
    return [partial(_side, size)]


@contextmanager
def _side(size: Size, checkout: Checkout) -> Iterator[Play]:
    yield lambda: _figures(measure(size, checkout))


def _figures(starts: list[Start]) -> Iterator[Figure]:
    for kind, found in zip(_KINDS, starts, strict=True):
        yield Figure(f"`up` on {kind}, until ready", found.ready, "{:.1f} s")
        yield Figure(f"processor time of it, {kind}", found.used, "{:.2f} s")
    yield Figure("all processes of `up` at rest", starts[-1].megabytes, "{:.0f} MB")
    yield Figure("processor time of `up` at rest", starts[-1].share * 100, "{:.1f} % of a core")
