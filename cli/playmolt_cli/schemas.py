"""`python -m playmolt_cli.schemas [--check]`: the JSON Schemas of stored events.

They are made here because only the command line knows all games: the messages' package imports no service.
"""

import sys

from playmolt_schemas.export.files import Files, run
from playmolt_schemas.export.json_schemas import STORED_FOLDER, stored_files
from playmolt_schemas.registry import house_types

from playmolt_cli.games import deciders


def files() -> Files:
    """A schema for every stored type and version of every game and of the lobby."""
    kept = {*house_types(), "lobby"}  # another game that is installed here describes its own
    return stored_files({game: decider.events for game, decider in deciders().items() if game in kept})


if __name__ == "__main__":
    sys.exit(run(files(), [STORED_FOLDER], sys.argv[1:]))
