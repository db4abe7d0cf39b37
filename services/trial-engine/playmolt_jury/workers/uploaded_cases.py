"""Uploaded cases: checks them, offers them, and loads them into memory before the rules need them."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec
from playmolt_core.db.content.packs import OPERATOR, Offer, Offering
from playmolt_core.engine.reads.api_queries import Fetch
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.game.packs.faults import InvalidPack, PackFault
from playmolt_core.ops.telemetry import log
from playmolt_schemas.canonical import Files
from playmolt_schemas.codes import Code
from playmolt_schemas.games.jury import CaseAdded, CaseFault, CasesView, CaseView
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.limits import CASES_PER_KEY

from playmolt_jury.api import BRING_CASE, CASES, DROP_CASE, OpeningBody
from playmolt_jury.commands import NamedCase
from playmolt_jury.content import pack
from playmolt_jury.content.cases import PackLibrary
from playmolt_jury.content.pack import Pack
from playmolt_jury.state import State

_log = log("brought_cases")
_POLL_SECONDS: Final = 15.0
_BY_OPERATOR: Final = "operator"
_about_of = msgspec.json.Decoder(CaseView).decode


class PackStore(Protocol):
    """The packs in Postgres; see `PgPacks`."""

    async def files(self, digest: str) -> Files | None: ...

    async def offer(self, owner: str, case: str, digest: str, about: bytes) -> Offering: ...

    async def offers(self, owner: str | None) -> Sequence[Offer]: ...

    async def withdraw(self, owner: str | None, case: str) -> bool: ...

    async def play(self, stream: str, digest: str, files: Files | None = None) -> bool: ...

    async def miss(self, digest: str) -> None: ...

    async def sweep(self, faulty: str = "") -> None: ...


class UploadedCases:
    """Serves the routes for cases, and loads the packs of sessions into memory.

    Every method raises LogUnavailable.
    """

    def __init__(self, cases: PackLibrary, packs: PackStore, *, poll_seconds: float = _POLL_SECONDS) -> None:
        self._poll_seconds = poll_seconds
        self._cases = cases
        self._packs = packs
        self._missed: dict[str, asyncio.Task[None]] = {}
        self._checking = asyncio.Semaphore(1)
        """A check is slow; one at a time leaves processor time for other sessions."""

    def fetches(self) -> Mapping[str, Fetch]:
        return {CASES: self._list, BRING_CASE: self._bring, DROP_CASE: self._drop}

    async def complete(self, request: ApiRequest) -> object | Refused:
        """The body of a request that opens a session, and the cases that its caller may name. Loads the pack that the
        body names, and stores it for the session."""
        offers = {offer.id: offer for offer in await self._packs.offers(request.agent_id)}
        for each in self._cases.offered():
            offers.pop(each.id, None)
        case = request.body.get("case") if isinstance(request.body, dict) else None
        case = case if isinstance(case, str) else ""
        played = await self._loaded(offers[case].digest) if case in offers else self._cases.named(case)
        if played is not None and request.stream:
            await self._play(request.stream, played)
        uploaded = tuple(
            NamedCase(id=offer.id, digest=offer.digest, languages=_about_of(offer.about).languages)
            for offer in offers.values()
        )
        return OpeningBody(body=request.body, uploaded=uploaded)

    async def usable(self, owner: str | None, case: str) -> Pack | None:
        """The case that an agent may name, or the operator (None); loaded into memory. None if there is none."""
        known = self._cases.named(case)
        if known is not None:
            return known
        offers = {offer.id: offer for offer in await self._packs.offers(owner)}
        return await self._loaded(offers[case].digest) if case in offers else None

    async def use(self, stream: str, digest: str) -> None:
        """Loads a pack for a session that will be opened, and stores it for as long as the session names it."""
        found = await self._loaded(digest)
        if found is not None:
            await self._play(stream, found)

    async def prepare(self, state: State) -> None:
        """Loads the pack of a session into memory. A missing pack is reported in the log and by /readyz; the session
        waits while it is polled for."""
        if not state.pack_digest:
            return
        found = await self._loaded(state.pack_digest)
        if found is None:
            await self._miss(state)
        else:
            await self._play(state.game_id, found)

    async def tidy(self, every: float) -> None:
        """Deletes unused packs periodically: an erased session leaves its pack behind, and months may pass without an
        upload or a deletion."""
        while True:
            await asyncio.sleep(every)
            try:
                await self._packs.sweep()
            except ConnectionError as error:
                _log.warning("sweep_waits", detail=str(error)[:300])

    async def _play(self, stream: str, found: Pack) -> None:
        """Stores a pack for a session; sends its files if Postgres does not have them, as for packs of folders."""
        if not await self._packs.play(stream, found.digest):
            await self._packs.play(stream, found.digest, found.files)

    async def _loaded(self, digest: str) -> Pack | None:
        known = self._cases.of(digest)
        files = await self._packs.files(digest) if known is None else None
        if files is None:
            return known
        try:
            # Checked at the upload; not checked again.
            found = await asyncio.to_thread(pack.assembled, files)
        except (LookupError, TypeError, ValueError) as error:
            _log.exception("pack_unreadable", digest=digest, error=type(error).__name__)
            return None
        self._cases.keep(found)
        return found

    async def _miss(self, state: State) -> None:
        _log.error("pack_missing", stream=state.game_id, digest=state.pack_digest)
        await self._packs.miss(state.pack_digest)
        if state.pack_digest not in self._missed:
            self._missed[state.pack_digest] = asyncio.create_task(self._poll(state.pack_digest, state.game_id))

    async def _poll(self, digest: str, stream: str) -> None:
        while True:
            await asyncio.sleep(self._poll_seconds)
            try:
                found = await self._loaded(digest)
                if found is not None:
                    await self._play(stream, found)
                    break
            except ConnectionError:
                continue
        del self._missed[digest]

    async def _list(self, _: object, request: ApiRequest) -> ApiReply | Refused:
        own = [self._view(each) for each in self._cases.offered()]
        taken = {each.id for each in own}
        offers = await self._packs.offers(None if request.operator else request.agent_id)
        uploaded = [
            msgspec.structs.replace(_about_of(each.about), by=each.owner or _BY_OPERATOR, created_at=rfc3339(each.at))
            for each in offers
            if each.id not in taken
        ]
        return ApiReply(CasesView((*own, *uploaded)))

    def _view(self, each: Pack) -> CaseView:
        shipped = each is self._cases.shipped
        return msgspec.structs.replace(_view(each), by=None if shipped else _BY_OPERATOR, shipped=shipped)

    async def _bring(self, _: object, request: ApiRequest) -> ApiReply | Refused:
        """Checks the files that the gateway stored, and offers the case."""
        await self._packs.sweep()
        digest = request.body["digest"]
        files = await self._packs.files(digest)
        if files is None:
            return Refused(Code.UNAVAILABLE, "The uploaded files have expired. Upload them again.")
        try:
            async with self._checking:
                found = await asyncio.to_thread(pack.read, files)
        except InvalidPack as error:
            await self._packs.sweep(digest)
            return _faulty(error.faults)
        return await self._offered(found, OPERATOR if request.operator else request.agent_id)

    async def _offered(self, found: Pack, owner: str) -> ApiReply | Refused:
        reserved = self._cases.named(found.id)
        if reserved is not None:
            said: Offering = "same" if reserved.digest == found.digest else "taken"
        else:
            said = await self._packs.offer(owner, found.id, found.digest, msgspec.json.encode(_view(found)))
        if said in ("taken", "full"):
            await self._packs.sweep(found.digest)
        if said == "taken":
            return _faulty((await asyncio.to_thread(pack.taken, found.files),))
        if said == "full":
            detail = f"A key may upload {CASES_PER_KEY} cases. Delete one, then retry."
            return Refused(Code.RATE_LIMITED, detail)
        languages = tuple(found.materials)
        body = CaseAdded(id=found.id, title=found.title, digest=found.digest, languages=languages)
        return ApiReply(body, 201 if said == "new" else 200)

    async def _drop(self, _: object, request: ApiRequest) -> ApiReply | Refused:
        owner = None if request.operator else request.agent_id
        if not await self._packs.withdraw(owner, request.params["case"]):
            return Refused(Code.NOT_FOUND, "You have not uploaded this case. List the cases with GET /api/jury/cases.")
        await self._packs.sweep()
        return ApiReply(b"", 204)


def _view(each: Pack) -> CaseView:
    shared = each.structure
    return CaseView(
        id=each.id, title=each.title, languages=tuple(each.materials), jurors=len(shared.jurors),
        evidence=len(shared.evidence), witnesses=len(shared.witnesses), endings=len(shared.endings),
        digest=each.digest, by=None, created_at=None, shipped=False,
    )  # fmt: skip


def _faulty(faults: Sequence[PackFault]) -> Refused:
    listed = "; ".join(map(str, faults[:5]))
    errors = tuple(CaseFault(f"files.{each.file}", each.message, line=each.line, code=each.code) for each in faults)
    return Refused(Code.INVALID_FORM, f"Fix the files and retry: {listed}.", errors)
