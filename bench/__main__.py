"""Measure the product beside what a user would write instead, and print a table of ratios: all parts (`make bench`) or
the named ones. With `--beside DIR`, compare the product with another checkout of this repository."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from playmolt_cli.local.stack import Stack
from rich.console import Console
from rich.table import Table

from bench import (
    actions,
    agora,
    alone,
    beside,
    dataset,
    fanout,
    flat,
    grown,
    growth,
    hanging,
    match,
    memory,
    peers,
    ratings,
    replay,
    rest,
    shards,
    watching,
)
from bench.beside import Side
from bench.servers import Checkout, Platforms

PARTS: Final[dict[str, Any]] = {
    "replay": replay, "memory": memory, "ratings": ratings, "dataset": dataset, "match": match, "growth": growth,
    "grown": grown, "flat": flat, "alone": alone, "peers": peers, "actions": actions, "shards": shards,
    "watching": watching, "fanout": fanout, "agora": agora, "rest": rest, "hanging": hanging,
}  # fmt: skip


Rows = Iterator[tuple[tuple[str, ...], dict[str, Any]]]
"""The texts of each row, and the other fields of its JSON."""


def _rows(asked: argparse.Namespace) -> Rows:
    for part in asked.parts or PARTS:
        measuring = PARTS[part]
        for row in measuring.rows(measuring.SHORT if asked.short else measuring.WHOLE):
            yield row, {"part": part}


def _beside(asked: argparse.Namespace, other: Checkout) -> Rows:
    """Check that all parts can run on both checkouts before the first one runs."""
    played = {}
    for part in asked.parts or [part for part, module in PARTS.items() if hasattr(module, "sides")]:
        module = PARTS[part]
        if hasattr(module, "sides"):
            played[part] = module.sides(module.SHORT if asked.short else module.WHOLE)
        else:
            played[part] = beside.own_rows(part, asked.short, other)
    return _comparisons(played, other, asked.rounds)


def _comparisons(played: dict[str, list[Side]], other: Checkout, rounds: int) -> Rows:
    for part, sides in played.items():
        for found in beside.compared(sides, other, rounds):
            values = {"product": found.product, "beside": found.beside, "ratio": found.ratios}
            yield found.row(), {"part": part, "rounds": values}


def main(words: Sequence[str] | None = None, stack: type[Stack] = Stack) -> None:
    Platforms.stack = stack
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}; default: all")
    parser.add_argument("--short", action="store_true", help="only show that the parts work; the figures mean nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to this file, as JSON")
    parser.add_argument(
        "--beside", type=Path, metavar="DIR",
        help="another checkout of this repository, with a .venv: run the parts on both, in alternating rounds; "
        "default parts: those that use only HTTP, WebSockets and commands",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=beside.ROUNDS, help="rounds of --beside; default: %(default)s")
    asked = parser.parse_args(words)
    if unknown := [part for part in asked.parts if part not in PARTS]:
        parser.error(f"unknown part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    if asked.rounds < 1:
        parser.error("--rounds must be at least 1")
    columns = {"what": "what", "product": "product", "beside": "beside it", "ratio": "ratio"}
    title, rows = "product beside what a user would write instead", _rows(asked)
    if asked.beside:
        try:
            other = beside.checkout(asked.beside)
            rows = _beside(asked, other)
        except beside.UnsuitableError as error:
            parser.error(str(error))
        title = f"product beside {other.root}, medians of {asked.rounds} alternating rounds"
        columns |= {"beside": other.root.name, "spread": "spread"}
    table = Table(*columns.values(), title=title)
    measured = []
    try:
        with Platforms.sharing() if asked.short else nullcontext():
            for row, more in rows:
                print(*row, sep=" | ", file=sys.stderr, flush=True)
                table.add_row(*row)
                measured.append(dict(zip(columns, row, strict=True)) | more)
    finally:  # a run that fails or is stopped still prints what it measured
        Console().print(table)
        if asked.json:
            asked.json.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
