"""The worked example of docs/examples/commons: its plan and its files."""

from pathlib import Path

import pytest
from playmolt_agora_runner.folder import reading as folder_reading
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.folder.source import Source
from playmolt_agora_runner.plan import reading
from playmolt_schemas.stored.agora.plan import Plan

COMMONS = Path(__file__).parents[3] / "docs" / "examples" / "commons"


@pytest.fixture(scope="session")
def plan() -> Plan:
    found = reading.read((COMMONS / "plan.yaml").read_text("utf-8"))
    assert isinstance(found, Plan)
    return found


@pytest.fixture(scope="session")
def folder(plan: Plan) -> PlanFolder:
    files = {path.relative_to(COMMONS).as_posix(): path.read_text("utf-8") for path in COMMONS.glob("*/*.*")}
    return folder_reading.read(plan, Source(files))
