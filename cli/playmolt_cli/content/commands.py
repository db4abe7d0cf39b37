"""`playmolt content`: the stories that writers edit, and those that they bring."""

from collections.abc import Collection
from pathlib import Path
from typing import get_args

import click
import msgspec
from playmolt_core.game.packs.entries import read
from playmolt_core.game.packs.folder import folder_files, game_of
from playmolt_core.game.packs.frame import PackGame
from playmolt_jury.content import pack
from playmolt_jury.content.pack_folder import read_folder
from playmolt_schemas.canonical import files_digest
from playmolt_schemas.game_messages import GameLanguage
from playmolt_schemas.games.jury import Language, VerdictName

from playmolt_cli.content import pack_play as playing
from playmolt_cli.content import packs as template
from playmolt_cli.content.packs import KINDS, check_folder
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import json_option
from playmolt_cli.terminal.terminal_text import console

_FOLDER = click.Path(path_type=Path, file_okay=False)
_THERE = click.Path(path_type=Path, exists=True, file_okay=False)


@click.group()
def content() -> None:
    """Write, check and play cases and questions of your own, without touching code.

    Example: playmolt content new my-case
    """


@content.command()
@click.argument("folder", type=_FOLDER)
@click.option(
    "--game", type=click.Choice(get_args(PackGame)), default="jury", show_default=True, help="For which game."
)
@click.option(
    "--language", "languages", type=click.Choice(get_args(GameLanguage)), multiple=True, default=("en",),
    show_default=True, help="A language of the pack; give it again for each.",
)  # fmt: skip
def new(folder: Path, game: PackGame, languages: tuple[GameLanguage, ...]) -> None:
    """Write a small pack that passes the check and plays, to be edited.

    A folder that is not empty is left alone: exit status 2.

    Example: playmolt content new my-case --language en --language zh
    """
    unknown = sorted(set(languages) - set(get_args(Language))) if game == "jury" else []
    if unknown:
        raise Failure(f"juries do not speak {', '.join(unknown)}: choose of {', '.join(get_args(Language))}")
    written = template.write(folder, game, tuple(dict.fromkeys(languages)))
    click.echo(f"{len(written)} files in {folder}. Edit them, then: playmolt content check {folder}")


@content.command()
@click.argument("folder", type=_THERE, required=False)
@json_option
def check(folder: Path | None, as_json: bool) -> None:
    """Prove that a pack can be played: every lock opens, no talk is a dead end, every ending can be reached, every
    language is complete, nothing gives a secret away. Without FOLDER the shipped case is checked.

    Each fault is FILE:LINE: CODE: what is wrong. Exit status 1 on a fault.

    Example: playmolt content check my-case --json
    """
    files = pack.shipped_files() if folder is None else folder_files(folder)[0]
    faults = pack.check(files) if folder is None else check_folder(folder)
    digest = files_digest(files)
    if as_json:
        click.echo(msgspec.json.encode({"ok": not faults, "faults": faults, "digest": digest}))
    else:
        for fault in faults:
            click.echo(str(fault))
        if not faults:
            click.echo(f"{folder or 'the shipped case'}: {len(files)} files, no fault, digest {digest}")
    if faults:
        raise SystemExit(1)


@content.command()
@click.argument("folder", type=_THERE)
@click.option("--auto", is_flag=True, help="Let a scripted overseer play it to the end.")
@click.option(
    "--aim", type=click.Choice(get_args(VerdictName)), default="not_guilty", show_default=True,
    help="What the scripted overseer argues for.",
)  # fmt: skip
@click.option("--language", type=click.Choice(get_args(Language)), help="Default: the pack's first.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another order of the scripted overseer's words.")
@json_option
def play(folder: Path, auto: bool, aim: VerdictName, language: Language | None, seed: int, as_json: bool) -> None:
    """Check a pack, start what it needs, and play it: a jury's as `jury play` does; trials and O/X games by house bots,
    with --auto. Nothing is left behind.

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
            raise Failure("trials and O/X games are played by bots here: add --auto")
        _play_through(folder, game, language, as_json)
        return
    brought = read_folder(folder)
    spoken = _spoken(language, brought.materials)
    played = playing.play(folder, brought, spoken, console(err=as_json), auto=auto, aim=aim, seed=seed)
    if as_json and played:
        click.echo(msgspec.json.encode({"digest": brought.digest, "verdict": played[0], "ending": played[1]}))


def _play_through(folder: Path, game: PackGame, language: Language | None, as_json: bool) -> None:
    brought = read(folder_files(folder)[0], KINDS[game])
    spoken = _spoken(language, brought.entries)
    result = playing.play_through(folder, brought, game, spoken, console(err=as_json))
    if as_json:
        click.echo(msgspec.json.encode({"digest": brought.digest, "game_id": result.game_id, "phase": result.phase}))


def _spoken(language: Language | None, languages: Collection[Language]) -> Language:
    """The language to play in: the pack's first, unless one is asked for."""
    if language is not None and language not in languages:
        raise Failure(f"the pack has no {language}: choose of {', '.join(languages)}")
    return next(iter(languages)) if language is None else language
