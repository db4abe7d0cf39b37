"""The worked example of docs/examples/commons: its plan, its files, and its runs in a test."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from playmolt_agora_runner.folder import reading as folder_reading
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.folder.source import Source
from playmolt_agora_runner.plan import reading
from playmolt_schemas.stored.agora.plan import Plan

COMMONS = Path(__file__).parents[4] / "docs" / "examples" / "commons"


@pytest.fixture(scope="session")
def commons() -> Path:
    return COMMONS


@pytest.fixture(scope="session")
def plan(commons: Path) -> Plan:
    found = reading.read((commons / "plan.yaml").read_text("utf-8"))
    assert isinstance(found, Plan)
    return found


@pytest.fixture(scope="session")
def folder(plan: Plan, commons: Path) -> PlanFolder:
    files = {path.relative_to(commons).as_posix(): path.read_text("utf-8") for path in commons.glob("*/*.*")}
    return folder_reading.read(plan, Source(files))


@pytest.fixture
def changed(plan: Plan, folder: PlanFolder) -> Callable[[str, str, str], PlanFolder]:
    """Read the example with a part of one of its files replaced."""

    def read(path: str, old: str, new: str) -> PlanFolder:
        text = folder.texts[path]
        assert old in text
        files: Mapping[str, str] = {**folder.texts, path: text.replace(old, new, 1)}
        return folder_reading.read(plan, Source(files))

    return read
