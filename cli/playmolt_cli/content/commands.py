"""`playmolt content`: creates, checks and plays packs of cases and questions."""

from collections.abc import Collection
from pathlib import Path
from typing import get_args

import click
from playmolt_core.game.packs.entries import read
from playmolt_core.game.packs.folder import folder_files, game_of
from playmolt_core.game.packs.frame import PackGame
from playmolt_jury.content import pack
from playmolt_jury.content.pack_folder import read_folder
from playmolt_schemas.canonical import files_digest
from playmolt_schemas.stored.jury import Language, VerdictName
from playmolt_schemas.stored.values import GameLanguage

from playmolt_cli.content import pack_play as playing
from playmolt_cli.content import packs as template
from playmolt_cli.content.packs import KINDS, check_folder
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import echo_json, json_option
from playmolt_cli.terminal.terminal_text import console

_FOLDER = click.Path(path_type=Path, file_okay=False)
_THERE = click.Path(path_type=Path, exists=True, file_okay=False)


@click.group()
def content() -> None:
    """Create, check and play your own cases and questions, without code.

    Example: playmolt content new my-case
    """


@content.command()
@click.argument("folder", type=_FOLDER)
@click.option(
    "--game", type=click.Choice(get_args(PackGame)), default="jury", show_default=True, help="Game of the pack."
)
@click.option(
    "--language", "languages", type=click.Choice(get_args(GameLanguage)), multiple=True, default=("en",),
    show_default=True, help="Language of the pack. Repeatable.",
)  # fmt: skip
def new(folder: Path, game: PackGame, languages: tuple[GameLanguage, ...]) -> None:
    """Create a small, valid, playable pack as a starting point.

    If FOLDER is not empty, nothing is written and the exit status is 2.

    Example: playmolt content new my-case --language en --language zh
    """
    unknown = sorted(set(languages) - set(get_args(Language))) if game == "jury" else []
    if unknown:
        raise Failure(f"Jury packs do not support {', '.join(unknown)}. Choose from {', '.join(get_args(Language))}.")
    written = template.write(folder, game, tuple(dict.fromkeys(languages)))
    click.echo(f"{len(written)} files written to {folder}. Edit them, then run: playmolt content check {folder}")


@content.command()
@click.argument("folder", type=_THERE, required=False)
@json_option
def check(folder: Path | None, as_json: bool) -> None:
    """Check that a pack is playable: all evidence can be unlocked, dialogues have no dead ends, every ending is
    reachable, all languages are complete, and no text reveals a secret. Without FOLDER it checks the shipped case.

    Errors are printed as FILE:LINE: CODE: message. Exit status 1 if there are errors.

    Example: playmolt content check my-case --json
    """
    files = pack.shipped_files() if folder is None else folder_files(folder)[0]
    faults = pack.check(files) if folder is None else check_folder(folder)
    digest = files_digest(files)
    if as_json:
        echo_json({"ok": not faults, "faults": faults, "digest": digest})
    else:
        for fault in faults:
            click.echo(str(fault))
        if not faults:
            click.echo(f"{folder or 'the shipped case'}: {len(files)} files, no errors, digest {digest}")
    if faults:
        raise SystemExit(1)


@content.command()
@click.argument("folder", type=_THERE)
@click.option("--auto", is_flag=True, help="Let a scripted overseer (or house bots) play to the end.")
@click.option(
    "--aim", type=click.Choice(get_args(VerdictName)), default="not_guilty", show_default=True,
    help="What the scripted overseer argues for.",
)  # fmt: skip
@click.option("--language", type=click.Choice(get_args(Language)), help="Language. Default: the first of the pack.")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed for the order of the scripted overseer's arguments."
)
@json_option
def play(folder: Path, auto: bool, aim: VerdictName, language: Language | None, seed: int, as_json: bool) -> None:
    """Check a pack and play it on a temporary platform. Jury packs play like `jury play`; for trials and O/X games,
    --auto lets house bots play.

    Example: playmolt content play my-case --auto --aim guilty
    """
    faults = check_folder(folder)
    if faults:
        for fault in faults:
            click.echo(str(fault), err=True)
        raise SystemExit(1)
    game = game_of(folder)
    if game != "jury":
        if not auto:
            raise Failure("Trials and O/X games are played by house bots. Add --auto.")
        _play_through(folder, game, language, as_json)
        return
    loaded = read_folder(folder)
    spoken = _spoken(language, loaded.materials)
    played = playing.play(folder, loaded, spoken, console(err=as_json), auto=auto, aim=aim, seed=seed)
    if as_json and played:
        echo_json({"digest": loaded.digest, "verdict": played[0], "ending": played[1]})


def _play_through(folder: Path, game: PackGame, language: Language | None, as_json: bool) -> None:
    loaded = read(folder_files(folder)[0], KINDS[game])
    spoken = _spoken(language, loaded.entries)
    result = playing.play_through(folder, loaded, game, spoken, console(err=as_json))
    if as_json:
        echo_json({"digest": loaded.digest, "game_id": result.game_id, "phase": result.phase})


def _spoken(language: Language | None, languages: Collection[Language]) -> Language:
    """The requested language, or the pack's first."""
    if language is not None and language not in languages:
        raise Failure(f"The pack has no language {language}. Choose from {', '.join(languages)}.")
    return next(iter(languages)) if language is None else language
