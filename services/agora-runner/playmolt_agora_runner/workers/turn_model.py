"""Ask a model for one agent's turn, or a question aside, a second time if the reply is unusable, within the budget.

Texts of the plan's folder come from the blob store (agora.md, Turn).
"""

import hashlib
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from playmolt_core.db.blobs import InFlight, PgBlobs, PgInFlight, PromptStore
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
from playmolt_agora_runner.calls.batched_calls import BatchedCalls
from playmolt_agora_runner.calls.experiment_status import Status
from playmolt_agora_runner.run.effects import AgentInterview
from playmolt_agora_runner.scripted import interviewees, visitors
from playmolt_agora_runner.turn import interview, prompts, reply_parser
from playmolt_agora_runner.turn.interview import InterviewReply
from playmolt_agora_runner.turn.prompts import Prompt
from playmolt_agora_runner.turn.reply_parser import Parsed, StoredCall, TurnReply
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
    attempts: tuple[StoredCall, ...] = ()


class LostCalls(msgspec.Struct, frozen=True):
    """Requests of a turn's question that were lost when their process ended."""

    calls: int
    ask: int


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is asked. `turn` and `place` name it in marks of calls in flight, `replicate` in keys of replies.

    `cast` answers for scripted models; `marks` are added to the calls as stored.
    """

    request: ModelRequest
    prompt: str
    turn: int
    place: str
    replicate: tuple[object, ...]
    cast: Cast
    marks: dict[str, str] = {}


class _Answer(msgspec.Struct, frozen=True):
    answer: Reply | Failed
    attempts: tuple[StoredCall, ...]
    cached: bool

    @property
    def said(self) -> str:
        return self.answer.text if isinstance(self.answer, Reply) else self.answer.reply


class _Outcome(msgspec.Struct, frozen=True):
    """How a question ended, as parsers take it."""

    text: str
    refused: bool = False
    timed_out: bool = False
    cut: bool = False


P = TypeVar("P")


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

    async def lost(self, spec: RunSpec, turn: int, place: str, limits: Budget, logged: int) -> LostCalls | None:
        """The calls of a question that went down with their process; what was reserved for them is given back.

        `logged` requests of the question are in the log. None where no request was on its way: a run that was held,
        waited or was between two turns has lost nothing. Raises LogUnavailable.
        """
        mark = await self._in_flight.found(spec.run)
        if mark is None or (mark.turn, mark.agent) != (turn, place):
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
        question = Question(
            request=_request(
                spec, scene, prompt, f"{scene.turn}:{scene.agent}", "turn", reply_parser.reply_schema(scene)
            ),
            prompt=await self._keep_prompt(prompt),
            turn=scene.turn,
            place=scene.agent,
            replicate=(spec.run, scene.turn, scene.agent),
            cast=self._cast if scene.own is None else visitors.cast(self._cast, _alias(spec, scene), scene),
        )
        found = await self._ladder(
            spec,
            question,
            limits,
            logged,
            lambda said, reask: reply_parser.read(
                said.text, scene, refused=said.refused, timed_out=said.timed_out, cut=said.cut, reask=reask
            ),
            lambda parsed: reply_parser.reask_message(parsed, spec.language) if parsed.code in _ASKED_AGAIN else None,
        )
        if isinstance(found, Halt):
            return found
        asked, parsed, attempts = found
        return _turn_reply(question.request.alias, asked, parsed, attempts, question.prompt, lost)

    async def interview(
        self, due: AgentInterview, scene: Scene, limits: Budget, logged: int = 0
    ) -> InterviewReply | Halt:
        """Ask a question aside; `logged` calls of it are in the log. Raises LogUnavailable."""
        spec, asked_about = due.spec, due.interview
        scene = await self._room_texts.dressed(spec, scene)
        prompt, name = interview.render(scene, asked_about), f"interview:{due.turn}:{due.agent}:{asked_about.id}"
        schema = interview.answer_schema(asked_about, spec.language)
        question = Question(
            request=_request(spec, scene, prompt, name, interview.SCHEMA, schema),
            prompt=await self._keep_prompt(prompt),
            turn=due.turn,
            place=due.place,
            replicate=(spec.run, due.turn, due.agent, "interview", asked_about.id),
            cast=interviewees.cast(self._cast, _alias(spec, scene), asked_about, spec.language),
            marks={"interview": asked_about.id},
        )
        found = await self._ladder(
            spec,
            question,
            limits,
            logged,
            lambda said, reask: interview.read(
                said.text,
                asked_about,
                spec.language,
                refused=said.refused,
                timed_out=said.timed_out,
                cut=said.cut,
                reask=reask,
            ),
            lambda answer: (
                interview.reask_message(answer, asked_about, spec.language) if answer.code in _ASKED_AGAIN else None
            ),
        )
        if isinstance(found, Halt):
            return found
        asked, answer, attempts = found
        tokens, cost = _tokens(attempts), _spent(attempts).cost
        return InterviewReply(
            answer=answer,
            raw_reply=asked.said,
            prompt_hash=question.prompt,
            usage={
                "prompt_tokens": tokens.prompt,
                "completion_tokens": tokens.completion,
                "cached_tokens": tokens.cached,
                "reasoning_tokens": tokens.reasoning,
            },
            cost=cost,
            attempts=tuple(attempts),
        )

    async def _keep_prompt(self, prompt: Prompt) -> str:
        kept = prompts.prompt_text(prompt.system, prompt.user)
        await self._store.put(kept)
        return hashlib.sha256(kept.encode()).hexdigest()

    async def _ladder(
        self,
        spec: RunSpec,
        question: Question,
        limits: Budget,
        logged: int,
        read: Callable[[_Outcome, bool], P],
        demand: Callable[[P], str | None],
    ) -> tuple[_Answer, P, list[StoredCall]] | Halt:
        """Ask, and again while `demand` says what is wrong, as often as the plan allows; the calls come last."""
        attempts: list[StoredCall] = []
        questions = 0

        async def ask(request: ModelRequest) -> _Answer | Halt:
            nonlocal questions
            questions += 1
            place = InFlight(turn=question.turn, agent=question.place, ask=questions, logged=logged)
            asked = await self._ask(spec, msgspec.structs.replace(question, request=request), limits, place)
            attempts.extend(() if isinstance(asked, Halt) else asked.attempts)
            return asked

        def parsed(asked: _Answer | Halt) -> tuple[_Answer, P] | Halt:
            if isinstance(asked, Halt):
                return asked
            said = _outcome(asked)
            return said if isinstance(said, Halt) else (asked, read(said, questions > 1))

        def again(outcome: tuple[_Answer, P] | Halt) -> ModelRequest | None:
            demanded = None if isinstance(outcome, Halt) else demand(outcome[1])
            if isinstance(outcome, Halt) or demanded is None:
                return None
            return asked_again(question.request, outcome[0].said, demanded)

        outcome = await driven(repairing(await ask(question.request), parsed, again, spec.reask), ask)
        return outcome if isinstance(outcome, Halt) else (*outcome, attempts)

    async def _ask(self, spec: RunSpec, question: Question, limits: Budget, place: InFlight) -> _Answer | Halt:
        request = question.request
        key = None if is_scripted(request.alias) else self._key(spec, question, place.ask)
        known = await self._known(spec, question, limits, key) if key else None
        if known is not None:
            return known
        model = self._model(spec, question)
        if model is None:
            return Halt(code="model_away", detail=f"the catalogue has no model {request.alias!r}")
        size = sum(len(message.content.encode()) for message in request.messages)
        reserved = await self._reservations.reserve(spec, limits, request.alias, size)
        if isinstance(reserved, LimitReached):
            return _over(reserved)
        attempts: list[StoredCall] = []
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
            attempts.append(_stored(fields | held, question))
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

    async def _keep(self, spec: RunSpec, key: str, answer: Reply | Failed, attempts: list[StoredCall]) -> None:
        await self._in_flight.keep_reply(spec.run, key, msgspec.json.encode([answer, attempts]).decode())
        if self._batched is not None:
            await self._batched.drop(key)

    async def _known(self, spec: RunSpec, question: Question, limits: Budget, key: str) -> _Answer | Halt | None:
        """The reply that was kept, or what a batch answers; None where the question is to be asked plainly."""
        if (found := await self._blobs.reply(key)) is not None:
            return _cached(found)
        model = await self._batched.model(spec.experiment, question.request.alias) if self._batched else None
        if self._batched is None or model is None:
            return None
        return await self._in_batch(self._batched, model, spec, question, limits, key)

    async def _in_batch(
        self,
        batched: BatchedCalls,
        model: "OpenAIModel",
        spec: RunSpec,
        question: Question,
        limits: Budget,
        key: str,
    ) -> _Answer | Halt | None:
        """What a batch answered; None where it did not, and the question is to be asked plainly.

        It has no in-flight marker: a batch outlives the process that waits for it.
        """
        request = question.request
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
        attempts = [_stored(fields | worst | {"batch": call.batch}, question)]
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
        attempts: list[StoredCall],
        *,
        marked: bool,
    ) -> None:
        if marked:
            await self._in_flight.settled(spec.run)
        await self._reservations.settle(spec, limits, reserved, calls, attempts)

    def _model(self, spec: RunSpec, question: Question) -> Model | None:
        alias = question.request.alias
        if is_scripted(alias):
            return ScriptedModel(question.cast, f"{spec.seed}/{spec.cell}") if self._cast.knows(alias) else None
        return self._models.get(alias)

    def _key(self, spec: RunSpec, question: Question, ask: int) -> str:
        """Name a request with its replicate, so that equal prompts of two replicates are two calls.

        `ask` is its place in the ladder, not how often it was tried: a reply that came once is found ever after.
        """
        request = question.request
        entry = self._catalogue.models.get(request.alias)
        named = {
            "model": entry.model if entry else "",
            "base_url": entry.base_url if entry else "",
            "messages": request.messages,
            "sampling": spec.sampling,
            "decoding": spec.decoding,
            "schema": request.schema,
            "replicate": [*question.replicate, ask],
        }
        return hashlib.sha256(canonical_json(named)).hexdigest()


def _alias(spec: RunSpec, scene: Scene) -> str:
    return next(seat.model for seat in spec.seats if seat.agent == scene.agent)


def _request(
    spec: RunSpec, scene: Scene, prompt: Prompt, name: str, schema_name: str, schema: Mapping[str, object]
) -> ModelRequest:
    alias = _alias(spec, scene)
    return ModelRequest(
        alias=alias,
        messages=(ChatMessage("system", prompt.system), ChatMessage("user", prompt.user)),
        turn=None if is_scripted(alias) else port.TurnHeader(spec.run, name),
        schema_name=schema_name,
        schema=None if spec.decoding == "prompt" else schema,
        sampling=port.SamplingParameters(temperature=spec.sampling.temperature, top_p=spec.sampling.top_p),
        max_tokens=spec.sampling.max_tokens,
        decoding=spec.decoding,
        patient=True,
    )


def _stored(attempt: StoredCall, question: Question) -> StoredCall:
    """An attempt as logged: prompt by hash, additions in the record."""
    # Of the request, not of the body: there a demand may be one message with the prompt.
    added = msgspec.to_builtins(question.request.messages[2:])
    request = attempt["request"] | {"messages": {"prompt": question.prompt, "added": added}}
    return {**attempt, "request": request, **question.marks}


def _over(reached: LimitReached, attempts: Sequence[StoredCall] = ()) -> Halt:
    return Halt(code="budget", detail=reached.detail, reached=reached, attempts=tuple(attempts))


def _cached(found: str) -> _Answer:
    said, attempts = msgspec.json.decode(found, type=tuple[StoredCall, list[StoredCall]])
    answer = msgspec.convert(said, Failed) if "code" in said else msgspec.convert(said, Reply)
    return _Answer(answer, tuple(attempt | {"cache_hit": True} for attempt in attempts), cached=True)


def _outcome(asked: _Answer) -> _Outcome | Halt:
    answer = asked.answer
    if isinstance(answer, Reply):
        return _Outcome(answer.text)
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
    return _Outcome(
        answer.reply,
        refused=answer.code == "refused",
        timed_out=answer.code == "model_unavailable" and not written,
        cut=answer.cut,
    )


def _turn_reply(
    alias: str, asked: _Answer, parsed: Parsed, attempts: list[StoredCall], digest: str, lost: int
) -> TurnReply:
    last = attempts[-1]
    return TurnReply(
        parsed=parsed,
        raw_reply=asked.said,
        prompt_hash=digest,
        model_asked=last.get("model_asked", alias),
        model_answered=last.get("model_answered"),
        attempt=lost + sum(is_call(attempt) for attempt in attempts),
        tokens=_tokens(attempts),
        cost=_spent(attempts).cost,
        latency_ms=sum(attempt["latency_ms"] for attempt in attempts),
        cache_hit=asked.cached,
        attempts=tuple(attempts),
    )


def _tokens(attempts: Sequence[StoredCall]) -> Tokens:
    usages = [attempt["usage"] for attempt in attempts if attempt["usage"]]
    return Tokens(
        sum(usage["prompt_tokens"] or 0 for usage in usages),
        sum(usage["completion_tokens"] or 0 for usage in usages),
        sum(usage.get("cached_tokens") or 0 for usage in usages),
        sum(usage.get("reasoning_tokens") or 0 for usage in usages),
    )


def _spent(attempts: Sequence[StoredCall]) -> Spent:
    spent = Spent()
    for attempt in attempts:
        spent = with_call(spent, attempt)
    return spent
