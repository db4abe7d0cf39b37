"""Texts of a plan that agents read, and whether their Korean and English say the same (agora.md, Symmetry).

A difference in tone has to be declared (`symmetry.toml`).
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

import msgspec
from playmolt_schemas.stored.agora.turn import Language, PhaseName

from playmolt_agora_runner.folder.outline import outline
from playmolt_agora_runner.folder.symmetry import DeclaredDifference
from playmolt_agora_runner.turn import texts


class PackagedDifference(DeclaredDifference, frozen=True, kw_only=True):
    """A difference that the software declares, and the notions that it touches."""

    code: str
    notions: tuple[str, ...]


class Knowledge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of each notion, the notions that a phase has no more, and the declared differences."""

    notions: Mapping[str, Mapping[Language, tuple[str, ...]]]
    absent: Mapping[PhaseName, tuple[str, ...]]
    exceptions: tuple[PackagedDifference, ...]


class PlanText(msgspec.Struct, frozen=True):
    """A text of a plan that agents read, by its field: of a question, a choice, or a seed event of a phase."""

    place: str
    ko: str
    en: str
    phase: PhaseName | None = None
    """That of a seed event."""

    def faults(self) -> Iterator[str]:
        """Where the languages differ, and of what the phase has no more either of them speaks."""
        if outline(self.ko) != outline(self.en):
            yield f"the numbers, ids or lines of Korean and English differ: {self.ko!r} / {self.en!r}"
        korean, english = notions(self.ko, "ko"), notions(self.en, "en")
        for notion in sorted(korean ^ english):
            yield f"one language speaks of {notion}, the other does not: {self.ko!r} / {self.en!r}"
        absent = knowledge().absent.get(self.phase, ()) if self.phase else ()
        for notion in sorted((korean | english).intersection(absent)):
            yield f"it speaks of {notion}, which {self.phase} has no more"


def notions(text: str, language: Language) -> set[str]:
    """The notions that a text speaks of."""
    return set().union(*(_of_line(line, language) for line in text.split("\n")))


@lru_cache(maxsize=4096)  # prompts are made of the same lines; no word of a notion goes over the end of one
def _of_line(line: str, language: Language) -> frozenset[str]:
    return frozenset(notion for notion, pattern in _patterns(language).items() if pattern.search(line))


@cache
def _patterns(language: Language) -> Mapping[str, re.Pattern[str]]:
    # Korean words have no separable edges.
    edge = "" if language == "ko" else r"\b"
    return {
        name: re.compile(f"{edge}(?:{'|'.join(map(re.escape, words[language]))}){edge}", re.IGNORECASE)
        for name, words in knowledge().notions.items()
    }


@cache
def knowledge() -> Knowledge:
    return msgspec.convert(texts.table("symmetry.toml"), Knowledge)
