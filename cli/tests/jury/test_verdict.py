"""`verify-verdict` and the chain of `up`: one clear line whatever is missing."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from playmolt_cli.jury.chain import chain_url
from playmolt_cli.local.embedded import free_port
from playmolt_cli.main import cli
from playmolt_core.log.memory import MemoryLog

Store = Callable[..., Awaitable[None]]

SESSION = "ox-00000000-0000-0000-0000-000000000001"
NODE = f"http://127.0.0.1:{free_port()}"


def run(folder: Path, *arguments: str) -> Result:
    own = {"DATABASE_URL": "", "EVM_RPC_URL": "", "PLAYMOLT_DATA": str(folder / "data")}
    return CliRunner().invoke(cli, arguments, env=own)


def refused(result: Result, said: str) -> None:
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert said in result.stderr


@pytest.fixture
async def copy(tmp_path: Path, log: MemoryLog, store: Store) -> Path:
    """A log that holds no jury session's verdict."""
    await store(SESSION, ended=True)
    stored = await log.load(SESSION)
    assert stored is not None
    path = tmp_path / "copy.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, stored.records)))
    return path


def test_without_a_log_it_says_where_one_would_be(tmp_path: Path) -> None:
    refused(run(tmp_path, "verify-verdict", "jury-1"), "playmolt up --data")


def test_a_copy_without_the_session_or_without_a_verdict_is_nothing_to_compare(tmp_path: Path, copy: Path) -> None:
    refused(run(tmp_path, "verify-verdict", "jury-1", "--log", str(copy), "--rpc", NODE), "no records of 'jury-1'")
    refused(run(tmp_path, "verify-verdict", SESSION, "--log", str(copy), "--rpc", NODE), "no verdict_read")


def test_a_copy_of_games_has_no_jury_session_and_one_session_among_games_needs_no_name(
    tmp_path: Path, copy: Path
) -> None:
    refused(run(tmp_path, "verify-verdict", "--log", str(copy), "--rpc", NODE), "has 0 jury sessions")
    game = copy.read_bytes()
    copy.write_bytes(game + b"\n" + game.replace(b'"ox-', b'"jury-'))
    refused(
        run(tmp_path, "verify-verdict", "--log", str(copy), "--rpc", NODE),
        "jury-00000000-0000-0000-0000-000000000001: ",
    )


def test_a_copy_that_is_not_a_log_is_reported(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{")
    refused(run(tmp_path, "verify-verdict", "jury-1", "--log", str(broken), "--rpc", NODE), "JSON lines")


def test_without_a_chain_it_says_how_to_name_one(tmp_path: Path, copy: Path) -> None:
    refused(run(tmp_path, "verify-verdict", SESSION, "--log", str(copy)), "--rpc or EVM_RPC_URL")


@pytest.mark.parametrize("key", ["", "0x12"])
def test_up_does_not_start_for_a_chain_that_nobody_can_pay_on(tmp_path: Path, key: str) -> None:
    own = {"EVM_RPC_URL": NODE, "PLAYMOLT_EVM_DEPLOYER_KEY": key, "DATABASE_URL": ""}
    refused(CliRunner().invoke(cli, ["up", "--data", str(tmp_path / "data")], env=own), "PLAYMOLT_EVM_DEPLOYER_KEY")
    assert not (tmp_path / "data").exists()


def test_a_chain_kept_in_the_folder_is_started_for_the_time(tmp_path: Path) -> None:
    (tmp_path / "data" / "chain").mkdir(parents=True)
    with chain_url(None, tmp_path / "data") as url:
        assert url.startswith("http://127.0.0.1:")


def test_what_is_given_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVM_RPC_URL", "http://of-the-environment")
    with chain_url("http://given", tmp_path) as url:
        assert url == "http://given"
    with chain_url(None, None) as url:
        assert url == "http://of-the-environment"
