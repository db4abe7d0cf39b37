"""`python -m playmolt_cli.schemas [--check]`: the bundles of JSON Schema, and AsyncAPI.

They are generated here because only the command line imports all games.
"""

import sys

from playmolt_schemas.export import asyncapi
from playmolt_schemas.export.files import Files, run
from playmolt_schemas.export.json_schemas import FOLDER
from playmolt_schemas.registry import house_types

from playmolt_cli.games import deciders


def files() -> Files:
    """The schemas of all messages and stored events, and the AsyncAPI document."""
    kept = {*house_types(), "lobby", "erasure", "ownership", "moderation"}  # other installed games export their own
    stored = {game: decider.events for game, decider in deciders().items() if game in kept}
    return asyncapi.files(stored)


if __name__ == "__main__":
    sys.exit(run(files(), [FOLDER], sys.argv[1:]))
