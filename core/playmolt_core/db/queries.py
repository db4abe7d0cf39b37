"""SQL by name: the statements of a file under `sql/queries`, each below a `-- name:` line."""

import re
from functools import cache
from importlib.resources import files
from types import MappingProxyType

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def queries(file: str) -> MappingProxyType[str, str]:
    """Read a file's statements, name → SQL."""
    source = files(__package__).joinpath("sql", "queries", f"{file}.sql").read_text("utf-8")
    _, *parts = _NAME.split(source)
    return MappingProxyType(dict(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True)))
