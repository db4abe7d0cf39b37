"""`python -m playmolt_schemas.export [--check]`: schemas/json/messages, schemas/asyncapi.json and docs/api.md."""

import sys

from playmolt_schemas.export import api_page, asyncapi, json_schemas
from playmolt_schemas.export.files import Files, run


def files() -> Files:
    """Give everything that is generated from this package alone."""
    return json_schemas.files() | asyncapi.files() | api_page.files()


if __name__ == "__main__":
    sys.exit(run(files(), [json_schemas.FOLDER], sys.argv[1:]))
