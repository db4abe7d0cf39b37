"""A later release with further migrations, to test a rollout, a rollback and an upgrade."""

import shutil
from importlib.resources import files
from pathlib import Path

PRE = ["0901_pre_note.sql", "0902_pre_find_note.sql"]
POST = ["0903_post_note.sql"]
_SAMPLES = Path(__file__).parent / "sample_migrations"


def later_release(folder: Path) -> Path:
    """Fill a folder with the current migrations and those of the later release."""
    shutil.copytree(str(files("playmolt_core.db").joinpath("sql", "migrations")), folder)
    shutil.copytree(_SAMPLES, folder, dirs_exist_ok=True)
    return folder
