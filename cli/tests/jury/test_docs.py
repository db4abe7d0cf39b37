"""docs/jury.md tells a person numbers, commands and settings: each has to be what the code does."""

import re
from pathlib import Path

import click
from playmolt.calls import SLOW_SECONDS
from playmolt_cli.main import cli
from playmolt_core.settings import variables
from playmolt_jury.content import pack
from playmolt_schemas.games.jury import DELIBERATION_ROUNDS, NOTE_CHARS, NOTES, ROUNDS_WITH_JUROR

for _name in cli.list_commands(click.Context(cli)):  # each is imported when asked for
    cli.get_command(click.Context(cli), _name)
PAGE = " ".join((Path(__file__).parents[3] / "docs" / "jury.md").read_text().split())


def test_the_numbers_are_the_rules() -> None:
    case = pack.shipped().structure
    locked = sum(item.locked for item in case.evidence)
    for said in (
        f"{len(case.evidence)} items of evidence. {locked} are locked: each of the {len(case.witnesses)} witnesses",
        f"{ROUNDS_WITH_JUROR} rounds with each",
        f"| {DELIBERATION_ROUNDS} rounds.",
        f"{NOTES} in all, at most {NOTE_CHARS} characters each",
        f"{len(case.jurors) // 2 + 1} of {len(case.jurors)} votes convict",
        f"there are {len(case.endings)} endings",
        f"at most {SLOW_SECONDS:g} s",
    ):
        assert said in PAGE, said


def test_the_commands_and_their_options_exist() -> None:
    for words in re.findall(r"playmolt ((?:[a-z-]+ ?)+)", PAGE):
        command: click.Command | None = cli
        for word in words.split():
            if not isinstance(command, click.Group) or word not in command.commands:
                break
            command = command.commands[word]
        assert command is not cli, words
    options = {option for name in ("jury", "verify-verdict") for option in _options(cli.commands[name])}
    assert set(re.findall(r"--[a-z]+", PAGE)) <= options


def _options(command: click.Command) -> set[str]:
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return {opt for each in command.params for opt in each.opts} | {o for each in inner for o in _options(each)}


def test_the_settings_exist() -> None:
    known = {variable for variable, _, _ in variables().values()}
    named = set(re.findall(r"`((?:PLAYMOLT_|EVM_|DATABASE_)[A-Z_]+)`", PAGE))
    assert named
    assert named <= known
