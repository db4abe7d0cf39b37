"""Fitting words: templates filled so that the result keeps to a limit of code points."""

import random
from collections.abc import Mapping, Sequence
from typing import cast

from playmolt_schemas.game_messages import GameLanguage
from playmolt_schemas.text import trimmed

from playmolt.calls import State


def stream(*names: object) -> random.Random:
    """The stream of chance that these names stand for; the same names give the same stream in every process."""
    return random.Random("/".join(map(str, names)))  # noqa: S311 -- play, not secrecy


_ELLIPSIS = "…"


def language_of(state: State, text: str) -> GameLanguage:
    """In which language a game is played: its own, or that of its text where it does not say so."""
    if said := state.get("language"):
        return cast("GameLanguage", said)
    if any("가" <= char <= "힣" for char in text):
        return "ko"
    return "zh" if any("一" <= char <= "鿿" for char in text) else "en"


def clipped(text: str, limit: int) -> str:
    """Cut a text to at most `limit` code points, marking the cut."""
    text = trimmed(text)
    return text if len(text) <= limit else trimmed(text[: limit - 1]) + _ELLIPSIS


def filled(template: str, parts: Mapping[str, str], limit: int) -> str:
    """Fill a template, cutting its parts evenly where the whole would be longer than `limit` code points."""
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
