"""Writes `base/nats/users.conf`: the users of NATS with just their subjects, as `playmolt up` gives them.

`python deploy/k8s/nats_users.py` after a change of services or subjects; a test compares. Passwords are variables of
the server's environment.
"""

from pathlib import Path

from playmolt_cli.overlay.overlay import nats_users, variable

__all__ = ["PAGE", "page", "variable"]

PAGE = Path(__file__).parent / "base" / "nats" / "users.conf"


def page() -> str:
    """Render the file."""
    return f"# Written by deploy/k8s/nats_users.py from playmolt_cli.local.embedded.nats.\n{nats_users()}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
