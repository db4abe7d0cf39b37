"""Files of a plan's folder over HTTP: kept under their hash, and read when a plan that names them is opened."""

import asyncio
import hashlib
from collections.abc import Iterable
from typing import Any, cast

import pytest
from playmolt_agora.experiment.api import LoadedPlan
from playmolt_agora.folder.source import FILE_BYTES, FILES_MOST
from playmolt_agora.workers.files import PlanFiles
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_schemas.codes import Code

PLAN = {"name": "n"}


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


async def opened(files: PlanFiles, body: Any) -> Any:
    return await files.complete(ApiRequest(route="agora_open", stream="", body=body))


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


async def test_a_plan_is_opened_with_the_texts_in_place_of_their_hashes(files: PlanFiles) -> None:
    await put(files, "turns = 4\n", sha256("turns = 4\n"))
    body = {"plan": PLAN, "files": {"worlds/mine.toml": sha256("turns = 4\n")}}
    assert await opened(files, body) == LoadedPlan(PLAN, {"worlds/mine.toml": "turns = 4\n"})


@pytest.mark.parametrize("body", [PLAN, "name: n", {"plan": PLAN}, {"plan": PLAN, "files": {}}])
async def test_a_plan_without_files_is_left_as_it_is(files: PlanFiles, body: Any) -> None:
    assert await opened(files, body) == body


async def test_every_file_that_is_missing_or_no_hash_is_named(files: PlanFiles) -> None:
    await put(files, "a", sha256("a"))
    missing = {"worlds/a.toml": sha256("a"), "worlds/b.toml": sha256("b"), "texts/c.md": sha256("c")}
    found = await opened(files, {"plan": PLAN, "files": missing})
    assert isinstance(found, Refused)
    assert [fault.field for fault in found.errors] == ["files.worlds/b.toml", "files.texts/c.md"]
    found = await opened(files, {"plan": PLAN, "files": {"worlds/a.toml": "a", "worlds/b.toml": 1}})
    assert isinstance(found, Refused)
    assert [fault.field for fault in found.errors] == ["files.worlds/a.toml", "files.worlds/b.toml"]


async def test_too_many_files_are_refused(files: PlanFiles) -> None:
    many = {f"worlds/w{number}.toml": sha256("a") for number in range(FILES_MOST + 1)}
    found = await opened(files, {"plan": PLAN, "files": many})
    assert isinstance(found, Refused)
    assert [fault.field for fault in found.errors] == ["files"]


MEASURE = """KEYS = ("run",)
COLUMNS = {"run": "str"}
LABELS = {}


def measure(turns):
    %s
"""
MEASURED = {
    "name": "tried", "seed": "1", "models": ["scripted-steady"], "languages": ["en"],
    "phases": {"phase1": {"runs": 1, "turns": 2}},
}  # fmt: skip


async def measured(files: PlanFiles, *bodies: str, plan: Any = MEASURED) -> LoadedPlan:
    texts = {f"measures/m{number}.py": MEASURE % body for number, body in enumerate(bodies)}
    for text in texts.values():
        await put(files, text, sha256(text))
    found = await opened(files, {"plan": plan, "files": {path: sha256(text) for path, text in texts.items()}})
    assert isinstance(found, LoadedPlan), found
    return found


async def test_every_measure_is_tried_before_a_plan_is_opened(files: PlanFiles) -> None:
    found = await measured(
        files, 'return turns.select("run").unique()', 'raise ValueError("at once")', 'open("x", "w")'
    )
    assert [(fault.file, fault.code) for fault in found.trial_faults] == [
        ("measures/m1.py", "measure_failed"), ("measures/m2.py", "measure_forbidden"),
    ]  # fmt: skip
    assert "at once" in found.trial_faults[0].message


async def test_a_plan_that_uses_no_measure_or_cannot_be_read_tries_none(files: PlanFiles) -> None:
    for plan in (MEASURED | {"measures": []}, PLAN, "name: [", None):
        assert (await measured(files, 'raise ValueError("at once")', plan=plan)).trial_faults == ()


async def test_a_repeated_call_meets_the_trial_that_runs(files: PlanFiles) -> None:
    started = asyncio.get_running_loop().time()
    one, other = await asyncio.gather(*(measured(files, 'raise ValueError("at once")') for _ in range(2)))
    first = asyncio.get_running_loop().time() - started
    assert one.trial_faults == other.trial_faults != ()
    again = asyncio.get_running_loop().time()
    assert (await measured(files, 'raise ValueError("at once")')).trial_faults == one.trial_faults
    assert asyncio.get_running_loop().time() - again < first / 2


async def test_a_trial_that_takes_too_long_refuses_the_plan(blobs: Blobs) -> None:
    found = await measured(PlanFiles(cast("Any", blobs), trial_seconds=0.01), 'raise ValueError("at once")')
    assert [fault.code for fault in found.trial_faults] == ["measure_timeout"]
