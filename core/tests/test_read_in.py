"""Overridden internals of libraries were read in one version: with another they have to be read again."""

import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from playmolt_core.bus import nats_client
from playmolt_core.ops import http_protocol

ROOT = Path(__file__).parents[2]
OVERRIDES = {"nats-py": nats_client, "uvicorn": http_protocol}
_CLIENT = re.compile(r"^class \w+\(Client\):", re.MULTILINE)
_SERVER = re.compile(r"^class \w+\((?:HttpToolsProtocol|uvicorn\.Server)\):", re.MULTILINE)


@pytest.mark.parametrize("library", OVERRIDES)
def test_the_installed_version_is_the_one_that_was_read(library: str) -> None:
    module = OVERRIDES[library]
    assert version(library) == module.READ_IN, (
        f"{module.__file__} overrides private methods of {library} {module.READ_IN}: "
        "compare them with the new version, then change READ_IN"
    )


def _sources() -> Iterator[tuple[Path, str]]:
    for folder in ("core", "services", "lab", "cli"):
        for path in ROOT.glob(f"{folder}/**/playmolt_*/**/*.py"):
            yield path, path.read_text("utf-8")


def test_each_library_is_overridden_in_one_file() -> None:
    found = {
        "nats-py": [str(path) for path, text in _sources() if "nats.aio" in text and _CLIENT.search(text)],
        "uvicorn": [str(path) for path, text in _sources() if _SERVER.search(text)],
    }
    assert found == {library: [module.__file__] for library, module in OVERRIDES.items()}
