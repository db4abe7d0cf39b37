"""The system messages of models that play: the shipped ones by game and language, or a file of one's own."""

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal

import msgspec

Language = Literal["ko", "en", "zh"]
LONGEST_BYTES: Final = 32 * 1024
_LANGUAGES: Final = {"ko": "한국어", "en": "English", "zh": "中文"}


class BadPrompt(ValueError):
    """A file that is no prompt; the message says why."""


class Prompt(msgspec.Struct, frozen=True):
    """A prompt before it is filled in; `sha256` names it."""

    text: str
    sha256: str

    def filled(self, name: str, language: Language) -> str:
        """With `{name}` and `{language}` filled in, and nothing else."""
        parts = self.text.split("{name}")
        return name.join(part.replace("{language}", _LANGUAGES[language]) for part in parts)


@cache
def shipped(game: str, language: Language) -> Prompt:
    """The prompt that comes with the house bots; BadPrompt where there is none."""
    file = files("playmolt.bots").joinpath(f"prompts/{game}.{language}.md")
    if not file.is_file():
        raise BadPrompt(f"there is no prompt for {game} in {language}; name a file")
    return _prompt(file.read_bytes(), file.name)


def of_file(path: Path) -> Prompt:
    """The prompt of a file; BadPrompt says what is wrong with it."""
    try:
        return _prompt(path.read_bytes(), str(path))
    except OSError as error:
        raise BadPrompt(f"{path}: {error.strerror or error}") from error


def _prompt(data: bytes, name: str) -> Prompt:
    if not 1 <= len(data) <= LONGEST_BYTES:
        raise BadPrompt(f"{name}: {len(data)} bytes; a prompt has 1 to {LONGEST_BYTES}")
    try:
        return Prompt(data.decode(), hashlib.sha256(data).hexdigest())
    except UnicodeDecodeError as error:
        raise BadPrompt(f"{name}: no UTF-8 at byte {error.start}") from error
