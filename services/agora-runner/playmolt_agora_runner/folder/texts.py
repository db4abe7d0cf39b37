"""Shells and templates of a plan's folder, and all pairs of texts of a world."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.stored.agora.own_world import Both, OwnWorld
from playmolt_schemas.stored.agora.turn import Language

from playmolt_agora_runner.folder.source import KeyLines, Source
from playmolt_agora_runner.folder.symmetry import Pair
from playmolt_agora_runner.turn.prompts import SLOTS

_SLOT: Final = re.compile(r"\{([a-z_]+)\}")
CHARS_MOST: Final = 20_000


def of_world(source: Source, own: OwnWorld, at: KeyLines, languages: Sequence[Language]) -> list[Pair]:
    """The pairs of a world's texts; what is wrong with a file goes to the source."""
    # A missing or invalid text is reported separately.
    faulty = tuple(fault.field for fault in source.faults if fault.file.startswith("worlds/"))
    pairs = [
        Pair(at.of(field).path, field, text.ko, text.en, at.of(field).line(field))
        for field, name, text in _short(own)
        if not any(each == f"{field}{name}" or each.startswith(f"{field}{name}.") for each in faulty)
    ]
    for part, files in (("shell", own.shell), ("template", own.template)):
        read: dict[str, str] = {}
        for language in languages:
            if language in files:
                path = f"texts/{files[language]}"
                text = source.read(path)
                faults = [] if text is None else list(_faults(path, part, text))
                source.faults += faults
                if text is not None and not faults:
                    read[language] = text
        if len(read) > 1:
            paths = " / ".join(f"texts/{files[language]}" for language in languages)
            pairs.append(Pair(paths, "", read["ko"], read["en"]))
    return pairs


def _short(own: OwnWorld) -> Iterator[tuple[str, str, Both]]:
    """The entry that holds a text, its key there, and the text in both languages."""
    yield "title", "", own.title
    for name, place in own.places.items():
        yield f"places.{name}", ".title", place.title
    for name, action in own.actions.items():
        yield f"actions.{name}", ".label", action.label
        yield f"actions.{name}", ".help", action.help
    for number, rank in enumerate(own.ranks):
        yield f"ranks[{number}]", ".name", rank.name


def _faults(path: str, part: str, text: str) -> Iterator[PlanFault]:
    if len(text) > CHARS_MOST:
        yield PlanFault("", f"has {len(text):,} characters; the limit is {CHARS_MOST:,}", file=path)
    for number, line in enumerate(text.split("\n"), 1):
        for slot in _SLOT.findall(line):
            if slot not in SLOTS:
                message = f"{{{slot}}} is not a slot; the slots are {', '.join(f'{{{name}}}' for name in SLOTS)}"
                yield PlanFault("", message, code="unknown_key", file=path, line=number)
    if part == "template" and "{actions}" not in text:
        yield PlanFault(
            "", "lacks the slot {actions}: agents would not know what they can do", code="missing_text", file=path
        )
