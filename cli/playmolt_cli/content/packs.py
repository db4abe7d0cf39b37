"""Checks packs of every game, and writes the starter pack of `playmolt content new`."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec
from playmolt_core.game.packs import entries
from playmolt_core.game.packs.entries import EntryKind, file_of
from playmolt_core.game.packs.faults import PackFault
from playmolt_core.game.packs.folder import folder_files, game_of
from playmolt_core.game.packs.frame import PackGame
from playmolt_jury.content import pack_folder
from playmolt_ox.content import QUESTIONS
from playmolt_schemas.stored.values import GameLanguage
from playmolt_trial.content import CASES

from playmolt_cli.terminal.failures import Failure

KINDS: Final[Mapping[PackGame, EntryKind[Any]]] = {kind.game: kind for kind in (CASES, QUESTIONS)}


def check_folder(folder: Path) -> tuple[PackFault, ...]:
    """The faults of a pack, checked by the rules of its game."""
    game = game_of(folder)
    if game not in KINDS:
        return pack_folder.check_folder(folder)
    files, faults = folder_files(folder)
    return tuple(sorted({*faults, *entries.check(files, KINDS[game])}))


_QUESTIONS: Final = {
    "en": "A promise made to a machine binds as much as one made to a person",
    "zh": "对机器许下的诺言，同对人许下的一样作数",
    "ko": "기계에게 한 약속도 사람에게 한 약속만큼 지켜야 한다",
}
_CASES: Final = {
    "en": (
        "The unpaid ferry",
        "A ferry took a doctor across without a ticket.",
        "She was late.",
        "Nobody else could go.",
    ),
    "zh": ("没买票的渡船", "一条渡船没收票就把医生送过了河。", "她来晚了。", "没有别人能去。"),
    "ko": (
        "표 없는 나룻배",
        "나룻배가 표를 받지 않고 의사를 건네주었다.",
        "그녀가 늦게 왔다.",
        "갈 사람이 달리 없었다.",
    ),
}


def write(folder: Path, game: PackGame, languages: Sequence[GameLanguage]) -> list[str]:
    """Write a starter pack; returns its paths. Raises Failure if the folder is not empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Failure(f"{folder} is not empty. Choose another folder.")
    written = dict(_pack(game, languages))
    for path, content in written.items():
        at = folder / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(content, encoding="utf-8")
    return list(written)


def _pack(game: PackGame, languages: Sequence[GameLanguage]) -> Iterator[tuple[str, str]]:
    named = ", ".join(f'"{each}"' for each in languages)
    head = f'format = 1\ngame = "{game}"\nid = "my-{game}"\ntitle = "My {game} pack"\nlanguages = [{named}]\n'
    yield "pack.toml", head
    if game != "jury":
        for language in languages:
            yield file_of(KINDS[game].name, language, languages), _entries(game, language)
        return
    template = files("playmolt_jury").joinpath("content", "template")
    yield "structure.toml", template.joinpath("structure.toml").read_text("utf-8")
    for language in languages:
        for entry in template.joinpath(language).iterdir():
            yield f"{language}/{entry.name}", entry.read_text("utf-8")


def _entries(game: PackGame, language: GameLanguage) -> str:
    if game == "ox":
        entries: object = [_QUESTIONS[language]]
    else:
        title, description, against, speaks_for = _CASES[language]
        entries = [
            {
                "case_id": "my-case-1", "title": title, "description": description, "evidence_for": [speaks_for],
                "evidence_against": [against],
            }
        ]  # fmt: skip
    return msgspec.json.format(msgspec.json.encode(entries), indent=2).decode() + "\n"
