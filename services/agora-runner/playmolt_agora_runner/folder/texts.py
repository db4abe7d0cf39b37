"""Shells and templates of a plan's folder, and all pairs of texts of a world."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.stored.agora.own_world import Both, OwnWorld
from playmolt_schemas.stored.agora.turn import ACTIONS, Language

from playmolt_agora_runner.folder.source import TITLE_CHARS, FaultyParts, KeyLines, Pair, Source
from playmolt_agora_runner.turn.prompts import SLOTS

_SLOT: Final = re.compile(r"\{([a-z_]+)\}")
CHARS_MOST: Final = 20_000


class ShownText(NamedTuple):
    """A text that a world's file holds itself: its key, whether a world has to have it, and its longest length."""

    field: str
    text: Both
    needed: bool = False
    most: int | None = TITLE_CHARS


def shown(own: OwnWorld) -> Iterator[ShownText]:
    yield ShownText("title", own.title)
    for name, place in own.places.items():
        yield ShownText(f"places.{name}.title", place.title, needed=not own.packaged)
    for name, action in own.actions.items():
        yield ShownText(f"actions.{name}.label", action.label, needed=name not in ACTIONS)
        yield ShownText(f"actions.{name}.help", action.help, most=None)
    for number, rank in enumerate(own.ranks):
        yield ShownText(f"ranks[{number}].name", rank.name, needed=True)


def of_world(source: Source, own: OwnWorld, at: KeyLines, languages: Sequence[Language]) -> None:
    """Read the texts of a world; the source gets what is wrong with a file, and what is to be compared."""
    # A missing or invalid text is reported separately.
    faulty = FaultyParts(fault.field for fault in source.faults if fault.file.startswith("worlds/"))
    pairs = [at.pair(each.field, each.text.ko, each.text.en) for each in shown(own) if not faulty.inside(each.field)]
    for part, files in (("shell", own.shell), ("template", own.template)):
        read: dict[Language, str] = {}
        for language in languages:
            path = f"texts/{files[language]}" if language in files else ""
            text = source.read(path) if path else None
            faults = [] if text is None else list(_faults(path, part, text))
            source.faults += faults
            if text is not None and not faults:
                read[language] = text
        if len(read) > 1:
            paths = " / ".join(f"texts/{files[language]}" for language in languages)
            pairs.append(Pair(paths, "", read["ko"], read["en"]))
    source.pairs += pairs if len(languages) > 1 else []


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
