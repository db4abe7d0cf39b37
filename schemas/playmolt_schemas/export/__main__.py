"""`python -m playmolt_schemas.export [--check]`: schemas/json/messages and docs/api.md."""

import sys

from playmolt_schemas import registry
from playmolt_schemas.export.files import Files, run


def files() -> Files:
    """Everything that is generated from this package alone."""
    # What messages there are is settled when their modules are imported.
    from playmolt_schemas.export import api_page, json_schemas  # noqa: PLC0415

    return json_schemas.files() | api_page.files()


if __name__ == "__main__":
    registry.house_only()  # another game that is installed here is not in these pages
    made = files()
    from playmolt_schemas.export.json_schemas import FOLDER

    sys.exit(run(made, [FOLDER], sys.argv[1:]))
