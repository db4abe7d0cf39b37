"""Cases that people bring, as an engine takes them: offered, played, missed and found again."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import msgspec
from playmolt_core.db.content.packs import Offer, Offering
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_jury.api import OpeningBody
from playmolt_jury.content import pack
from playmolt_jury.content.cases import PackLibrary
from playmolt_jury.content.pack import Pack
from playmolt_jury.state import State
from playmolt_jury.workers.uploaded_cases import UploadedCases
from playmolt_schemas.canonical import Files, files_digest
from playmolt_schemas.codes import Code

from core.tests.waiting import wait_until


class MemoryPacks:
    """Packs in memory."""

    def __init__(self) -> None:
        self.lying: dict[str, Files] = {}
        self.offered: list[Offer] = []
        self.playing: dict[str, str] = {}
        self.missed: set[str] = set()
        self.sent = 0
        self.swept = asyncio.Semaphore(0)
        self.away = 0

    async def files(self, digest: str) -> Files | None:
        return self.lying.get(digest)

    async def offer(self, owner: str, case: str, digest: str, about: bytes) -> Offering:
        self.offered.append(Offer(owner, case, digest, about, datetime(2026, 1, 1, tzinfo=UTC)))
        return "new"

    async def offers(self, owner: str | None) -> list[Offer]:
        return [each for each in self.offered if owner is None or each.owner in ("", owner)]

    async def withdraw(self, owner: str | None, case: str) -> bool:
        before = len(self.offered)
        self.offered = [each for each in self.offered if (each.owner, each.id) != (owner or "", case)]
        return len(self.offered) < before

    async def play(self, stream: str, digest: str, files: Files | None = None) -> bool:
        if files is not None:
            self.lying[digest] = files
            self.sent += 1
        if digest in self.lying:
            self.playing[stream] = digest
        return digest in self.lying

    async def miss(self, digest: str) -> None:
        self.missed.add(digest)

    async def sweep(self, faulty: str = "") -> None:
        self.swept.release()
        if self.away > 0:
            self.away -= 1
            raise LogUnavailable("away")
        self.lying.pop(faulty, None)


class Uploaded:
    """An engine's cases over such a packs."""

    def __init__(self, packs: MemoryPacks | None = None) -> None:
        self.packs = packs or MemoryPacks()
        self.cases = PackLibrary(pack.shipped())
        self.uploaded = UploadedCases(self.cases, self.packs, poll_seconds=0.01)

    async def bring(self, files: Files, agent: str = "agent-1") -> ApiReply | Refused:
        digest = files_digest(files)
        self.packs.lying[digest] = files
        return await self.ask("jury_bring_case", {"digest": digest}, agent)

    async def ask(self, route: str, body: Any = None, agent: str = "agent-1", **params: str) -> ApiReply | Refused:
        request = ApiRequest(route=route, stream="", params=params, body=body, agent_id=agent, operator=not agent)
        return await self.uploaded.fetches()[route](None, request)

    async def opening(self, body: Any, agent: str = "agent-1") -> OpeningBody:
        request = ApiRequest(route="jury_open", stream="jury-1", body=body, agent_id=agent)
        completed = await self.uploaded.complete(request)
        assert isinstance(completed, OpeningBody)
        return completed


async def test_who_opens_a_session_may_name_its_own_cases_and_the_operators(ferry: Pack) -> None:
    uploaded = Uploaded()
    await uploaded.bring(ferry.files)
    other = Uploaded(uploaded.packs)
    opening = await other.opening({"language": "en", "case": "ferry"})
    assert [(each.id, each.digest, each.languages) for each in opening.uploaded] == [("ferry", ferry.digest, ("en",))]
    assert other.cases.of(ferry.digest) is not None, "it is in memory before rules ask"
    assert uploaded.packs.playing == {"jury-1": ferry.digest}
    assert (await other.opening({"language": "en", "case": "ferry"}, "agent-2")).uploaded == ()
    for odd in (None, [], {"case": 7}, {"case": "none"}):
        assert (await other.opening(odd)).body == odd


async def test_packs_are_swept_from_time_to_time_also_after_the_database_was_away() -> None:
    uploaded = Uploaded()
    uploaded.packs.away = 1
    tidying = asyncio.create_task(uploaded.uploaded.tidy(0.001))
    async with asyncio.timeout(30):
        for _ in range(3):
            await uploaded.packs.swept.acquire()
    tidying.cancel()


async def test_the_shipped_case_is_kept_as_it_was_when_a_session_opened_with_it() -> None:
    uploaded = Uploaded()
    await uploaded.opening({"language": "en"})
    await uploaded.opening({"language": "en"})
    assert uploaded.packs.playing == {"jury-1": pack.shipped().digest}
    assert uploaded.packs.sent == 1, "its files are sent once"


async def test_a_missing_pack_is_reported_and_found_when_it_is_back(ferry: Pack) -> None:
    uploaded, state = Uploaded(), State(game_id="jury-1", version=1, pack_digest=ferry.digest)
    await uploaded.uploaded.prepare(state)
    await uploaded.uploaded.prepare(state)
    assert uploaded.packs.missed == {ferry.digest}
    assert uploaded.cases.of(ferry.digest) is None
    uploaded.packs.lying[ferry.digest] = ferry.files
    await wait_until(lambda: uploaded.packs.playing == {"jury-1": ferry.digest})
    assert uploaded.cases.of(ferry.digest) is not None


async def test_what_cannot_be_read_any_more_is_missed_like_what_is_gone(ferry: Pack) -> None:
    uploaded = Uploaded()
    uploaded.packs.lying[ferry.digest] = {"pack.toml": b""}
    await uploaded.uploaded.prepare(State(game_id="jury-1", version=1, pack_digest=ferry.digest))
    assert uploaded.packs.missed == {ferry.digest}


async def test_a_session_that_is_not_open_needs_no_pack() -> None:
    uploaded = Uploaded()
    await uploaded.uploaded.prepare(State(game_id="jury-1"))
    assert not uploaded.packs.playing


async def test_an_id_of_the_platform_is_refused_at_its_line(ferry: Pack) -> None:
    uploaded = Uploaded()
    frame = ferry.files["pack.toml"].replace(b'"ferry"', f'"{pack.shipped().id}"'.encode())
    refused = await uploaded.bring({**ferry.files, "pack.toml": frame})
    assert isinstance(refused, Refused)
    told = msgspec.to_builtins(refused.errors)
    assert (refused.code, told[0]["field"], told[0]["line"]) == (Code.INVALID_FORM, "files.pack.toml", 3)
    assert not uploaded.packs.offered


async def test_the_list_tells_sizes_and_nothing_of_what_appears_in_the_files(ferry: Pack) -> None:
    uploaded = Uploaded()
    await uploaded.bring(ferry.files)
    listed = await uploaded.ask("jury_cases")
    assert isinstance(listed, ApiReply)
    rows = msgspec.to_builtins(listed.body)["cases"]
    assert [(row["id"], row["by"], row["shipped"]) for row in rows] == [
        (pack.shipped().id, None, True), ("ferry", "agent-1", False),
    ]  # fmt: skip
    sizes = {"jurors", "evidence", "witnesses", "endings"}
    assert set(rows[1]) == sizes | {"id", "title", "languages", "digest", "by", "created_at", "shipped"}
    assert isinstance(await uploaded.ask("jury_drop_case", agent="agent-2", case="ferry"), Refused)
    dropped = await uploaded.ask("jury_drop_case", case="ferry")
    assert isinstance(dropped, ApiReply)
    assert dropped.status == 204
