"""`python -m playmolt_schemas.export [--check]`: schemas/json/messages and docs/api.md."""

import sys

from playmolt_schemas import registry
from playmolt_schemas.export.files import Files, run


def files() -> Files:
    """All files that are generated from this package alone."""
    # Importing the modules reads the installed games, which `house_only` must precede.
    from playmolt_schemas.export import api_page, json_schemas  # noqa: PLC0415

    return json_schemas.files() | api_page.files()


if __name__ == "__main__":
    registry.house_only()  # the generated files exclude other installed games
    made = files()
    from playmolt_schemas.export.json_schemas import FOLDER

    sys.exit(run(made, [FOLDER], sys.argv[1:]))
