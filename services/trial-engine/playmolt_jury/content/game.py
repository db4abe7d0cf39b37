"""The jury as it is played: the rules with every case there is."""

from collections.abc import Iterable
from importlib.resources import files
from typing import Final, get_args

from playmolt_schemas.canonical import digest
from playmolt_schemas.games.jury import Language

from playmolt_jury.content import pack
from playmolt_jury.content.cases import KEPT, Cases
from playmolt_jury.content.pack import Pack
from playmolt_jury.rules import Jury

_DATA_FILES: Final = (
    "prompts.json", *(f"{kind}.{language}.json" for kind in ("lexicon", "scripted") for language in get_args(Language))
)  # fmt: skip


def jury(packs: Iterable[Pack] = (), *, show_stances: bool = False, explorer: str = "", kept: int = KEPT) -> Jury:
    """The rules with all content loaded; raises ValueError naming what is wrong with it. `kept` as in `Cases`."""
    return Jury(Cases(pack.shipped(), packs, kept=kept), version(), show_stances=show_stances, explorer=explorer)


def version() -> str:
    """A digest of the shipped case and of all words beside it, so that a change of any is seen in event 1."""
    data = files("playmolt_jury").joinpath("data")
    return digest([pack.shipped().digest, *(data.joinpath(name).read_text("utf-8") for name in _DATA_FILES)])[:16]
