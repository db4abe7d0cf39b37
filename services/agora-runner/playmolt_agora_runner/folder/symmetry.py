"""Whether the Korean and the English texts of a plan's folder say the same, line by line (agora-folder, 4)."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from playmolt_schemas.agora.plan import PlanFault

from playmolt_agora_runner.folder import toml_file
from playmolt_agora_runner.folder.outline import outline
from playmolt_agora_runner.folder.source import Pair, Source

PATH: Final = "texts/symmetry.toml"


class DeclaredDifference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A difference that the researcher declares: the words in both languages of a file's text, and why."""

    text: str
    ko: str
    en: str
    reason: Annotated[str, Meta(min_length=1)]


class SymmetryResult(msgspec.Struct, frozen=True):
    """How many pairs of texts were compared, and what was declared of them."""

    pairs: int = 0
    declared: tuple[DeclaredDifference, ...] = ()


NO_DIFFERENCE: Final = SymmetryResult()


def compared(source: Source, names: tuple[str, ...]) -> SymmetryResult:
    """Compare all pairs; `names` are those of actions and places, which both languages have to say.

    The source gets the faults.
    """
    found = toml_file.listed(source, PATH, "declared", DeclaredDifference)[1] if PATH in source.names() else {}
    declared = tuple(found.values())
    source.faults += [fault for pair in source.pairs for fault in _faults(pair, declared, names)]
    return SymmetryResult(len(source.pairs), declared)


def _faults(pair: Pair, declared: Sequence[DeclaredDifference], names: tuple[str, ...]) -> Iterator[PlanFault]:
    korean, english = pair.ko, pair.en
    for each in declared:
        if each.text in (pair.path, *pair.path.split(" / ")):
            korean, english = korean.replace(each.ko, ""), english.replace(each.en, "")
    laid = zip_longest(outline(korean.strip(), names), outline(english.strip(), names), fillvalue="nothing")
    for part, (one, other) in enumerate(laid, 1):
        if one != other:
            yield _differing(pair, f"in part {part}: {one} / {other}")
            return
    # An English text has words that happen to be names; a Korean one that says `harvest` means the action.
    lacking = [name for name in names if _times(name, korean) and not _times(name, english)]
    if lacking:
        yield _differing(pair, f"in names: only Korean says {', '.join(lacking)}")


def _differing(pair: Pair, how: str) -> PlanFault:
    message = f"Korean and English differ {how}; make them alike, or declare the difference in {PATH}"
    return PlanFault(pair.field, message, code="asymmetric", file=pair.path.split(" / ")[0], line=pair.line)


def _times(name: str, text: str) -> int:
    return len(re.findall(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", text))
