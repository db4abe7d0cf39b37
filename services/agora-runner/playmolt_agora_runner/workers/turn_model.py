"""Ask a model for one agent's turn, a second time if the reply is not an act, within the budget (agora.md, Turn).

Texts of the plan's folder come from the blob store.
"""

import hashlib
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import msgspec
from playmolt_core.db.blobs import InFlight, PgBlobs, PgInFlight
from playmolt_core.llm import port
from playmolt_core.llm.attempts import recorded
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.conversation import asked_again, driven, repairing
from playmolt_core.llm.day_budget import DaySpent
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import TRANSPORT_FAULTS, Attempt, ChatMessage, Failed, Model, ModelRequest, Reply
from playmolt_core.llm.scripted.model import Cast, ScriptedModel
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.instrument.usage import Charge, held_by, is_call, with_call
from playmolt_schemas.stored.agora.plan import Budget, Spent
from playmolt_schemas.stored.agora.run import PauseCode
from playmolt_schemas.stored.agora.turn import RunSpec, Tokens

from playmolt_agora_runner.budget import LimitReached
from playmolt_agora_runner.calls.batched_calls import BatchedCalls, PromptStore
from playmolt_agora_runner.calls.experiment_status import Status
from playmolt_agora_runner.scripted import visitors
from playmolt_agora_runner.turn import prompts, reply_parser
from playmolt_agora_runner.turn.prompts import Prompt
from playmolt_agora_runner.turn.reply_parser import Parsed, TurnReply
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.workers.budget_reservations import BudgetReservations

if TYPE_CHECKING:
    from playmolt_core.llm.openai.model import OpenAIModel
from collections import OrderedDict
from collections.abc import Mapping

from playmolt_agora_runner.folder.personas import dressed

_KEPT: Final = 200


class MissingText(LookupError):
    """A locked text is not in the blob store."""


class RoomTextLoader:
    """Adds to scenes the texts that they name; texts are cached, up to a bound."""

    def __init__(self, blobs: PgBlobs) -> None:
        self._blobs = blobs
        self._known: OrderedDict[str, str] = OrderedDict()

    async def dressed(self, spec: RunSpec, scene: Scene) -> Scene:
        """The scene with its persona's text, its shell and its template. Raises LogUnavailable and MissingText."""
        files = spec.files or {}
        if not files:
            return scene
        texts = await self._texts(files)
        return dressed(scene, texts)

    async def _texts(self, files: Mapping[str, str]) -> dict[str, str]:
        missing = [named for named in files.values() if named not in self._known]
        if missing:
            self._known.update(await self._blobs.texts(missing))
        try:
            found = {path: self._known[named] for path, named in files.items()}
        except KeyError as error:
            raise MissingText(f"the text with the hash {error} is missing from the blob store") from None
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return found


_ASKED_AGAIN: Final = frozenset(("parse_error", "invalid_action"))
_ANSWERED: Final = 200
_NO_ACCESS: Final = frozenset(("401", "402", "403", "404", port.NO_QUOTA))
"""Statuses that reject the key, the account or the model, whatever the request."""
_REPEATED: Final = TRANSPORT_FAULTS | {"rejected"}
"""Outcomes after which the model's client may retry once; the retry must fit into the budget too."""


class Halt(msgspec.Struct, frozen=True, kw_only=True):
    """Why a run cannot continue. `reached` is the budget limit; `rejected` that a server refuses
    what `alias` is asked, with `status`; `limited` that it was over its limit each time.

    `attempts` are the calls that came to nothing on the way, as they are stored.
    """

    code: PauseCode
    detail: str
    reached: LimitReached | None = None
    rejected: bool = False
    no_access: bool = False
    limited: bool = False
    alias: str | None = None
    status: int | None = None
    attempts: tuple[dict[str, Any], ...] = ()


class LostCalls(msgspec.Struct, frozen=True):
    """Requests of a turn's question that were lost when their process ended."""

    calls: int
    ask: int


class _Answer(msgspec.Struct, frozen=True):
    answer: Reply | Failed
    attempts: tuple[dict[str, Any], ...]
    cached: bool

    @property
    def said(self) -> str:
        return self.answer.text if isinstance(self.answer, Reply) else self.answer.reply


class _OverBudget(Exception):
    """The repeat of a call does not fit into the budget."""

    def __init__(self, reached: LimitReached) -> None:
        super().__init__(reached.detail)
        self.reached = reached


