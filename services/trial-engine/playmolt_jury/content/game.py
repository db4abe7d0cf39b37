"""The jury as it is played: the rules with the case in every language."""

from importlib.resources import files
from typing import Final

from playmolt_schemas.canonical import digest

from playmolt_jury.content import content
from playmolt_jury.rules import Jury

_DATA_FILES: Final = (
    "prompts.json", "lexicon.en.json", "lexicon.zh.json", "scripted.en.json", "scripted.zh.json",
)  # fmt: skip


def jury(*, show_stances: bool = False) -> Jury:
    """The rules with all content loaded; raises ContentError naming what is wrong with it."""
    materials = {language: content.load(language) for language in content.LANGUAGES}
    return Jury(materials, version(), show_stances=show_stances)


def version() -> str:
    """A digest of the case and of all words beside it, so that a change of any is seen in event 1."""
    data = files("playmolt_jury").joinpath("data")
    return digest([content.version(), *(data.joinpath(name).read_text("utf-8") for name in _DATA_FILES)])[:16]
