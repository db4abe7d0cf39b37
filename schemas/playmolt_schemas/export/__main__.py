"""`python -m playmolt_schemas.export [--check]`: docs/api.md."""

import sys

from playmolt_schemas import registry
from playmolt_schemas.export.files import Files, run


def files() -> Files:
    """All files that are generated from this package alone."""
    # Importing the modules reads the installed games, which `house_only` must precede.
    from playmolt_schemas.export import api_page  # noqa: PLC0415

    return api_page.files()


if __name__ == "__main__":
    registry.house_only()  # the generated files exclude other installed games
    sys.exit(run(files(), [], sys.argv[1:]))