class TurnModel:
    """Asks models. Scripted ones depend only on the run's seed and the prompt, so that a plan is reproducible."""

    def __init__(
        self,
        models: Models,
        cast: Cast,
        catalogue: Catalogue,
        blobs: PgBlobs,
        store: PromptStore,
        reservations: BudgetReservations,
        in_flight: PgInFlight,
        batched: BatchedCalls | None = None,
    ) -> None:
        self._models = models
        self._cast = cast
        self._catalogue = catalogue
        self._blobs = blobs
        self._store = store
        self._reservations = reservations
        self._in_flight = in_flight
        self._batched = batched
        self._room_texts = RoomTextLoader(blobs)

    async def lost(self, spec: RunSpec, turn: int, agent: str, limits: Budget, logged: int) -> LostCalls | None:
        """The calls of a turn that went down with their process; what was reserved for them is given back.

        `logged` requests of the turn are in the log. None where no request was on its way: a run that was held, waited
        or was between two turns has lost nothing. Raises LogUnavailable.
        """
        mark = await self._in_flight.found(spec.run)
        if mark is None or (mark.turn, mark.agent) != (turn, agent):
            return None
        lost = mark.requests - (logged - mark.logged)
        if lost <= 0:
            return None
        await self._in_flight.settled(spec.run)
        await self._reservations.give_back(spec, limits, mark.tokens, mark.money)
        return LostCalls(calls=lost, ask=mark.ask)

    async def turn(
        self, spec: RunSpec, scene: Scene, limits: Budget, lost: int = 0, logged: int = 0
    ) -> TurnReply | Halt:
        """Ask for one turn; `lost` calls of it went before, `logged` of it are in the log. Raises LogUnavailable."""
        scene = await self._room_texts.dressed(spec, scene)
        prompt = prompts.render(scene)
        kept = prompts.prompt_text(prompt.system, prompt.user)
        await self._store.put(kept)
        digest = hashlib.sha256(kept.encode()).hexdigest()
        first = _request(spec, scene, prompt)
        attempts: list[dict[str, object]] = []
        questions = 0

        async def ask(request: ModelRequest) -> _Answer | Halt:
            nonlocal questions
            questions += 1
            place = InFlight(turn=scene.turn, agent=scene.agent, ask=questions, logged=logged)
            asked = await self._ask(spec, request, digest, limits, scene, place)
            attempts.extend(() if isinstance(asked, Halt) else asked.attempts)
            return asked

        def read(asked: _Answer | Halt) -> tuple[_Answer, Parsed] | Halt:
            if isinstance(asked, Halt):
                return asked
            parsed = _parsed(asked, scene, reask=questions > 1)
            return parsed if isinstance(parsed, Halt) else (asked, parsed)

        def again(outcome: tuple[_Answer, Parsed] | Halt) -> ModelRequest | None:
            if isinstance(outcome, Halt) or outcome[1].code not in _ASKED_AGAIN:
                return None
            return asked_again(first, outcome[0].said, reply_parser.reask_message(outcome[1], spec.language))

        outcome = await driven(repairing(await ask(first), read, again, spec.reask), ask)
        return outcome if isinstance(outcome, Halt) else _turn_reply(first.alias, *outcome, attempts, digest, lost)

    async def _ask(
        self, spec: RunSpec, request: ModelRequest, digest: str, limits: Budget, scene: Scene, place: InFlight
    ) -> _Answer | Halt:
        key = None if is_scripted(request.alias) else self._key(spec, request, scene, place.ask)
        known = await self._known(spec, request, digest, limits, key) if key else None
        if known is not None:
            return known
        model = self._model(spec, request.alias, scene)
        if model is None:
            return Halt(code="model_away", detail=f"the catalogue has no model {request.alias!r}")
        size = sum(len(message.content.encode()) for message in request.messages)
        reserved = await self._reservations.reserve(spec, limits, request.alias, size)
        if isinstance(reserved, LimitReached):
            return _over(reserved)
        attempts: list[dict[str, object]] = []
        calls = 1
        marked = msgspec.structs.replace(place, tokens=reserved.tokens, money=Decimal(reserved.cost or 0))

        async def sending() -> None:
            await self._in_flight.mark(spec.run, marked)

        async def record(attempt: Attempt) -> None:
            nonlocal calls
            fields, kept_apart = recorded(attempt)
            if kept_apart is not None:
                await self._blobs.put([kept_apart])
            held = {"held": reserved.cost} if reserved.cost is not None and held_by(fields) else {}
            attempts.append(_stored(fields | held, digest, request))
            if attempt.outcome == "rate_limited":
                await self._in_flight.refused(spec.run, marked)  # it took nothing: what was reserved is for the next
            elif attempt.outcome in _REPEATED:
                again = await self._reservations.reserve(spec, limits, request.alias, size)
                if isinstance(again, LimitReached):
                    raise _OverBudget(again)
                calls += 1

        try:
            answer = await model.ask(request, record, sending if key else None)
        except _OverBudget as over:
            await self._settle(spec, limits, reserved, calls, attempts, marked=key is not None)
            return _over(over.reached, attempts)
        # Not in a `finally`: a cancelled call is lost, and settled by the process that finds its marker.
        if key and attempts and attempts[-1]["status"] == _ANSWERED and attempts[-1]["outcome"] not in _REPEATED:
            # Before it is parsed or logged, and whatever it says: who asks this again finds it.
            await self._keep(spec, key, answer, attempts)
        await self._settle(spec, limits, reserved, calls, attempts, marked=key is not None)
        return _Answer(answer, tuple(attempts), cached=False)

    async def _keep(self, spec: RunSpec, key: str, answer: Reply | Failed, attempts: list[dict[str, object]]) -> None:
        await self._in_flight.keep_reply(spec.run, key, msgspec.json.encode([answer, attempts]).decode())
        if self._batched is not None:
            await self._batched.drop(key)

    async def _known(
        self, spec: RunSpec, request: ModelRequest, digest: str, limits: Budget, key: str
    ) -> _Answer | Halt | None:
        """The reply that was kept, or what a batch answers; None where the question is to be asked plainly."""
        if (found := await self._blobs.reply(key)) is not None:
            return _cached(found)
        model = await self._batched.model(spec.experiment, request.alias) if self._batched else None
        if self._batched is None or model is None:
            return None
        return await self._in_batch(self._batched, model, spec, request, digest, limits, key)

    async def _in_batch(
        self,
        batched: BatchedCalls,
        model: "OpenAIModel",
        spec: RunSpec,
        request: ModelRequest,
        digest: str,
        limits: Budget,
        key: str,
    ) -> _Answer | Halt | None:
        """What a batch answered; None where it did not, and the question is to be asked plainly.

        It has no in-flight marker: a batch outlives the process that waits for it.
        """
        if not await batched.known(key):
            size = sum(len(message.content.encode()) for message in request.messages)
            reserved = await self._reservations.reserve(spec, limits, request.alias, size)
            if isinstance(reserved, LimitReached):
                return _over(reserved)
            try:
                await batched.put(key, spec.experiment, model, request, reserved)
            except DaySpent as spent:
                await self._reservations.settle(spec, limits, reserved, 1, [])
                return Halt(code="model_away", detail=str(spent))
        call = await batched.answer(key, spec.experiment)
        if isinstance(call, Status):
            return Halt(code=call.halted or "stopped", detail=call.detail)
        held = Charge(tokens=call.tokens, cost=format(call.money, "f"))
        attempt, answer = (None, None) if call.answer is None else model.read(request, call.answer)
        if attempt is None or answer is None or attempt.outcome in _REPEATED:
            await batched.asked_plainly(key, call, request)
            if call.tokens:
                await self._reservations.settle(spec, limits, held, 1, [])
            return None
        fields, kept_apart = recorded(attempt)
        if kept_apart is not None:
            await self._blobs.put([kept_apart])
        worst = {"held": held.cost} if held_by(fields) else {}
        attempts = [_stored(fields | worst | {"batch": call.batch}, digest, request)]
        await self._keep(spec, key, answer, attempts)
        await self._reservations.settle(spec, limits, held, 1, attempts)
        await batched.took(call, request, attempt)
        return _Answer(answer, tuple(attempts), cached=False)

    async def _settle(
        self,
        spec: RunSpec,
        limits: Budget,
        reserved: Charge,
        calls: int,
        attempts: list[dict[str, object]],
        *,
        marked: bool,
    ) -> None:
        if marked:
            await self._in_flight.settled(spec.run)
        await self._reservations.settle(spec, limits, reserved, calls, attempts)

    def _model(self, spec: RunSpec, alias: str, scene: Scene) -> Model | None:
        if is_scripted(alias):
            cast = self._cast if scene.own is None else visitors.cast(self._cast, alias, scene)
            return ScriptedModel(cast, f"{spec.seed}/{spec.cell}") if self._cast.knows(alias) else None
        return self._models.get(alias)

    def _key(self, spec: RunSpec, request: ModelRequest, scene: Scene, ask: int) -> str:
        """Name a request with its replicate, so that equal prompts of two replicates are two calls.

        `ask` is its place in the ladder, not how often it was tried: a reply that came once is found ever after.
        """
        entry = self._catalogue.models.get(request.alias)
        named = {
            "model": entry.model if entry else "",
            "base_url": entry.base_url if entry else "",
            "messages": request.messages,
            "sampling": spec.sampling,
            "decoding": spec.decoding,
            "schema": request.schema,
            "replicate": [spec.run, scene.turn, scene.agent, ask],
        }
        return hashlib.sha256(canonical_json(named)).hexdigest()


