"""The page a user follows to add a model says what the code does."""

import re
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from playmolt_core.llm.catalogue import ModelEntry, load
from playmolt_core.llm.limits import LEASE_SECONDS, MAX_WAIT_SECONDS
from playmolt_core.llm.openai.connection import RETRY_AFTER_SECONDS
from playmolt_core.llm.openai.model import RETRY_SECONDS
from playmolt_core.llm.port import REPLY_BYTES

PAGE = (Path(__file__).parents[3] / "docs" / "models.md").read_text("utf-8")


def test_the_example_is_a_catalogue(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert example
    file = tmp_path / "models.toml"
    file.write_text(example[1], "utf-8")
    assert load(str(file), {"HOSTED_KEY": "k"}).aliases == ("scripted", "local", "cluster", "hosted")


def test_every_field_has_its_row_with_its_default() -> None:
    rows = {
        name: row[1].strip()
        for row in (line.strip("| ").split("|") for line in PAGE.splitlines() if line.startswith("| `"))
        for name in re.findall(r"`(\w+)`", row[0])
    }
    fields = {field.name: field for field in msgspec.structs.fields(ModelEntry) if field.name != "alias"}
    assert set(fields) <= set(rows)
    for name, field in fields.items():
        if isinstance(field.default, int | Decimal):
            assert rows[name] == str(field.default).lower()
        assert (rows[name] == "required") == field.required


@pytest.mark.parametrize(
    "promise",
    [
        f"after `Retry-After` (at most {RETRY_AFTER_SECONDS:.0f} s)",
        "0.5, 1 and 2 s" if RETRY_SECONDS == (0.5, 1.0, 2.0) else "other waits",
        f"over {REPLY_BYTES // 1024} KiB",
        f"comes back after\n{LEASE_SECONDS:.0f} seconds",
        "within two minutes" if MAX_WAIT_SECONDS == 120 else "in another time",
    ],
)
def test_numbers_on_the_page_are_those_of_the_code(promise: str) -> None:
    assert promise in PAGE
