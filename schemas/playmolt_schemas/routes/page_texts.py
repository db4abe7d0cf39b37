"""What pages and terminal say, by language: the common texts, and what the installed games add to them."""

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, get_args

import msgspec

from playmolt_schemas.manifest import Resource
from playmolt_schemas.registry import games

PageLanguage = Literal["en", "ko", "zh"]
PAGE_LANGUAGES: Final[tuple[PageLanguage, ...]] = get_args(PageLanguage)

_COMMON: Final = Resource("playmolt_gateway", "web")


@cache
def page_texts(language: PageLanguage) -> Mapping[str, str]:
    """Key → text. A game's `narration` stands under `event.<type>.`; a game changes no text that is there."""
    folders = {game.type: game.watch.files() for game in games().values() if game.watch is not None}
    told = {
        f"event.{game}.{key}": text
        for game, folder in folders.items()
        for key, text in _read(folder, f"narration.{language}.json").items()
    }
    found = dict(_read(_COMMON.files(), f"texts.{language}.json"))
    for more in (told, *(_read(folder, f"texts.{language}.json") for folder in folders.values())):
        found = {**more, **found}
    return found


def _read(folder: Mapping[str, bytes], name: str) -> Mapping[str, str]:
    return msgspec.json.decode(folder.get(name, b"{}"), type=dict[str, str])
