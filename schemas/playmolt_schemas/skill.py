"""The bot guides: docs/games/*/SKILL.md with limits and codes filled in, so that a guide cannot contradict the code.

`{{limit NAME}}` is the limit of that name, `{{codes NAME NAME …}}` a table of those refusals.
"""

import re
from typing import Final

from playmolt_schemas import limits
from playmolt_schemas.codes import Code

_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)((?: \w+)*)\}\}")


def render(text: str) -> str:
    """Fill in a guide's placeholders; raises LookupError for one that names nothing."""
    return _PLACEHOLDER.sub(_filled, text)


def _filled(match: re.Match[str]) -> str:
    kind, names = match[1], match[2].split()
    if kind == "limit" and len(names) == 1 and isinstance(limit := vars(limits).get(names[0]), int):
        return str(limit)
    if kind == "codes" and names:
        return "\n".join(("| status | code |", "|---|---|", *(_row(name) for name in names)))
    raise LookupError(f"{match[0]} names no limit and no codes")


def _row(name: str) -> str:
    try:
        code = Code[name]
    except KeyError:
        raise LookupError(f"there is no code {name}") from None
    return f"| {code.status} | `{code.wire}` |"
