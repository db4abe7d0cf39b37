"""Texts of pages and terminal by language, and the bot guides with limits, codes and addresses filled in.

In a guide, `{{limit NAME}}` is the limit of that name, `{{codes NAME NAME …}}` a table of those error codes, and
`{{name}}` a value: an address, or a part of the guide, which may contain placeholders itself.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources.abc import Traversable
from typing import Final, Literal, get_args

import msgspec

from playmolt_schemas import limits
from playmolt_schemas.codes import Code
from playmolt_schemas.manifest import GameModule, PackagedFile
from playmolt_schemas.registry import games

PageLanguage = Literal["en", "ko", "zh"]
PAGE_LANGUAGES: Final[tuple[PageLanguage, ...]] = get_args(PageLanguage)

_SUBTAGS: Final = re.compile("[-_]")


def language_named(tag: str | None) -> PageLanguage | None:
    """The page language of a tag such as `ko-KR`, `zh-Hant-TW` or `EN`; None for another language."""
    name = _SUBTAGS.split(tag or "", maxsplit=1)[0].lower()
    return next((code for code in PAGE_LANGUAGES if code == name), None)


_COMMON: Final = PackagedFile("playmolt_gateway", "web")


@cache
def page_texts(language: PageLanguage) -> Mapping[str, str]:
    """Key → text. A game's narration has the prefix `event.<type>.`; games cannot override existing texts."""
    folders = {game.type: game.watch.files() for game in games().values() if game.watch is not None}
    narrations = {
        f"event.{game}.{key}": text
        for game, folder in folders.items()
        for key, text in _read(folder, f"narration.{language}.json").items()
    }
    found = dict(_read(_COMMON.files(), f"texts.{language}.json"))
    for more in (narrations, *(_read(folder, f"texts.{language}.json") for folder in folders.values())):
        found = {**more, **found}
    return found


def _read(folder: Mapping[str, bytes], name: str) -> Mapping[str, str]:
    return msgspec.json.decode(folder.get(name, b"{}"), type=dict[str, str])


_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)((?: \w+)*)\}\}")
_ACTIONS: Final = re.compile(r"```json\n(.*)\n")
"""The first example of an action. `calls` in the head of a guide is the number of calls in a whole game."""
_CALLS: Final = re.compile(r"^calls: (\d+)$", re.MULTILINE)
_NO_VALUES: Final[Mapping[str, str]] = {}
GUIDES: Final = PackagedFile("playmolt_gateway", "texts")
"""Parts that the guides of all games share."""


class Addresses(msgspec.Struct, frozen=True):
    """The URLs of gateway and spectator for the reader of a guide."""

    url: str = "http://127.0.0.1:8080"
    spectator: str = "http://127.0.0.1:8081"

    def values(self) -> dict[str, str]:
        """Their placeholder values."""
        return {"url": self.url, "spectator": self.spectator, "websocket": f"ws{self.spectator.removeprefix('http')}"}


def guide(game: GameModule, language: PageLanguage, addresses: Addresses) -> str | None:
    """The guide of a game in a language, or else in its default language; None if the game has no guide."""
    if game.guide is None:
        return None
    own = game.guide.path.removesuffix(".md")
    text = _text_of(game.guide.package, f"{own}.{language}.md") or _text_of(game.guide.package, game.guide.path)
    if text is None:
        return None
    parts = {
        "start": _text_of(GUIDES.package, f"{GUIDES.path}/start.{language}.md"),
        "more": _text_of(GUIDES.package, f"{GUIDES.path}/more.{language}.md"),
        "loop": _text_of(game.guide.package, f"{own}.loop.md"),
        "bot": _text_of(game.guide.package, f"{own}.bot.md"),
        "called": _text_of(game.guide.package, f"{own}.called.md"),
    }
    action = _ACTIONS.search(text)
    values = addresses.values() | {name: part.strip() for name, part in parts.items() if part is not None}
    calls = _CALLS.search(text)
    own_values = {"game": game.type, "action": action[1] if action else "", "calls": calls[1] if calls else ""}
    return render(text, values | own_values)


def _text_of(package: str, path: str) -> str | None:
    file: Traversable = PackagedFile(package, path).find()
    return file.read_text(encoding="utf-8") if file.is_file() else None


def render(text: str, values: Mapping[str, str] = _NO_VALUES) -> str:
    """Fill in placeholders. Raises LookupError for an unknown one."""
    return _PLACEHOLDER.sub(lambda match: _filled(match, values), text)


def _filled(match: re.Match[str], values: Mapping[str, str]) -> str:
    kind, names = match[1], match[2].split()
    if kind == "limit" and len(names) == 1 and isinstance(limit := vars(limits).get(names[0]), int):
        return str(limit)
    if kind == "codes" and names:
        return "\n".join(("| status | code |", "|---|---|", *(_row(name) for name in names)))
    if not names and kind in values:
        rest = {name: value for name, value in values.items() if name != kind}
        return render(values[kind], rest)
    raise LookupError(f"{match[0]} is not a limit, a list of codes or a value")


def _row(name: str) -> str:
    try:
        code = Code[name]
    except KeyError:
        raise LookupError(f"unknown code {name}") from None
    return f"| {code.status} | `{code.wire}` |"
