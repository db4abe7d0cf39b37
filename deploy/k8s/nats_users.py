"""Writes the NATS accounts: the users, each with the subjects it may use, the same as in `playmolt up`.

Run `python deploy/k8s/nats_users.py` after a change of services or subjects; a test compares the files. It writes
`base/nats` for one shard of the log and `overlays/prod/accounts` for the number of shards in that overlay. `--shards N
--out FOLDER` writes the files for another number. Passwords are environment variables of the server.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from playmolt_cli.local.embedded.nats import READER, exports, reader_account
from playmolt_cli.overlay.overlay import SHARDS, bare_variables, nats_users, variable

__all__ = ["FOLDERS", "pages", "variable"]

_HERE = Path(__file__).parent
FOLDERS: Final = {SHARDS["dev"]: _HERE / "base" / "nats", SHARDS["prod"]: _HERE / "overlays" / "prod" / "accounts"}
"""Number of shards → folder of its account files."""
_ORIGIN = "# Written by deploy/k8s/nats_users.py from playmolt_cli.local.embedded.nats.\n"


def pages(shards: int) -> Mapping[str, str]:
    """The account files for a number of shards: file name → content."""
    reader = reader_account(f"${variable(READER)}", shards)
    return {
        "users.conf": _ORIGIN + nats_users(shards),
        "exports.conf": f"{_ORIGIN}exports: {json.dumps(exports(shards), indent=2)}\n",
        "reader.conf": _ORIGIN
        + "".join(f"{name}: {bare_variables(json.dumps(value, indent=2))}\n" for name, value in reader.items()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, help="of the log")
    parser.add_argument("--out", type=Path, help="folder to write to; with --shards")
    said = parser.parse_args()
    for shards, folder in {said.shards: said.out}.items() if said.shards and said.out else FOLDERS.items():
        folder.mkdir(exist_ok=True)
        for name, page in pages(shards).items():
            (folder / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
