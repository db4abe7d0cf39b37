"""What all packs share: `pack.toml`, and limits of files and texts."""

import re
from collections.abc import Iterator
from typing import Final, Literal

import msgspec
from playmolt_schemas.canonical import Files
from playmolt_schemas.limits import PACK_BYTES, PACK_FILE_BYTES, PACK_FILES
from playmolt_schemas.stored.values import GameLanguage
from playmolt_schemas.text import composed_text, trimmed, unstorable

from playmolt_core.game.packs.faults import PackFlaw, Path

PackGame = Literal["jury", "trial", "ox"]
PACK: Final = "pack.toml"
TITLE_CHARS: Final = 200
_ID: Final = re.compile(r"[a-z0-9-]{3,40}")


class PackFrame(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`pack.toml`."""

    format: Literal[1]
    game: PackGame
    id: str
    title: str
    languages: tuple[GameLanguage, ...]


def text_of(content: bytes) -> str:
    """A file's text without a byte order mark, composed (NFC). Raises UnicodeDecodeError if it is not UTF-8."""
    return composed_text(content.decode("utf-8-sig"))


def limit_flaws(files: Files) -> Iterator[PackFlaw]:
    if len(files) > PACK_FILES:
        yield PackFlaw(PACK, (), "out_of_bounds", f"the pack has more than {PACK_FILES} files; remove some")
    if sum(map(len, files.values())) > PACK_BYTES:
        yield PackFlaw(PACK, (), "out_of_bounds", f"the pack is larger than {PACK_BYTES} bytes; shorten it")
    for path, content in files.items():
        if len(content) > PACK_FILE_BYTES:
            yield PackFlaw(path, (), "out_of_bounds", f"the file is larger than {PACK_FILE_BYTES} bytes; shorten it")


def frame_flaws(frame: PackFrame) -> Iterator[PackFlaw]:
    if not _ID.fullmatch(frame.id):
        yield PackFlaw(PACK, ("id",), "out_of_bounds", "id must be 3 to 40 of a-z, 0-9 and -")
    if not frame.languages or len(set(frame.languages)) != len(frame.languages):
        yield PackFlaw(PACK, ("languages",), "out_of_bounds", "languages must name one to three, each once")
    yield from bounded(PACK, ("title",), "title", frame.title, TITLE_CHARS)


def bounded(file: str, path: Path, place: str, text: str, most: int) -> Iterator[PackFlaw]:
    """Faults of a required text with at most `most` characters that is stored unchanged."""
    if not text:
        yield PackFlaw(file, path, "missing_text", f"{place} is empty; add a text")
    elif len(text) > most:
        yield PackFlaw(file, path, "out_of_bounds", f"{place} has {len(text)} characters; the maximum is {most}")
    elif text != trimmed(text) or unstorable(text):
        yield PackFlaw(
            file,
            path,
            "out_of_bounds",
            f"{place} begins or ends with white space, or contains characters that cannot be stored",
        )
