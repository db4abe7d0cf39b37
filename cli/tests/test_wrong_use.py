"""Wrong use of a command ends with exit status 2 and one line, before the command does anything."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from playmolt_cli.main import cli

Words = tuple[str, ...]
GAME = "ox-00000000-0000-4000-8000-000000000000"
BOT = "def bot(turn):\n    return turn.actions[0]\n"
PLAN = 'name = "one"\n[[games]]\ngame = "ox"\nn = 1\n[[players]]\nname = "a"\nhouse = "mixed"\n'
REQUIRED = {
    "--from": "2026-11-01", "--to": "2026-12-01",
    "--out": "new-folder", "--at": "1", "--set": "model=scripted-steady", "--model": "scripted", "--against": "bot.py",
    "--seat": "1", "--bot": "bot.py", "bot": "bot.py", "game_ids": GAME, "game_id": GAME, "folder": "empty",
    "file": "-", "files": "-", "plan": "bot.py", "fact_id": "f1", "game": "trial", "experiment": "experiment-1",
    "run_id": "agora-1",
    "sources": GAME, "--key": "pmo_key", "name": "Ada", "agent": "agent-1", "owner_id": "owner-1", "api_key": "pm_key",
    "--entrants": "9", "report": "report-1", "decision": "ban", "--note": "spam", "--rounds": "2",
    "tournament_id": "tournament-00000000-0000-4000-8000-000000000000",
}  # fmt: skip
"""A plausible value of each required option and argument."""
USES: dict[str, tuple[str, ...]] = {
    "agora analyze": ("missing --out new-folder", "bot.py --out new-folder"),
    "agora check": ("missing", "--preset missing", "bot.py", "bot.py --preset white-room"),
    "agora export": ("missing --out new-folder",),
    "agora fork": ("agora-1 --at 1 --set model=scripted --url nonsense --key k",),
    "agora judge": (
        "experiment-1 --model scripted --money abc", "experiment-1 --model scripted --money=-1",
        "experiment-1 --model scripted --url nonsense --key k",
    ),
    "agora plan": ("", "missing", "--preset missing", "bot.py --example", "bot.py --preset white-room"),
    "agora probe": ("", "missing", "--preset missing", "bot.py", "bot.py --preset white-room", "bot.py --times 1"),
    "agora run": ("", "missing", "--preset missing", "bot.py", "white-room --url nonsense --key k"),
    "agora sheet": (
        "experiment-1", "experiment-1 --out a.csv --in bot.py", "experiment-1 --coder kim", "experiment-1 --in bot.py",
    ),
    "agora simulate": ("missing", "pcs_test --draws 999", "pcs_test --short --draws 199", "pcs_test --write missing"),
    "agora status": ("experiment-1",),
    "agora transcript": ("agora-1",),
    "bots check": (
        "", "--python bot.py --command bot.py", "--python missing.py", "--callback nonsense", "--command missing",
        "--python bot.py --url nonsense",
    ),
    "bots house": ("", "--url nonsense"),
    "bots ox": ("--policy missing", "--policy model:missing", "--url nonsense", "--prompt bot.py"),
    "bots replay-test": ("bot.py nonsense", f"missing.py {GAME}", f"bot.py {GAME}"),
    "bots trial": ("--policy missing", "--policy model:missing", "--url nonsense", "--prompt bot.py"),
    "content check": ("missing",),
    "content new": (".", "new-folder --language xx"),
    "content play": ("missing --auto",),
    "dataset build": (
        "--from 2026-13-01 --to 2026-12-01 --out new-folder", "--from 2026-11-01 --to 2026-11-01 --out new-folder",
        "--from 2026-11-01 --to 2026-12-01 --out .", "--from 2026-11-01 --to tomorrow --out new-folder",
    ),
    "demo": ("extra",),
    "deploy": ("missing empty", "ox empty"),
    "doctor": ("extra",),
    "erase": ("", "nonsense", "--due --again anchors", "legal-1 --due"),
    "inspect export": ("", "nonsense --out new-folder", f"{GAME} --out new-folder", f"{GAME} --out bot.py"),
    "jury panel list": ("--url nonsense --key k", "--url http://127.0.0.1:9 --key ключ"),
    "jury panel run": (
        "plan.toml", "missing.toml --out new-folder", "bot.py --out . --dry --url nonsense --key k",
        "bot.py --dry --url http://127.0.0.1:9 --key ключ", "bot.py --out bot.py",
    ),
    "jury play": ("--url nonsense --key k", "--url http://127.0.0.1:9 --key ключ"),
    "legal attach": ("bot.py --url nonsense --key k",),
    "legal fact": ("f1", "f1 --correct a --withdraw", "f1 --confirm --dispute"),
    "legal facts": ("--url nonsense --key k",),
    "legal gate": ("--url nonsense --key k", "--url http://127.0.0.1:9 --key ключ", "--file bot.py --form x --key k"),
    "legal list": ("", "--url nonsense --key k"),
    "legal new": ("--url nonsense --key k",),
    "legal redo": ("", "--url nonsense --key k"),
    "legal report": ("", "--url nonsense --key k"),
    "legal retry": ("", "--url nonsense --key k"),
    "legal show": ("", "--url nonsense --key k"),
    "log anchor": ("", "--key missing"),
    "log archive": ("", "--out s3://"),
    "log check": ("", "bot.py", "missing"),
    "log export": ("", "--format parquet"),
    "log lost": ("--against missing",),
    "log rebuild": ("",),
    "log stats": ("",),
    "log tail": ("", "--after nonsense"),
    "log verify": ("", "bot.py", "missing", "bot.py --anchors anchors"),
    "match": (
        "", "bot.py", "bot.py --n 1", "house:mixed", "bot.py missing.py", "bot.py house:missing",
        "bot.py model:missing",
        "bot.py nonsense://x", "bot.py bot.py --plan plan.toml", "--plan missing", "--plan bot.py", "bot.py --example",
        "--plan plan.toml", " ".join(["bot.py"] * 51),
    ),
    "migrate": ("",),
    "moderate decide": (
        "report-1 burn --note x", "report-1 ban", "report-1 ban --note x --url nonsense --key k",
    ),
    "moderate list": ("--state old", "--url nonsense --key k"),
    "moderate show": ("", "report-1 --url nonsense --key k"),
    "owner claim": ("", "pm_key --url nonsense --key k"),
    "owner codes": ("", "--url nonsense --key k"),
    "owner erase": ("--yes", "--yes --url nonsense --key k"),
    "owner new": ("", "Ada --url nonsense"),
    "owner new-key": ("", "agent-1 --url nonsense --key k"),
    "owner recover": ("", "owner-1 --code c --url nonsense"),
    "owner register": ("", "bot --url nonsense --key k"),
    "owner release": ("", "agent-1 --url nonsense --key k"),
    "owner show": ("", "--url nonsense --key k", "--url http://127.0.0.1:9 --key ключ"),
    "replay": ("nonsense", GAME, f"{GAME} --log bot.py"),
    "scores": ("extra",),
    "tournament new": ("--game chess", "--format knockout", "--house 0", "--url nonsense --key k"),
    "tournament simulate": ("--entrants 9", "--entrants 9 --rounds 2 --format season"),
    "tournament show": ("--url nonsense --key k",),
    "tournament start": ("", "tournament-1 --url nonsense --key k"),
    "seal add": ("extra",),
    "seal drop": ("extra",),
    "seal rewrap": ("extra",),
    "seal rotate": ("extra",),
    "up": ("extra", "--pack empty"),
    "verify-verdict": ("", "nonsense", "--log bot.py", "jury-1 --url nonsense --key k"),
    "what-if": (f"{GAME} --at 1 --seat 1 --bot bot.py", "nonsense --at 1 --seat 1 --bot bot.py"),
}  # fmt: skip
"""Command → wrong calls of it, beside those that its declared options give. The data folder has no platform."""


def _commands(group: click.Group, path: Words = ()) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        elif command is not None:
            yield " ".join((*path, name)), command


COMMANDS = dict(_commands(cli))


def _option(parameter: click.Parameter) -> str:
    return max(parameter.opts, key=len) if isinstance(parameter, click.Option) else str(parameter.name)


def _filled(command: click.Command, without: click.Parameter | None = None) -> Words:
    """The required words of a command, but for one parameter."""
    words: list[str] = []
    for parameter in command.params:
        if parameter.required and parameter is not without:
            name = _option(parameter)
            words += [name, REQUIRED[name]] if name.startswith("-") else [REQUIRED[name]]
    return tuple(words)


def _out_of_range(kind: "click.ParamType[Any]") -> Iterator[str]:
    if isinstance(kind, click.IntRange | click.FloatRange):
        if kind.min is not None:
            yield str(kind.min - 1)
        if kind.max is not None:
            yield str(kind.max + 1)
    if isinstance(kind, click.FloatRange):
        yield from ("nan", "inf", "-inf")
    if isinstance(kind, click.IntRange | click.FloatRange | type(click.INT)):
        yield from ("many", "1e999x", "")
    if isinstance(kind, click.Choice):
        yield from ("no-such-choice", "")
    if isinstance(kind, click.Path) and kind.exists:
        yield "missing"


def _declared(command: click.Command) -> Iterator[tuple[str, Words]]:
    """What every command refuses because of its declaration: (a part of the message, words)."""
    yield "No such option", (*_filled(command), "--no-such-option")
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    if all(each.nargs != -1 for each in arguments):
        yield "", (*_filled(command), *["bot.py"] * (len(arguments) + 1))
    for parameter in command.params:
        name = _option(parameter)
        if parameter.required:
            yield "Missing", _filled(command, without=parameter)
        if isinstance(parameter, click.Option):
            for value in _out_of_range(parameter.type):
                given = f"{name}={value}" if name.startswith("--") else f"{name}{value}"
                yield name, (*_filled(command, without=parameter), given)
            if not parameter.is_flag and parameter.flag_value is None:
                yield "requires", (*_filled(command, without=parameter), name)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bot.py").write_text(BOT, encoding="utf-8")
    Path("plan.toml").write_text(PLAN, encoding="utf-8")
    Path("empty").mkdir()


def _run(path: str, *words: str) -> Result:
    environment = {"DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_DATA": "none", "PLAYMOLT_HOUSE_KEY": ""}
    return CliRunner().invoke(cli, [*path.split(), *words], env=environment)


def _refused(result: Result, *called: str) -> None:
    said = f"playmolt {' '.join(called)}\n{result.output}"
    assert result.exit_code == 2, said
    assert result.stdout == "", said
    assert "Traceback" not in result.stderr, said
    assert not Path("none").exists(), f"{said}\nit began to work"


def test_wrong_uses_of_every_command_are_listed() -> None:
    assert set(USES) == set(COMMANDS)


@pytest.mark.parametrize("path", COMMANDS)
def test_what_a_command_does_not_declare_is_refused(path: str) -> None:
    for said, words in _declared(COMMANDS[path]):
        result = _run(path, *words)
        _refused(result, path, *words)
        assert said in result.stderr, f"playmolt {path} {' '.join(words)}\n{result.stderr}"


@pytest.mark.parametrize(("path", "words"), [(path, words) for path, uses in USES.items() for words in uses])
def test_a_call_that_makes_no_sense_is_refused(path: str, words: str) -> None:
    _refused(_run(path, *words.split()), path, words)


@pytest.mark.parametrize("command", ["add", "rotate"])
def test_a_key_file_that_cannot_be_written_is_named(tmp_path: Path, command: str) -> None:
    env = {"DATABASE_URL": "", "PLAYMOLT_SEAL_KEYS": ""}
    result = CliRunner().invoke(cli, ["seal", command, "--data", str(tmp_path / "none")], env=env)
    assert result.exit_code == 2
    assert f"Cannot write {tmp_path / 'none' / 'seal-keys'}: No such file" in result.stderr


@pytest.mark.parametrize("path", ["", "agora", "bots", "content", "jury", "legal", "log", "seal"])
def test_a_group_without_a_command_shows_its_commands_and_is_refused(path: str) -> None:
    result = _run(path)
    assert result.exit_code == 2
    assert "Commands:" in result.stderr
