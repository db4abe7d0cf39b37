"""The command line: help everywhere, one clear line for each failure, never a traceback."""

import resource
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from playmolt_cli.local.embedded import free_port
from playmolt_cli.main import cli
from playmolt_schemas.process_limits import NAMES

for _name in cli.list_commands(click.Context(cli)):  # each is imported when asked for
    cli.get_command(click.Context(cli), _name)
NOWHERE = f"127.0.0.1:{free_port()}"


def _run(*arguments: str, **environment: str) -> Result:
    clean = {"DATABASE_URL": "", "NATS_URL": "", **environment}
    return CliRunner().invoke(cli, arguments, env=clean)


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in sorted(group.commands.items()):
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))


@pytest.mark.parametrize("path", [(), *_commands(cli)], ids=" ".join)
def test_every_command_explains_itself_with_an_example(path: tuple[str, ...]) -> None:
    result = _run(*path, "--help")
    assert result.exit_code == 0
    assert "Example:" in result.output


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (["up", "--port", "99999"], {}, "0<=x<=65535"),
        (["up", "--engines", "0"], {}, "1<=x<=64"),
        (["up"], {"PLAYMOLT_PORT": "many"}, "PLAYMOLT_PORT='many'"),
        (["up"], {"PLAYMOLT_PROT": "1"}, "PLAYMOLT_PROT: no such setting"),
        (["nonsense"], {}, "No such command 'nonsense'"),
        (["bots", "chess"], {}, "'ox', 'trial'"),
        (["bots", "ox", "--policy", "genius"], {}, "Choose from"),
        (["bots", "ox", "--n", "0"], {}, "1<=x<=10000"),
        (["bots", "ox", "--url", "nonsense"], {}, "is not a server URL"),
        (["replay", "chess-1"], {}, "is not a game id"),
        (["replay", "ox-00000000-0000-0000-0000-000000000000"], {}, "playmolt up --data"),
        (["migrate"], {}, "playmolt up --data"),
        (["migrate"], {"DATABASE_URL": "postgresql://u:p/w@db/name"}, "DATABASE_URL: must be an address such as"),
        (["jury", "panel", "run", "/no/plan.toml"], {}, "/no/plan.toml: No such file or directory. Name the TOML file"),
        (["jury", "panel", "run", "/"], {}, "/: Is a directory. Name the TOML file of a plan"),
        (["doctor"], {"NATS_URL": "nats://127.0.0.1:99999"}, "NATS_URL: must be addresses such as"),
        (["up", "--data", "/proc/none"], {}, "cannot use /proc/none: No such file or directory. Check the path"),
        (["up", "--data", "/dev/null/sub"], {}, "cannot use /dev/null/sub: Not a directory. Check the path"),
        (["migrate"], {"DATABASE_URL": f"postgresql://someone@{NOWHERE}/none"}, "Postgres did not answer"),
        (
            ["erase", "--again", "/no/anchors"],
            {"DATABASE_URL": f"postgresql://someone@{NOWHERE}/none"},
            "cannot use /no/anchors: No such file or directory. Check the path",
        ),
        (["migrate", "--phase", "later"], {}, "'pre', 'post', 'all'"),
    ],
)
def test_a_failure_is_one_line_that_says_what_to_do(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], said: str
) -> None:
    result = _run(*arguments, PLAYMOLT_DATA=str(tmp_path / "data"), **environment)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_named_once(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = str(other.getsockname()[1])
        result = _run("up", "--port", port, "--data", str(tmp_path / "new"))
    assert result.exit_code == 2
    assert f"cannot listen on 127.0.0.1:{port} (Address already in use). Choose another port" in result.output


@pytest.mark.parametrize("host", ["[::1]", "203.0.113.7"])
def test_an_address_that_is_not_this_machines_is_no_question_of_the_port(tmp_path: Path, host: str) -> None:
    result = _run("up", "--port", "0", "--data", str(tmp_path / "new"), PLAYMOLT_HOST=host)
    assert result.exit_code == 2
    assert f"cannot listen on {host}:0" in result.output
    assert "Set PLAYMOLT_HOST to an address of this machine" in result.output


def test_a_full_disk_says_to_make_room(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        result = _run("content", "new", str(tmp_path / "pack"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "Make room on the disk, then run the command again" in result.stderr


def test_a_database_that_is_waited_for_in_vain_is_not_a_wrong_call() -> None:
    result = _run("migrate", "--wait", "0.1", DATABASE_URL=f"postgresql://someone@{NOWHERE}/none")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "waited 0.1 s: Postgres did not answer" in result.stderr


def test_a_failed_command_leaves_no_folder_behind(tmp_path: Path) -> None:
    _run("migrate", "--data", str(tmp_path / "data"))
    assert not (tmp_path / "data").exists()


def test_doctor_says_what_is_wrong_and_what_to_do(tmp_path: Path) -> None:
    result = _run(
        "doctor",
        "--data",
        str(tmp_path / "data"),
        DATABASE_URL=f"postgresql://someone@{NOWHERE}/none",
        NATS_URL=f"nats://{NOWHERE}",
        PLAYMOLT_PORT=NOWHERE.split(":")[1],
    )
    assert result.exit_code == 1
    faults = [line.split()[1] for line in result.output.splitlines() if line.startswith("FAULT")]
    assert faults == ["database", "nats", "gateway"]
    assert result.output.count("→") == 3


@pytest.mark.parametrize(("missing", "seen"), [((), "all held"), (tuple(NAMES), "does not hold: ")])
def test_doctor_names_each_limit_that_the_system_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...], seen: str
) -> None:
    monkeypatch.setattr("playmolt_schemas.process_limits.missing_here", lambda: missing)
    result = _run("doctor", "--data", str(tmp_path / "data"), DATABASE_URL=f"postgresql://someone@{NOWHERE}/none")
    (line,) = [line for line in result.output.splitlines() if "process limits" in line]
    assert seen in line
    assert [name for name in missing if name not in line] == []
