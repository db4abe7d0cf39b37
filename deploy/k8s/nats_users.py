"""Writes `base/nats/users.conf`: the users of NATS with just their subjects, as `playmolt up` gives them.

`python deploy/k8s/nats_users.py` after a change of services or subjects; a test compares. Passwords are variables of
the server's environment.
"""

import json
import re
from pathlib import Path

from playmolt_cli.local.embedded.nats import users

PAGE = Path(__file__).parent / "base" / "nats" / "users.conf"


def variable(user: str) -> str:
    """Name the environment variable that holds a user's password."""
    return f"{user.upper().replace('-', '_')}_PASSWORD"


def page() -> str:
    """Render the file."""
    text = json.dumps(users(lambda user: f"${variable(user)}"), indent=2)
    # In quotes a variable would be its own name.
    bare = re.sub(r'"(\$\w+_PASSWORD)"', r"\1", text)
    return f"# Written by deploy/k8s/nats_users.py from playmolt_cli.local.embedded.nats.\nusers: {bare}\n"


if __name__ == "__main__":
    PAGE.write_text(page())
