"""The data folder has one user at a time and keeps its secrets."""

import fcntl
import re
import sys
import time
from pathlib import Path

import pytest
from playmolt_cli.local.embedded import child
from playmolt_cli.local.folder import Folder, FolderInUseError, Run
from playmolt_jury.chain import EMBEDDED_DEPLOYER_KEY

RUN = Run(
    pid=1, ready=True, gateway="http://127.0.0.1:1", spectator="http://127.0.0.1:2", database_url="postgresql://x",
    nats_url="nats://x", nats_user="admin", nats_password="p", operator_key="k", processes={"nats": 3}, health={},
)  # fmt: skip


def test_a_folder_has_one_user_at_a_time(tmp_path: Path) -> None:
    first, second = Folder(tmp_path / "data"), Folder(tmp_path / "data")
    first.lock()
    assert second.locked()
    with pytest.raises(FolderInUseError, match="--data"):
        second.lock()
    first.unlock()
    assert not second.locked()
    second.lock()
    second.unlock()


def test_a_look_at_the_lock_of_a_folder_keeps_no_user_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(tmp_path)
    with (tmp_path / "lock").open("a") as first, (tmp_path / "lock").open("a") as second:
        for look in (first, second):
            fcntl.flock(look, fcntl.LOCK_SH | fcntl.LOCK_NB)
        assert not folder.locked()
        monkeypatch.setattr(time, "sleep", lambda _: [look.close() for look in (first, second)])
        folder.lock()
    folder.unlock()


def test_what_a_killed_run_left_behind_is_not_a_run(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.lock()
    folder.write_run(RUN)
    assert Folder(tmp_path).run() == RUN
    folder.unlock()
    assert Folder(tmp_path).run() is None


def test_secrets_are_made_once_and_readable_by_their_owner_alone(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    key, passwords = folder.operator_key(), folder.passwords(["gateway", "relay"])
    folder.write_run(RUN)
    again = Folder(tmp_path)
    assert again.operator_key() == key
    assert len(key) > 40
    assert again.passwords(["gateway", "relay", "admin"]).items() >= passwords.items()
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert {path.name for path in files} >= {"operator-key", "nats-users.json", "run.json"}
    assert [path.name for path in files if path.stat().st_mode & 0o077 and path.name != "lock"] == []


def test_a_folder_is_its_owners_alone(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "data")
    folder.lock()
    assert folder.path.stat().st_mode & 0o777 == 0o700
    folder.unlock()
    folder.path.chmod(0o755)  # as an `up` of before left it
    folder.lock()
    assert folder.path.stat().st_mode & 0o777 == 0o700
    folder.unlock()


def test_a_childs_log_is_its_owners_alone(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "child.log"
    for _ in range(2):
        child.spawn([sys.executable, "-c", "print('said')"], log=log).wait(60)
        assert log.stat().st_mode & 0o777 == 0o600
        log.chmod(0o644)
    assert log.read_text() == "said\nsaid\n"


def test_each_folders_chain_has_a_key_of_its_own(tmp_path: Path) -> None:
    one, two = (Folder(tmp_path / name) for name in ("one", "two"))
    for folder in (one, two):
        folder.make()
        assert re.fullmatch(r"0x[0-9a-f]{64}", folder.chain_key())
        assert (folder.path / "chain-key").stat().st_mode & 0o777 == 0o600
    assert len({one.chain_key(), two.chain_key(), EMBEDDED_DEPLOYER_KEY}) == 3
    assert Folder(one.path).chain_key() == one.chain_key()
