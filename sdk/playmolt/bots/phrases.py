"""Text templates with a length limit, and seeded random streams for house bots."""

import random
from collections.abc import Mapping, Sequence
from typing import cast

from playmolt_schemas.stored.values import GameLanguage
from playmolt_schemas.text import trimmed

from playmolt.calls import State


def stream(*names: object) -> random.Random:
    """A random stream seeded by these names: the same in every process, so that a repeated turn gets the same
    answer."""
    return random.Random("/".join(map(str, names)))  # noqa: S311 -- play, not secrecy


_ELLIPSIS = "…"


def language_of(state: State, text: str) -> GameLanguage:
    """The language of a game: from its state, else detected from its text."""
    if said := state.get("language"):
        return cast("GameLanguage", said)
    if any("가" <= char <= "힣" for char in text):
        return "ko"
    return "zh" if any("一" <= char <= "鿿" for char in text) else "en"


def clipped(text: str, limit: int) -> str:
    """Cut a text to at most `limit` code points, with an ellipsis."""
    text = trimmed(text)
    return text if len(text) <= limit else trimmed(text[: limit - 1]) + _ELLIPSIS


def filled(template: str, parts: Mapping[str, str], limit: int) -> str:
    """Fill a template, shortening its parts evenly if the result would exceed `limit` code points."""
    room = limit - len(template.format_map(dict.fromkeys(parts, "")))
    used = [name for name in parts if "{" + name + "}" in template]
    share = max(1, room // max(1, len(used)))
    short = {name: clipped(parts[name], share) for name in used}
    spare = room - sum(map(len, short.values()))
    for name in used:
        grown = clipped(parts[name], len(short[name]) + max(0, spare))
        spare -= len(grown) - len(short[name])
        short[name] = grown
    return clipped(template.format_map(short), limit)


def pick(rng: random.Random, templates: Sequence[str]) -> str:
    return templates[rng.randrange(len(templates))]
