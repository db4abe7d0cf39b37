"""Runs parts of the bench on this checkout (A) and on another one (B), in alternating rounds: A B B A."""

import json
import os
import re
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench.servers import HERE, Checkout

ROUNDS: Final = 4
_FIGURE = re.compile(r"([\d,]*\.?\d+)(.*)", re.DOTALL)


class Figure(NamedTuple):
    """What is measured, its value, and the format of the value."""

    what: str
    value: float
    form: str = "{:,.0f}/s"


Play = Callable[[], Iterable[Figure]]
"""Plays one round."""
Side = Callable[[Checkout], AbstractContextManager[Play]]
"""Prepares a checkout; inside the context, rounds can be played on it."""


class UnsuitableError(Exception):
    """The folder is not a checkout whose product can run."""


class Comparison(NamedTuple):
    """The values of one figure in all rounds, for both checkouts."""

    what: str
    form: str
    product: list[float]
    beside: list[float]

    @property
    def ratios(self) -> list[float]:
        """For each round, the product's value divided by the other checkout's."""
        pairs = zip(self.product, self.beside, strict=True)
        return [mine / other if other else float("nan") for mine, other in pairs]

    def row(self) -> tuple[str, str, str, str, str]:
        """What is measured, both medians, the median ratio, and the smallest and largest ratio."""
        mine, other = (self.form.format(statistics.median(values)) for values in (self.product, self.beside))
        ratios = sorted(self.ratios)
        return self.what, mine, other, f"{statistics.median(ratios):.2f} x", f"{ratios[0]:.2f} to {ratios[-1]:.2f}"


def checkout(root: Path) -> Checkout:
    """The checkout in a folder. Raises UnsuitableError."""
    root = root.resolve()
    python = root / ".venv" / "bin" / "python"
    if not (root / "cli" / "playmolt_cli").is_dir():
        raise UnsuitableError(f"{root} is not a checkout of this repository: it has no cli/playmolt_cli")
    if not os.access(python, os.X_OK):
        raise UnsuitableError(f"{root} has no .venv; run `make setup` there")
    found = subprocess.run(
        [python, "-P", "-c", "import playmolt_cli; print(playmolt_cli.__file__)"],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if found.returncode:
        raise UnsuitableError(f"{python} cannot import playmolt_cli; run `make setup` in {root}")
    if not Path(found.stdout.strip()).resolve().is_relative_to(root):
        raise UnsuitableError(f"{python} runs the product of another folder: {found.stdout.strip()}")
    return Checkout(root, str(python))


def compared(sides: Sequence[Side], other: Checkout, rounds: int) -> Iterator[Comparison]:
    """Play all rounds of each side; yield the figures that both checkouts have."""
    for side in sides:
        found: defaultdict[str, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
        forms: dict[str, str] = {}
        with side(HERE) as ours, side(other) as theirs:
            for number in range(rounds):
                for place in (0, 1) if number % 2 == 0 else (1, 0):
                    for figure in (ours, theirs)[place]():
                        found[figure.what][place].append(figure.value)
                        forms[figure.what] = figure.form
        for what, (mine, others) in found.items():
            if len(mine) == len(others):
                yield Comparison(what, forms[what], mine, others)


def own_rows(part: str, short: bool, other: Checkout) -> list[Side]:
    """The side of a part that imports the product: each checkout runs it with its own bench. Raises UnsuitableError."""
    if not (other.root / "bench" / f"{part}.py").is_file():
        raise UnsuitableError(f"{other.root} has no part {part} in its bench")
    return [partial(_own_rows, [part, *(["--short"] if short else [])])]


@contextmanager
def _own_rows(words: list[str], checkout: Checkout) -> Iterator[Play]:
    def play() -> Iterator[Figure]:
        with tempfile.NamedTemporaryFile("r", suffix=".json", encoding="utf-8") as file:
            command = [checkout.python, "-m", "bench", *words, "--json", file.name]
            subprocess.run(command, cwd=checkout.root, check=True, capture_output=True)
            rows = json.load(file)
        for row in rows:
            if printed := _FIGURE.fullmatch(row["product"]):
                decimals = len(printed[1].partition(".")[2])
                form = f"{{:,.{decimals}f}}{printed[2]}"
                yield Figure(row["what"], float(printed[1].replace(",", "")), form)

    yield play
