"""Writes Inspect's log files with `inspect_ai`, which takes seconds to import."""

import tempfile
import warnings
import zipfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from playmolt_cli.inspect.sample import LogContent
from playmolt_cli.terminal.failures import Failure

_DISTRIBUTION: Final = "inspect_ai"


def need_inspect() -> None:
    """Raise Failure if `inspect_ai` is not installed, without importing it."""
    if find_spec(_DISTRIBUTION) is None:
        raise Failure("Logs of Inspect need inspect-ai. Install playmolt-cli[inspect].")


def write(content: LogContent, folder: Path) -> Path:
    """Write a log into a folder, in place of an earlier export; returns its path.

    The same log of the platform gives the same bytes.
    """
    path = folder / content.file_name()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".inspect-", dir=folder) as name:
        written, settled = Path(name) / "written.eval", Path(name) / "settled.eval"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its own dependencies
            log = import_module("inspect_ai.log")
            log.write_eval_log(log.EvalLog.model_validate(content.document()), str(written), format="eval")
        _settle(written, settled, content)
        settled.replace(path)
    return path


def _settle(written: Path, settled: Path, content: LogContent) -> None:
    """Copy a log with the time of the platform's log on its members, not that of the export."""
    at = content.created.timetuple()[:6]
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(settled, "w") as target:
        for member in source.infolist():
            entry = zipfile.ZipInfo(member.filename, (max(at[0], 1980), *at[1:]))
            entry.compress_type = member.compress_type
            target.writestr(entry, source.read(member))
