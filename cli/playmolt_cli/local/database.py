"""Where a command finds the log: a given URL, a running `up`, or a folder whose Postgres it starts for the time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playmolt_cli.local.embedded import Postgres
from playmolt_cli.local.folder import Folder
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import read_settings


@contextmanager
def database(data: Path | None) -> Iterator[str]:
    """The URL of the log's database.

    `data`, when given, wins over DATABASE_URL, and that over the default folder. Raises Failure when there is no log,
    FolderInUseError while another command has the folder's database.
    """
    settings = read_settings()
    if data is None and settings.database_url:
        yield settings.database_url
        return
    folder = Folder(data or settings.data)
    run = folder.run()
    if run is not None:
        yield run.database_url
        return
    if not folder.postgres.exists():
        raise Failure(
            f"there is no log in {folder.path}: start one with `playmolt up --data {folder.path}`, "
            "name another folder with --data, or set DATABASE_URL"
        )
    folder.lock()
    folder.remove_run()  # what a killed `up` left behind would send others to servers that are gone
    try:
        server = Postgres(folder.postgres)
        server.log = folder.log("postgres-1")
        with server:
            yield server.url
    finally:
        folder.unlock()
