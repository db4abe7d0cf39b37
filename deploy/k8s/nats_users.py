"""Writes the accounts of NATS into `base/nats`: users with just their subjects, as `playmolt up` gives them.

`python deploy/k8s/nats_users.py` after a change of services or subjects; a test compares. Passwords are variables of
the server's environment.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from playmolt_cli.local.embedded.nats import READER, exports, reader_account
from playmolt_cli.overlay.overlay import bare_variables, nats_users, variable

__all__ = ["FOLDER", "pages", "variable"]

FOLDER = Path(__file__).parent / "base" / "nats"
_ORIGIN = "# Written by deploy/k8s/nats_users.py from playmolt_cli.local.embedded.nats.\n"


def pages() -> Mapping[str, str]:
    """File name → content."""
    reader = reader_account(f"${variable(READER)}")
    return {
        "users.conf": _ORIGIN + nats_users(),
        "exports.conf": f"{_ORIGIN}exports: {json.dumps(exports(), indent=2)}\n",
        "reader.conf": _ORIGIN
        + "".join(f"{name}: {bare_variables(json.dumps(value, indent=2))}\n" for name, value in reader.items()),
    }


if __name__ == "__main__":
    for name, page in pages().items():
        (FOLDER / name).write_text(page, encoding="utf-8")
