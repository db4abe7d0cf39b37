"""A folder whose files are changed by one command at a time."""

from pathlib import Path

import pytest
from playmolt_core.ops.folder_lock import locked


def test_a_folder_that_is_held_for_long_is_given_up(tmp_path: Path) -> None:
    with locked(tmp_path):
        with (
            pytest.raises(TimeoutError, match="another command is changing its files") as given_up,
            locked(tmp_path, seconds=0),
        ):
            pass
        assert given_up.value.filename == str(tmp_path)
    with locked(tmp_path, seconds=0):
        pass
