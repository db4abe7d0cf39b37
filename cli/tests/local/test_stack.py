"""Commands that need a platform, on a data folder where one runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from playmolt_cli.local.folder import Folder, Run
from playmolt_cli.local.stack import operator_platform
from playmolt_cli.terminal.failures import Failure
from playmolt_schemas.identifiers import ENGINES

RUN = Run(
    pid=1, ready=True, gateway="http://127.0.0.1:1", spectator="", database_url="", nats_url="", nats_user="",
    nats_password="", operator_key="operator", processes={},
    health={f"{service}-1": "" for service in ("relay", "gateway", *ENGINES)},
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path)
    folder.lock()
    yield folder
    folder.unlock()


def test_the_platform_of_the_folder_is_used(folder: Folder) -> None:
    folder.write_run(RUN)
    with operator_platform(None, None, folder.path, "", engine="agora-runner") as found:
        assert found == ("http://127.0.0.1:1", "operator")


def test_one_that_another_command_started_without_the_engine_is_refused(folder: Folder) -> None:
    folder.write_run(replace(RUN, health={"gateway-1": "", "agora-runner-1": ""}))
    with operator_platform(None, None, folder.path, "", engine="agora-runner") as found:
        assert found == ("http://127.0.0.1:1", "operator")
    with (
        pytest.raises(Failure, match="in use by a command that started only agora-runner"),
        operator_platform(None, None, folder.path, "", engine="trial-engine"),
    ):
        pass
