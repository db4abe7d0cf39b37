"""Finds the log's database: DATABASE_URL, a running `up`, or a data folder whose Postgres is started temporarily."""

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

    `data` takes precedence over DATABASE_URL, which takes precedence over the default folder. Raises Failure if there
    is no log, FolderInUseError while another command uses the folder's database.
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
            f"No log in {folder.path}. Start one with `playmolt up --data {folder.path}`, "
            "choose another folder with --data, or set DATABASE_URL."
        )
    folder.lock()
    folder.remove_run()  # a run.json left by a killed `up` would point others to servers that no longer run
    try:
        server = Postgres(folder.postgres)
        server.log = folder.log("postgres-1")
        with server:
            yield server.url
    finally:
        folder.unlock()
