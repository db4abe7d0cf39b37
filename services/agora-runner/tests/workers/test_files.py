"""Files of a plan's folder over HTTP: kept under their hash, and read when a plan that names them is opened."""

import hashlib
from collections.abc import Iterable
from typing import Any, cast

import pytest
from playmolt_agora_runner.folder.source import FILE_BYTES, FILES_MOST
from playmolt_agora_runner.workers.files import PlanFiles
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_schemas.codes import Code


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Blobs:
    """Texts under their hash, in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    async def put(self, texts: Iterable[str]) -> list[str]:
        self.kept |= {sha256(text): text for text in texts}
        return list(self.kept)

    async def texts(self, hashes: Iterable[str]) -> dict[str, str]:
        return {named: self.kept[named] for named in hashes if named in self.kept}


@pytest.fixture
def blobs() -> Blobs:
    return Blobs()


@pytest.fixture
def files(blobs: Blobs) -> PlanFiles:
    return PlanFiles(cast("Any", blobs))


async def put(files: PlanFiles, text: Any, named: str) -> ApiReply | Refused:
    return await files.put(None, ApiRequest(route="agora_put_file", stream="", params={"sha256": named}, body=text))


@pytest.mark.parametrize("text", ["turns = 4\n", "", "목초지", "x" * FILE_BYTES])
async def test_a_text_is_kept_under_its_hash_also_when_it_is_there_already(
    files: PlanFiles, blobs: Blobs, text: str
) -> None:
    for named in (sha256(text), sha256(text).upper()):
        found = await put(files, text, named)
        assert isinstance(found, ApiReply)
        assert (found.status, found.body) == (204, b"")
    assert blobs.kept == {sha256(text): text}


@pytest.mark.parametrize(
    ("text", "named", "field"),
    [
        ("a", sha256("b"), "sha256"),
        ("a", "", "sha256"),
        ("a", f"{sha256('a')} ", "sha256"),
        ("x" * (FILE_BYTES + 1), sha256("x" * (FILE_BYTES + 1)), "body"),
        ("가" * (FILE_BYTES // 3 + 1), sha256("가" * (FILE_BYTES // 3 + 1)), "body"),
        ("a\0", sha256("a\0"), "body"),
        ({"a": 1}, sha256("a"), "body"),
        (None, sha256(""), "body"),
    ],
)
async def test_what_is_not_the_text_of_the_hash_is_refused_and_not_kept(
    files: PlanFiles, blobs: Blobs, text: Any, named: str, field: str
) -> None:
    found = await put(files, text, named)
    assert isinstance(found, Refused)
    assert (found.code, [fault.field for fault in found.errors]) == (Code.INVALID_REQUEST, [field])
    assert blobs.kept == {}


async def test_files_are_found_by_their_hashes(files: PlanFiles) -> None:
    await put(files, "turns = 4\n", sha256("turns = 4\n"))
    named = {"worlds/mine.toml": sha256("turns = 4\n")}
    assert await files.missing(named) is None
    assert await files.texts(named) == {"worlds/mine.toml": "turns = 4\n"}
    assert (await files.missing({}), await files.texts({})) == (None, {})


async def test_every_file_that_is_missing_or_no_hash_is_named(files: PlanFiles) -> None:
    await put(files, "a", sha256("a"))
    missing = {"worlds/a.toml": sha256("a"), "worlds/b.toml": sha256("b"), "texts/c.md": sha256("c")}
    found = await files.missing(missing)
    assert isinstance(found, Refused)
    assert [fault.field for fault in found.errors] == ["files.worlds/b.toml", "files.texts/c.md"]
    found = await files.missing({"worlds/a.toml": "a", "worlds/b.toml": 1})
    assert isinstance(found, Refused)
    assert [fault.field for fault in found.errors] == ["files.worlds/a.toml", "files.worlds/b.toml"]


async def test_too_many_files_are_refused(files: PlanFiles) -> None:
    many = {f"worlds/w{number}.toml": sha256("a") for number in range(FILES_MOST + 1)}
    found = await files.missing(many)
    assert isinstance(found, Refused)
    assert [fault.field for fault in found.errors] == ["files"]