def _request(spec: RunSpec, scene: Scene, prompt: Prompt) -> ModelRequest:
    alias = next(seat.model for seat in spec.seats if seat.agent == scene.agent)
    turn = None if is_scripted(alias) else port.TurnHeader(spec.run, f"{scene.turn}:{scene.agent}")
    return ModelRequest(
        alias=alias,
        messages=(ChatMessage("system", prompt.system), ChatMessage("user", prompt.user)),
        turn=turn,
        schema_name="turn",
        schema=None if spec.decoding == "prompt" else reply_parser.reply_schema(scene),
        sampling=port.SamplingParameters(temperature=spec.sampling.temperature, top_p=spec.sampling.top_p),
        max_tokens=spec.sampling.max_tokens,
        decoding=spec.decoding,
        patient=True,
    )


def _stored(attempt: dict[str, Any], digest: str, request: ModelRequest) -> dict[str, Any]:
    """An attempt as logged: prompt by hash, additions in the record."""
    # Of the request, not of the body: there a demand may be one message with the prompt.
    added = msgspec.to_builtins(request.messages[2:])
    return attempt | {"request": attempt["request"] | {"messages": {"prompt": digest, "added": added}}}


def _over(reached: LimitReached, attempts: Sequence[dict[str, object]] = ()) -> Halt:
    return Halt(code="budget", detail=reached.detail, reached=reached, attempts=tuple(attempts))


