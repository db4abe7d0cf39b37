"""`make bench`: every figure in one run, as a table of ratios; `python -m bench PART …` measures some of it."""

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from playmolt_cli.local.stack import Stack
from rich.console import Console
from rich.table import Table

from bench import (
    actions,
    agora,
    alone,
    fanout,
    flat,
    grown,
    growth,
    match,
    memory,
    peers,
    ratings,
    replay,
    shards,
    watching,
)
from bench.servers import Platforms

PARTS: Final = {
    "replay": replay, "memory": memory, "ratings": ratings, "match": match, "growth": growth, "grown": grown,
    "flat": flat, "alone": alone, "peers": peers, "actions": actions, "shards": shards, "watching": watching,
    "fanout": fanout, "agora": agora,
}  # fmt: skip


def main(stack: type[Stack] = Stack) -> None:
    Platforms.stack = stack
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}; left out: all")
    parser.add_argument("--short", action="store_true", help="as little as shows that it works; no figure of it counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON, too")
    asked = parser.parse_args()
    if unknown := [part for part in asked.parts if part not in PARTS]:
        parser.error(f"no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    table = Table("what", "product", "beside it", "ratio", title="product beside what a user would write instead")
    measured = []
    for part in asked.parts or PARTS:
        measuring = PARTS[part]
        for row in measuring.rows(measuring.SHORT if asked.short else measuring.WHOLE):
            print(*row, sep=" | ", file=sys.stderr, flush=True)  # a run that is stopped has told what it knew
            table.add_row(*row)
            measured.append(dict(zip(("what", "product", "beside", "ratio"), row, strict=True)) | {"part": part})
    Console().print(table)
    if asked.json:
        asked.json.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
