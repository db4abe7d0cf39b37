"""The commands that read the log, on the Postgres of a data folder that no `up` runs on."""

import asyncio
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import asyncpg
import pytest
from click.testing import CliRunner, Result
from playmolt_cli.local.database import database
from playmolt_cli.local.embedded import Postgres
from playmolt_cli.local.folder import Folder
from playmolt_cli.log import verifying
from playmolt_cli.log.reading import with_database
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


def test_a_command_imports_neither_nats_nor_the_rules_of_games_that_the_log_lacks(data: Path) -> None:
    program = (
        "import sys; sys.argv = ['playmolt', 'log', 'verify']; from playmolt_cli.main import main\n"
        "try: main()\n"
        "finally: print(sorted({'nats', 'playmolt_ox.rules', 'playmolt_legal.rules', 'jsonschema'} & set(sys.modules)))"
    )
    with database(data) as url:
        environment = {**os.environ, "DATABASE_URL": url}
        command = [sys.executable, "-c", program]
        verified = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    assert verified.stdout.splitlines()[-1] == "['playmolt_ox.rules']", verified.stderr


def test_several_processes_verify_a_long_log_to_the_same(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "")
    alone = with_database(data, verifying.verified, opened=True)
    monkeypatch.setattr(verifying, "verified_by", begun := Mock(wraps=verifying.verified_by))
    helped = with_database(data, partial(verifying.verified, worth_processes=0), opened=True)
    assert begun.called
    assert helped == alone


def test_points_and_ratings_are_made_again_and_verified(data: Path) -> None:
    def psql(statement: str) -> None:
        with Postgres(Folder(data).postgres) as server:
            asyncio.run(_statement(server.url, statement))

    made = _run("log", "rebuild", "--data", data)
    assert (made.exit_code, "rebuilt from the log" in made.stdout) == (0, True)
    assert _run("log", "verify", "--data", data).exit_code == 0
    psql("INSERT INTO projection.score VALUES ('agent-x', 'ox', 5, 1)")
    broken = _run("log", "verify", "--json", "--data", data)
    assert broken.exit_code == 1
    assert [fault["problem"] for fault in json.loads(broken.stdout)["breaks"]] == [
        "points of agent-x, ox: the log knows of none"
    ]
    assert _run("log", "rebuild", "--data", data).exit_code == 0
    assert _run("log", "verify", "--data", data).exit_code == 0


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
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.jsonl", "log.jsonl.manifest.json"]
    manifest = json.loads((tmp_path / "log.jsonl.manifest.json").read_text())
    assert (manifest["records"], manifest["head"]) == (len(everything), len(everything))
    assert {name: listed["over"] for name, listed in manifest["streams"].items()} == {ENDED: True, RUNNING: False}


def test_parquet_needs_a_file(data: Path) -> None:
    result = _run("log", "export", "--format", "parquet", "--data", data)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


def test_tail_and_stats_agree_with_the_export(data: Path) -> None:
    tail = _run("log", "tail", "-n", 1000, "--running", "--json", "--data", data).stdout
    assert tail == _run("log", "export", "--running", "--data", data).stdout
    counted = json.loads(_run("log", "stats", "--json", "--data", data).stdout)
    assert (counted["streams"], counted["events"]) == (2, len(tail.splitlines()))
    assert _run("log", "tail", "-n", 1, "--running", "--data", data).stdout.split()[-1] == "first_choice_submitted"


def test_a_game_is_reported_and_shown_as_it_was(data: Path) -> None:
    lines = _run("replay", ENDED, "--data", data).stdout.splitlines()
    assert lines[0].endswith("A game is waiting for 5 agents")
    assert "Agent 0 takes a seat" in lines[1]
    assert lines[-2].endswith("Ended by the operator: enough")
    assert lines[-1].startswith("EXACT")
    assert "Agent 0 입장" in _run("replay", ENDED, "--language", "ko", "--data", data).stdout
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


@pytest.fixture(scope="module")
def copies(data: Path) -> Iterator[Callable[[str], str]]:
    """Gives URLs of copies of that log, by name, on a server that runs."""
    folder = Path(tempfile.mkdtemp(prefix="playmolt-test-"))
    shutil.copytree(data, folder, dirs_exist_ok=True)
    folder.chmod(0o755)
    _give_to_the_owner_of(data / "postgres", folder / "postgres")
    with Postgres(folder / "postgres") as server:

        def copied(name: str) -> str:
            asyncio.run(_statement(server.url, f"CREATE DATABASE {name} TEMPLATE postgres"))
            return server.url.removesuffix("postgres") + name

        yield copied
    shutil.rmtree(folder, ignore_errors=True)


