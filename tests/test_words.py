"""Ceilings, which only fall, for words that make unclear English and for the type `Any`; and rules for class names.

`python tests/test_words.py` prints the current counts.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
WORDS: Final = re.compile(
    r"\b(?:told|tells?|stands?|anew|whoever|nobody|mend(?:s|ed)?|brought|comes? to|is no|are no|of which"
    r"|all the same)\b",
    re.IGNORECASE,
)
SLACK: Final = 5
"""How far a count may be below its ceiling before the ceiling must be lowered."""

CEILINGS: Final = {
    "playmolt_schemas": 6,
    "playmolt_core": 8,
    "playmolt": 2,
    "playmolt_cli": 12,
    "playmolt_agora": 1,
    "playmolt_agora_runner": 11,
    "playmolt_devchain": 0,
    "playmolt_gateway": 1,
    "playmolt_legal": 1,
    "playmolt_ox": 0,
    "playmolt_spectator": 0,
    "playmolt_tournament": 0,
    "playmolt_jury": 1,
    "playmolt_trial": 0,
    "playmolt_trial_engine": 0,
    "docs": 9,
    "pages": 4,
    "operations": 3,
}

CLASS: Final = re.compile(r"^\s*class (\w+)", re.MULTILINE)
EVENT_CLASSES: Final = frozenset((
    "AttemptMade", "GameAborted", "GameEnded", "GameStarted", "PhaseChanged", "TurnFailed", "TurnStarted",
))  # fmt: skip
"""Event types that several games have, each game with its own fields."""
NOUNS: Final = frozenset(("Finding", "Heading", "Rating"))
"""Nouns that end like a gerund."""

ANY: Final = re.compile(r"\bAny\b")
ANY_CEILINGS: Final = {
    "playmolt_schemas": 128,
    "playmolt_core": 178,
    "playmolt": 45,
    "playmolt_cli": 141,
    "playmolt_agora": 74,
    "playmolt_agora_runner": 50,
    "playmolt_devchain": 12,
    "playmolt_gateway": 112,
    "playmolt_legal": 109,
    "playmolt_ox": 3,
    "playmolt_spectator": 0,
    "playmolt_tournament": 0,
    "playmolt_jury": 59,
    "playmolt_trial": 3,
    "playmolt_trial_engine": 0,
}
"""Lines with `Any` in the code of a package, including imports. Use `object` for a value of any type, unless a library,
JSON that is read by keys, or a struct that msgspec decodes needs `Any`."""


def code() -> Iterator[Path]:
    """The folders of our packages, without tests, bench and deploy."""
    for member in (
        *(ROOT / name for name in ("schemas", "core", "lab", "sdk", "cli")),
        *sorted((ROOT / "services").iterdir()),
    ):
        yield from sorted(path.parent for path in member.glob("playmolt*/__init__.py"))


def files(part: str) -> Iterator[Path]:
    match part:
        case "docs":
            yield from (path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md")
            for folder in ("docs", "deploy", "schemas", "sdk", "services"):
                found = (path for path in (ROOT / folder).rglob("*.md") if not path.is_symlink())
                left_out = {"tests", "prompts", "node_modules", "data"}
                yield from (path for path in found if not left_out & {*path.relative_to(ROOT).parts})
        case "pages":
            web = ROOT / "services" / "gateway" / "playmolt_gateway" / "web"
            yield from (*web.rglob("*.en.json"), *web.rglob("*.html"))
        case "operations":
            yield from (ROOT / "Makefile", ROOT / "pyproject.toml", *(ROOT / "core").rglob("*.sql"))
            endings = {".py", ".sh", ".sql", ".toml", ".yaml", ".json"}
            found = (path for path in (ROOT / "deploy").rglob("*") if path.suffix in endings)
            yield from (path for path in found if "crds" not in path.parts)
        case _:
            (package,) = (each for each in code() if each.name == part)
            yield from package.rglob("*.py")


def count(part: str) -> int:
    return sum(len(WORDS.findall(path.read_text("utf-8"))) for path in files(part))


def lines_with_any(part: str) -> int:
    return sum(bool(ANY.search(line)) for path in files(part) for line in path.read_text("utf-8").splitlines())


def parts() -> list[str]:
    return [*(folder.name for folder in code()), "docs", "pages", "operations"]


@pytest.mark.parametrize("part", CEILINGS)
def test_the_words_grow_fewer(part: str) -> None:
    found, ceiling = count(part), CEILINGS[part]
    assert found <= ceiling, f"{part}: {found} words, at most {ceiling}: write plain English"
    assert found >= ceiling - SLACK, f"{part}: only {found} words are left: lower its ceiling from {ceiling}"


@pytest.mark.parametrize("part", ANY_CEILINGS)
def test_any_grows_rarer(part: str) -> None:
    found, ceiling = lines_with_any(part), ANY_CEILINGS[part]
    assert found <= ceiling, f"{part}: {found} lines with Any, at most {ceiling}: name the type, or use object"
    assert found >= ceiling - SLACK, f"{part}: only {found} lines with Any are left: lower its ceiling from {ceiling}"


@pytest.mark.parametrize("part", [folder.name for folder in code()])
def test_a_class_name_is_a_noun_with_one_meaning(part: str) -> None:
    names = Counter(name for path in files(part) for name in CLASS.findall(path.read_text("utf-8")))
    assert {name for name, uses in names.items() if uses > 1} <= EVENT_CLASSES
    assert {name for name in names if name.endswith("ing")} <= NOUNS


def test_every_part_has_a_ceiling() -> None:
    assert sorted(CEILINGS) == sorted(parts())
    assert sorted(ANY_CEILINGS) == sorted(folder.name for folder in code())


def test_whole_words_are_counted_in_any_case() -> None:
    assert (
        len(WORDS.findall("Told; it tells, stands. ANEW comes to mended, but not mending, bystander or storytold."))
        == 6
    )


if __name__ == "__main__":
    sys.stdout.write("".join(f'    "{part}": {count(part)},\n' for part in parts()))
    sys.stdout.write("Any\n" + "".join(f'    "{each.name}": {lines_with_any(each.name)},\n' for each in code()))
