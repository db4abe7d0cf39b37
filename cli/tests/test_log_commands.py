"""The commands that read the log, on the Postgres of a data folder that no `up` runs on."""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner, Result
from playmolt_cli.embedded import Postgres
from playmolt_cli.folder import Folder
from playmolt_cli.main import cli
from playmolt_core.db.migrate import migrate
from playmolt_core.db.pool import open_pool
from playmolt_core.log.postgres import PostgresLog

RUNNING = "ox-00000000-0000-7000-8000-000000000001"
ENDED = "ox-00000000-0000-7000-8000-000000000002"
Play = Callable[..., Awaitable[None]]


@pytest.fixture(scope="module")
def data(play: Play) -> Iterator[Path]:
    """A data folder whose log holds a game that ended and one that runs."""
    path = Path(tempfile.mkdtemp(prefix="playmolt-test-"))
    path.chmod(0o755)
    with Postgres(Folder(path).postgres) as server:
        asyncio.run(_fill(server.url, play))
    yield path
    shutil.rmtree(path, ignore_errors=True)


async def _fill(url: str, play: Play) -> None:
    await migrate(url, "all")
    pool = await open_pool(url)
    await play(PostgresLog(pool), ENDED, ended=True)
    await play(PostgresLog(pool), RUNNING, ended=False)
    await pool.close()


def _run(*arguments: object, **environment: str) -> Result:
    clean = {"DATABASE_URL": "", "NATS_URL": "", **environment}
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], env=clean)


def test_a_whole_log_is_verified_and_checked(data: Path) -> None:
    verified = _run("log", "verify", "--json", "--data", data)
    assert verified.exit_code == 0
    told = json.loads(verified.stdout)
    assert {name: told[name] for name in ("streams", "exact", "unverified", "diverged")} == {
        "streams": 2, "exact": 1, "unverified": 1, "diverged": 0,
    }  # fmt: skip
    checked = _run("log", "check", "--json", "--data", data)
    assert (checked.exit_code, json.loads(checked.stdout)["differences"]) == (0, [])
    assert not Folder(data).locked()


def test_the_folder_of_the_environment_is_the_default(data: Path) -> None:
    assert _run("log", "verify", PLAYMOLT_DATA=str(data)).exit_code == 0


def test_an_export_leaves_running_games_out_unless_asked_for(data: Path, tmp_path: Path) -> None:
    lines = _run("log", "export", "--data", data).stdout.splitlines()
    assert {json.loads(line)["stream"] for line in lines} == {ENDED}
    out = tmp_path / "log.jsonl"
    assert _run("log", "export", "--running", "--out", out, "--data", data).exit_code == 0
    everything = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["position"] for record in everything] == list(range(1, len(everything) + 1))
    assert {record["stream"] for record in everything} == {ENDED, RUNNING}
    fields = "stream version position type schema_version data metadata at salt prev_hash hash"
    assert list(everything[0]) == fields.split()
    assert [path.name for path in tmp_path.iterdir()] == ["log.jsonl"]


def test_parquet_needs_a_file(data: Path) -> None:
    result = _run("log", "export", "--format", "parquet", "--data", data)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


def test_tail_and_stats_agree_with_the_export(data: Path) -> None:
    tail = _run("log", "tail", "-n", 1000, "--running", "--json", "--data", data).stdout
    assert tail == _run("log", "export", "--running", "--data", data).stdout
    counted = json.loads(_run("log", "stats", "--json", "--data", data).stdout)
    assert (counted["streams"], counted["events"]) == (2, len(tail.splitlines()))
    assert _run("log", "tail", "-n", 1, "--running", "--data", data).stdout.split()[-1] == "first_choice_submitted"


def test_a_game_is_told_and_shown_as_it_was(data: Path) -> None:
    lines = _run("replay", ENDED, "--data", data).stdout.splitlines()
    assert lines[0].endswith("a new game takes agents")
    assert "Agent 0 takes a seat" in lines[1]
    assert lines[-2].endswith("the game was ended by the operator: enough")
    assert lines[-1].startswith("EXACT")
    early = json.loads(_run("replay", ENDED, "--at", 3, "--json", "--data", data).stdout)
    assert (early["version"], early["state"]["phase"], len(early["events"])) == (3, "waiting", 3)
    assert _run("replay", ENDED, "--at", 999, "--data", data).exit_code == 2
    assert _run("replay", ENDED.replace("2", "9"), "--data", data).exit_code == 2


def test_the_told_lines_hold_no_secret_of_a_running_game(data: Path) -> None:
    told = _run("replay", RUNNING, "--json", "--data", data).stdout
    assert '"choice"' not in told
    assert "because" not in told


def test_two_commands_do_not_start_the_database_twice(data: Path) -> None:
    folder = Folder(data)
    folder.lock()
    result = _run("log", "stats", "--data", data)
    folder.unlock()
    assert result.exit_code == 2
    assert "in use by" in result.stderr


def test_a_changed_event_is_found(data: Path) -> None:
    copy = Path(tempfile.mkdtemp(prefix="playmolt-test-"))
    copy.chmod(0o755)
    shutil.copytree(data, copy, dirs_exist_ok=True)
    _give_to_the_owner_of(data / "postgres", copy / "postgres")
    with Postgres(Folder(copy).postgres) as server:
        asyncio.run(_tamper(server.url))
    result = _run("log", "verify", "--data", copy)
    shutil.rmtree(copy, ignore_errors=True)
    assert result.exit_code == 1
    assert f"BREAK  {ENDED} event 2: the hash does not fit" in result.stdout


def _give_to_the_owner_of(model: Path, tree: Path) -> None:
    owner = model.stat()
    for path in (tree, *tree.rglob("*")):
        shutil.chown(path, owner.st_uid, owner.st_gid)


async def _tamper(url: str) -> None:
    connection = await asyncpg.connect(url, timeout=10)
    try:
        await connection.execute("SET session_replication_role = replica")  # what only a superuser can
        changed = await connection.execute(
            "UPDATE log.event SET data = replace(data::text, 'Agent 0', 'Agent 9')::json"
            " WHERE stream = $1 AND version = 2",
            ENDED,
        )
        assert changed == "UPDATE 1"
    finally:
        await connection.close()