def test_a_changed_event_is_found(copies: Callable[[str], str]) -> None:
    url = copies("changed")
    asyncio.run(_tamper(url))
    result = _run("log", "verify", DATABASE_URL=url)
    assert result.exit_code == 1
    assert f"BREAK  {ENDED} event 2: the hash does not match" in result.stdout


@pytest.fixture(scope="module")
def archived(copies: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A copy of that log on which the game that ended was archived: its URL, and the file."""
    url, folder = copies("archived"), tmp_path_factory.mktemp("archive")
    options = ("log", "archive", "--out", folder, "--idle-days", 0)
    done = _run(*options, "--json", DATABASE_URL=url, PLAYMOLT_STREAM_EVENTS="1")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["archives"]
    assert [(each["file"], each["streams"]) for each in told] == [(*os.listdir(folder), 1)]
    again = _run(*options, DATABASE_URL=url, PLAYMOLT_STREAM_EVENTS="1")
    assert (again.exit_code, again.stdout) == (0, "nothing to archive\n")
    return url, folder / told[0]["file"]


def test_a_log_without_its_old_games_is_whole(archived: tuple[str, Path]) -> None:
    url, _ = archived
    verified = json.loads(_run("log", "verify", "--json", DATABASE_URL=url).stdout)
    assert {name: verified[name] for name in ("streams", "archived", "diverged", "breaks")} == {
        "streams": 1, "archived": 1, "diverged": 0, "breaks": [],
    }  # fmt: skip
    assert json.loads(_run("log", "check", "--json", DATABASE_URL=url).stdout)["differences"] == []
    assert json.loads(_run("log", "stats", "--json", DATABASE_URL=url).stdout)["archived"]["streams"] == 1
    assert _run("log", "export", DATABASE_URL=url).stdout == ""


def test_an_archived_game_is_told_from_its_file(archived: tuple[str, Path], data: Path) -> None:
    url, file = archived
    refused = _run("replay", ENDED, DATABASE_URL=url)
    assert refused.exit_code == 2
    assert f"is archived. Use --log with the file {file.name}" in refused.stderr
    assert _run("replay", ENDED, "--log", file).stdout == _run("replay", ENDED, "--data", data).stdout
    assert _run("replay", RUNNING, "--log", file).exit_code == 2


def test_an_archive_and_an_export_are_checked_as_files(archived: tuple[str, Path], data: Path, tmp_path: Path) -> None:
    _, file = archived
    export = tmp_path / "log.jsonl"
    assert _run("log", "export", "--running", "--out", export, "--data", data).exit_code == 0
    verified = json.loads(_run("log", "verify", file, export, "--json").stdout)
    assert (verified["streams"], verified["exact"], verified["breaks"]) == (3, 2, [])
    checked = json.loads(_run("log", "check", file, export, "--json").stdout)
    assert (checked["streams"], checked["differences"]) == (2, [])
    edited = gzip.decompress(file.read_bytes()).replace(b"Agent 0", b"Agent 9", 1)
    harmed = tmp_path / "harmed.jsonl.gz"
    harmed.write_bytes(gzip.compress(edited))
    found = _run("log", "verify", harmed)
    assert found.exit_code == 1
    assert f"BREAK  {ENDED} event 2: the hash does not match" in found.stdout
    harmed.write_bytes(file.read_bytes()[:-9])
    cut = _run("log", "verify", harmed)
    assert (cut.exit_code, cut.stdout.count("BREAK")) == (1, 1)
    harmed.write_bytes(b"no records at all")
    assert _run("log", "verify", harmed).exit_code == 2


@pytest.fixture(scope="module")
def narrow(archived: tuple[str, Path]) -> Callable[[str], str]:
    """Gives URLs of logins that are members of one role each."""
    url, _ = archived

    def login(role: str) -> str:
        asyncio.run(_statement(url, f"CREATE ROLE {role} LOGIN PASSWORD 'p' IN ROLE playmolt_{role}"))
        return f"postgresql://{role}:p@" + url.rpartition("@")[2]

    return login


def test_only_the_login_that_migrates_archives(narrow: Callable[[str], str], tmp_path: Path) -> None:
    refused = _run("log", "archive", "--out", tmp_path, DATABASE_URL=narrow("engine"))
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "Only the login that runs migrations" in refused.stderr


@pytest.mark.parametrize(("role", "marks"), [("reader", ["?", "ok"]), ("gateway", ["?", "?"])])
def test_doctor_says_what_a_narrow_login_may_not_see_and_goes_on(
    narrow: Callable[[str], str], role: str, marks: list[str]
) -> None:
    url = narrow(role)
    lines = _run("doctor", DATABASE_URL=url).stdout.splitlines()
    told = {line.split()[1]: line.split()[0] for line in lines if not line.startswith(" ")}
    assert [told["database"], told["migrations"], told["roles"], told["log"]] == ["ok", "ok", *marks]
    assert "gateway" in told
    findings = {
        each["name"]: each for each in json.loads(_run("doctor", "--json", DATABASE_URL=url).stdout)["findings"]
    }
    assert (findings["migrations"]["seen"], findings["roles"]["seen"]) == (True, False)
    if role == "gateway":
        refused = _run("log", "stats", DATABASE_URL=url)
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)


async def _statement(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url, timeout=60)
    await connection.execute(statement)
    await connection.close()


def _give_to_the_owner_of(model: Path, tree: Path) -> None:
    owner = model.stat()
    for path in (tree, *tree.rglob("*")):
        shutil.chown(path, owner.st_uid, owner.st_gid)


async def _tamper(url: str) -> None:
    connection = await asyncpg.connect(url, timeout=60)
    try:
        await connection.execute("SET session_replication_role = replica")  # what only a superuser can
        changed = await connection.execute(
            "UPDATE log.record AS r SET data = replace(r.data::text, 'Agent 0', 'Agent 9')::json"
            " FROM log.stream AS s WHERE s.number = r.number AND s.stream = $1 AND r.version = 2",
            ENDED,
        )
        assert changed == "UPDATE 1"
    finally:
        await connection.close()


def test_a_log_is_anchored_and_compared_with_its_anchors(data: Path, tmp_path: Path) -> None:
    nothing = _run("log", "verify", "--anchors", "--data", data)
    assert nothing.exit_code == 2
    assert "log anchor" in nothing.output
    place, key = tmp_path / "anchors.jsonl", tmp_path / "key.pem"
    for options in ((), ("--out", place, "--key", key), ("--out", place, "--key", key)):
        done = _run("log", "anchor", "--data", data, *options)
        assert done.exit_code == 0, done.output
    assert Folder(data).anchor_key.stat().st_mode & 0o777 == key.stat().st_mode & 0o777 == 0o600
    for anchors in (("--anchors",), ("--anchors", place)):
        verified = _run("log", "verify", "--json", "--data", data, *anchors)
        assert (verified.exit_code, json.loads(verified.stdout)["breaks"]) == (0, [])
    place.write_text(place.read_text().replace(RUNNING, ENDED, 1))
    edited = _run("log", "verify", "--json", "--data", data, "--anchors", place)
    assert edited.exit_code == 1
    assert "edited" in json.loads(edited.stdout)["breaks"][0]["problem"]
    refused = _run("log", "anchor", "--data", data, "--out", place, "--key", key)
    assert refused.exit_code == 2


def test_a_log_rewritten_in_itself_is_named_by_stream(data: Path, play: Play, tmp_path: Path) -> None:
    place = tmp_path / "anchors.jsonl"
    assert _run("log", "anchor", "--data", data, "--out", place).exit_code == 0
    other = Path(tempfile.mkdtemp(prefix="playmolt-test-"))
    other.chmod(0o755)
    with Postgres(Folder(other).postgres) as server:
        asyncio.run(_fill(server.url, play))
    try:
        rewritten = _run("log", "verify", "--json", "--data", other, "--anchors", place)
        assert rewritten.exit_code == 1
        assert {each["stream"] for each in json.loads(rewritten.stdout)["breaks"]} == {RUNNING, ENDED}
        assert _run("log", "verify", "--json", "--data", other).exit_code == 0
    finally:
        shutil.rmtree(other, ignore_errors=True)