def _cached(found: str) -> _Answer:
    said, attempts = msgspec.json.decode(found, type=tuple[dict[str, Any], list[dict[str, Any]]])
    answer = msgspec.convert(said, Failed) if "code" in said else msgspec.convert(said, Reply)
    return _Answer(answer, tuple(attempt | {"cache_hit": True} for attempt in attempts), cached=True)


def _parsed(asked: _Answer, scene: Scene, *, reask: bool) -> Parsed | Halt:
    answer = asked.answer
    if isinstance(answer, Reply):
        return reply_parser.read(answer.text, scene, reask=reask)
    outcomes = [attempt["outcome"] for attempt in asked.attempts]
    codes = [str(attempt.get("code") or attempt["status"]) for attempt in asked.attempts]
    if answer.code == "model_unavailable" and ("rejected" in outcomes or port.NO_QUOTA in codes):
        return Halt(
            code="stopped",
            detail=answer.detail,
            rejected=True,
            no_access=codes[-1] in _NO_ACCESS,
            alias=asked.attempts[-1]["alias"],
            status=int(codes[-1]) if codes[-1].isdecimal() else asked.attempts[-1]["status"],
            attempts=asked.attempts,
        )
    written = port.REPLY_UNREAD in codes  # paid for, and the same question would be answered like this again
    if answer.code in port.WITHOUT_REPLY and set(outcomes) != {"timeout"} and not written:
        limited = set(outcomes) == {"rate_limited"}
        alias = asked.attempts[-1]["alias"] if limited else None
        return Halt(code="model_away", detail=answer.detail, limited=limited, alias=alias, attempts=asked.attempts)
    return reply_parser.read(
        answer.reply,
        scene,
        refused=answer.code == "refused",
        timed_out=answer.code == "model_unavailable" and not written,
        cut=answer.cut,
        reask=reask,
    )


def _turn_reply(
    alias: str, asked: _Answer, parsed: Parsed, attempts: list[dict[str, Any]], digest: str, lost: int
) -> TurnReply:
    usages = [attempt["usage"] for attempt in attempts if attempt["usage"]]
    spent = Spent()
    for attempt in attempts:
        spent = with_call(spent, attempt)
    last = attempts[-1]
    return TurnReply(
        parsed=parsed,
        raw_reply=asked.said,
        prompt_hash=digest,
        model_asked=last.get("model_asked", alias),
        model_answered=last.get("model_answered"),
        attempt=lost + sum(is_call(attempt) for attempt in attempts),
        tokens=Tokens(
            sum(usage["prompt_tokens"] or 0 for usage in usages),
            sum(usage["completion_tokens"] or 0 for usage in usages),
            sum(usage.get("cached_tokens") or 0 for usage in usages),
            sum(usage.get("reasoning_tokens") or 0 for usage in usages),
        ),
        cost=spent.cost,
        latency_ms=sum(attempt["latency_ms"] for attempt in attempts),
        cache_hit=asked.cached,
        attempts=tuple(attempts),
    )
