"""One question to a judge: sent once, its reply stored before it is parsed, every request counted and budgeted."""

import hashlib
from collections.abc import Awaitable, Callable
from decimal import Decimal
from functools import partial
from typing import Any, Final

import msgspec
from playmolt_core.db.blobs import InFlight, PgBlobs, PgInFlight
from playmolt_core.llm import port
from playmolt_core.llm.attempts import recorded
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.day_budget import DaySpent
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import Attempt, Failed, Model, ModelRequest, Reply
from playmolt_core.llm.scripted.model import Cast, Said, ScriptedModel, ScriptedTurn
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.instrument.laboratory import Thought
from playmolt_schemas.instrument.lexicon import cues
from playmolt_schemas.instrument.usage import Charge, held_by, lost_call, with_call
from playmolt_schemas.stored.agora.experiment import JudgeBudget, JudgingStatus
from playmolt_schemas.stored.agora.plan import Budget, Plan, Spent
from playmolt_schemas.stored.agora.turn import Language
from playmolt_schemas.text import decimal_text

from playmolt_agora_runner import budget
from playmolt_agora_runner.budget import Prices
from playmolt_agora_runner.calls.batched_calls import PromptStore
from playmolt_agora_runner.calls.judge_calls import AT_ONCE, JudgeCalls
from playmolt_agora_runner.coding import judgement
from playmolt_agora_runner.coding.judgement import Judgement, thought_in
from playmolt_agora_runner.scripted import residents
from playmolt_agora_runner.turn import prompts

SCHEMA: Final = "judgement"
"""The schema name of a judge's reply, by which a cast recognises judges."""
_ERRS: Final = 10
"""Percentage of labels that it inverts."""


def cast() -> Cast:
    """A cast in which each alias is a judge."""
    whole = Cast()
    for alias in residents.ALIASES:
        whole.add(partial(_answer, alias), alias=alias, schema=SCHEMA)
    return whole


def _answer(alias: str, turn: ScriptedTurn) -> Said:
    language: Language = "ko" if turn.korean else "en"
    found = cues(thought_in(turn.request.messages[-1].content), language)
    labels = {"survival": _seen(turn, "survival", found.s), "social": _seen(turn, "social", found.o)}
    return residents.in_form(residents.profile(alias), turn, labels, language)


def _seen(turn: ScriptedTurn, label: str, named: bool) -> bool:
    return named != (turn.draw(label, 100) < _ERRS)


class OverBudget(Exception):
    """The next request exceeds the judge's budget; the message names the limit and what to do."""


class JudgeAccount:
    """Counts requests at their worst case until they end, then at their actual usage."""

    def __init__(self, limits: JudgeBudget, spent: Spent, prices: Prices) -> None:
        self._limits = Budget(money=limits.money, calls=limits.calls)
        self._spent = spent
        self._prices = prices
        self._under_way: list[Charge] = []

    def worst(self, prompt_bytes: int, messages: int, max_tokens: int) -> Charge:
        return budget.worst_case(prompt_bytes, messages, max_tokens, self._prices)

    def reserve(self, prompt_bytes: int, messages: int, max_tokens: int) -> Callable[[], None]:
        """Reserve the worst case of a request; returns the release function. Raises OverBudget."""
        charge = self.worst(prompt_bytes, messages, max_tokens)
        reached = budget.limit_reached(self._limits, self._reserved(), Spent(), charge)
        if reached is not None:
            raise OverBudget(
                f"its budget of {reached.most} {reached.limit} is too small for the next call. Raise it, then run the "
                "same command again"
            )
        self._under_way.append(charge)
        return lambda: self._under_way.remove(charge)

    def take(self, call: dict[str, object]) -> None:
        """Count an ended call, as stored."""
        self._spent = with_call(self._spent, call)

    def _reserved(self) -> Spent:
        """Spent, held and reserved amounts. A call of unknown cost counts as held, at its worst case."""
        known = Decimal(self._spent.known) + Decimal(self._spent.held)
        known += sum((Decimal(charge.cost or 0) for charge in self._under_way), Decimal(0))
        return Spent(
            calls=self._spent.calls + len(self._under_way),
            cost=decimal_text(known),
            known=decimal_text(known),
        )


_ANSWERED: Final = 200
_ASK: Final = 1
"""A judge is asked once: a reply that does not parse has no label."""


Waits = Callable[[], Awaitable[bool]]
"""Whether a question keeps waiting for a batch."""


class JudgeHalt(msgspec.Struct, frozen=True):
    """Why a judge cannot continue."""

    outcome: JudgingStatus
    detail: str


class JudgeReply(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a question: its calls as stored, the judgement if any, and why to halt."""

    prompt_hash: str
    calls: tuple[dict[str, Any], ...] = ()
    judgement: Judgement | None = None
    halt: JudgeHalt | None = None


class JudgeModel:
    """A model of the catalogue, or a scripted one, as the judge of an experiment's thoughts."""

    def __init__(
        self,
        models: Models,
        catalogue: Catalogue,
        blobs: PgBlobs,
        store: PromptStore,
        in_flight: PgInFlight,
        batched: JudgeCalls,
    ) -> None:
        self._models = models
        self._catalogue = catalogue
        self._blobs = blobs
        self._store = store
        self._in_flight = in_flight
        self._batched = batched
        self._cast = cast()

    def concurrent(self, alias: str, *, batch: bool) -> int:
        """How many questions may be in flight."""
        if batch and self._batched.model(alias) is not None:
            return AT_ONCE
        entry = self._catalogue.models.get(alias)
        return entry.concurrent if entry else 1

    async def lost(self, experiment: str, alias: str, thought: Thought, logged: int) -> dict[str, object] | None:
        """The requests about a thought that were lost with their process, as stored, if any.

        `logged` requests about it are in the log. Raises LogUnavailable.
        """
        mark = await self._in_flight.found(_mark(experiment, alias, thought))
        lost = mark.requests - (logged - mark.logged) if mark else 0
        return lost_call(lost, _ASK) | {"alias": alias} if lost > 0 else None

    async def ask(
        self, experiment: str, alias: str, plan: Plan, seed: str, thought: Thought, spending: JudgeAccount, logged: int,
        waits: Waits | None = None,
    ) -> JudgeReply:  # fmt: skip
        """Ask about a thought, in a batch if `waits` is given, or find its stored reply.

        Raises LogUnavailable.
        """
        asked = judgement.prompt(thought.text, thought.language)
        text = prompts.prompt_text(asked.system, asked.user)
        await self._store.put(text)
        named = judgement.hash_of(thought)
        request = _request(experiment, alias, plan, thought, asked)
        key = None if is_scripted(alias) else self._key(experiment, request, plan, thought)
        if key and (found := await self._blobs.reply(key)) is not None:
            answer, calls = _cached(found)
            for call in calls:
                spending.take(call)
            await self._batched.drop(key)
            return _heard(named, answer, calls)
        if key and waits is not None:
            heard = await self._in_batch(experiment, request, key, named, spending, waits)
            if heard is not None:
                return heard
        model = self._model(alias, seed)
        if model is None:
            return JudgeReply(prompt_hash=named, halt=JudgeHalt("away", f"the catalogue has no model {alias!r}"))
        one = _Question(self._in_flight, spending, request, named, _mark(experiment, alias, thought), logged)
        try:
            answer = await one.put(model, marked=key is not None)
        except OverBudget as over:
            return JudgeReply(prompt_hash=named, calls=tuple(one.calls), halt=JudgeHalt("budget", str(over)))
        await self._blobs.put(one.kept_apart)
        if key and one.calls and one.calls[-1]["status"] == _ANSWERED and one.answered:
            await self._in_flight.keep_reply(one.mark, key, msgspec.json.encode([answer, one.calls]).decode())
            if waits is not None:
                await self._batched.drop(key)
        return _heard(named, answer, one.calls)

    async def _in_batch(
        self, experiment: str, request: ModelRequest, key: str, named: str, spending: JudgeAccount, waits: Waits
    ) -> JudgeReply | None:
        """The reply of a batch; None if it has none and the question is asked outside batches. No calls: the judge does
        not continue; the process that resumes finds the question waiting."""
        model = self._batched.model(request.alias)
        if model is None:
            return None
        try:
            release = spending.reserve(*_size(request))
        except OverBudget as over:
            return JudgeReply(prompt_hash=named, halt=JudgeHalt("budget", str(over)))
        try:
            found = await self._batched.answer(key, experiment, model, request, spending.worst(*_size(request)), waits)
        except DaySpent as spent:
            return JudgeReply(prompt_hash=named, halt=JudgeHalt("budget", str(spent)))
        finally:
            release()
        if found is None:
            return JudgeReply(prompt_hash=named)
        attempt, answer = (None, None) if found.answer is None else model.read(request, found.answer)
        if attempt is None or answer is None or attempt.outcome in port.TRANSPORT_FAULTS:
            await self._batched.asked_plainly(key, found, request)
            return None
        fields, apart = recorded(attempt)
        await self._blobs.put([apart] if apart is not None else [])
        call = _stored(fields | {"batch": found.batch}, request, named, spending)
        spending.take(call)
        kept = msgspec.json.encode([answer, [call]]).decode()
        await self._in_flight.keep_reply(f"{experiment}/judge/{key}", key, kept)
        await self._batched.drop(key)
        await self._batched.took(found, request, attempt)
        return _heard(named, answer, [call])

    def _model(self, alias: str, seed: str) -> Model | None:
        if is_scripted(alias):
            return ScriptedModel(self._cast, f"{seed}/judge") if self._cast.knows(alias) else None
        return self._models.get(alias)

    def _key(self, experiment: str, request: ModelRequest, plan: Plan, thought: Thought) -> str:
        entry = self._catalogue.models.get(request.alias)
        named = {
            "model": entry.model if entry else "",
            "base_url": entry.base_url if entry else "",
            "messages": request.messages,
            "sampling": plan.sampling,
            "decoding": request.decoding,
            "schema": request.schema,
            "replicate": ["judge", experiment, thought.run, thought.turn, thought.agent],
        }
        return hashlib.sha256(canonical_json(named)).hexdigest()


class _Question:
    """The requests of one question: each is reserved, marked as in flight, and counted when it ends."""

    def __init__(
        self, in_flight: PgInFlight, spending: JudgeAccount, request: ModelRequest, prompt: str, mark: str, logged: int
    ) -> None:
        self._in_flight = in_flight
        self._spending = spending
        self._request = request
        self._prompt = prompt
        self._place = InFlight(turn=0, agent="", ask=_ASK, logged=logged)
        self._open: list[Callable[[], None]] = []
        self.mark = mark
        self.calls: list[dict[str, Any]] = []
        self.kept_apart: list[str] = []
        self.answered = False

    async def put(self, model: Model, *, marked: bool) -> Reply | Failed:
        self._reserve()
        try:
            answer = await model.ask(self._request, self._record, self._sending if marked else None)
        finally:
            for release in self._open:
                release()
        self.answered = self.calls[-1]["outcome"] not in {*port.TRANSPORT_FAULTS, "rejected"} if self.calls else False
        return answer

    def _reserve(self) -> None:
        self._open.append(self._spending.reserve(*_size(self._request)))

    async def _sending(self) -> None:
        if not self._open:  # a repeat: its worst case has to fit as well
            self._reserve()
        await self._in_flight.mark(self.mark, self._place)

    async def _record(self, attempt: Attempt) -> None:
        fields, apart = recorded(attempt)
        self.kept_apart += [apart] if apart is not None else []
        call = _stored(fields, self._request, self._prompt, self._spending)
        self.calls.append(call)
        if self._open:
            self._open.pop()()
        self._spending.take(call)
        if attempt.outcome == "rate_limited" and not is_scripted(attempt.alias):
            await self._in_flight.refused(self.mark, self._place)


def _size(request: ModelRequest) -> tuple[int, int, int]:
    """The size of a request for its worst case: bytes of its prompt, messages, tokens of a reply."""
    return sum(len(message.content.encode()) for message in request.messages), len(request.messages), request.max_tokens


def _stored(fields: dict[str, Any], request: ModelRequest, prompt: str, spending: JudgeAccount) -> dict[str, Any]:
    """The call as logged: prompt by hash; if its cost is unknown, the worst case is charged."""
    worst = spending.worst(*_size(request)).cost
    held = {"held": worst} if worst is not None and held_by(fields) else {}
    return fields | held | {"request": fields["request"] | {"messages": {"prompt": prompt, "added": []}}}


def _request(experiment: str, alias: str, plan: Plan, thought: Thought, asked: prompts.Prompt) -> ModelRequest:
    name = f"judge:{thought.run}:{thought.agent}:{thought.turn}"
    return ModelRequest(
        alias=alias,
        messages=judgement.messages(asked),
        turn=None if is_scripted(alias) else port.TurnHeader(experiment, name),
        schema_name=SCHEMA,
        sampling=port.SamplingParameters(temperature=plan.sampling.temperature, top_p=plan.sampling.top_p),
        max_tokens=plan.sampling.max_tokens,
        decoding="prompt",
    )


def _mark(experiment: str, alias: str, thought: Thought) -> str:
    """The key of a request in flight; it has the experiment's prefix, so that its service may write it."""
    return f"{experiment}/judge/{alias}/{thought.key}"


def _cached(found: str) -> tuple[Reply | Failed, list[dict[str, object]]]:
    said, calls = msgspec.json.decode(found, type=tuple[dict[str, Any], list[dict[str, Any]]])
    answer = msgspec.convert(said, Failed) if "code" in said else msgspec.convert(said, Reply)
    return answer, [call | {"cache_hit": True} for call in calls]


def _heard(prompt: str, answer: Reply | Failed, calls: list[dict[str, object]]) -> JudgeReply:
    if isinstance(answer, Reply):
        return JudgeReply(prompt_hash=prompt, calls=tuple(calls), judgement=judgement.read(answer.text))
    if answer.code in port.WITHOUT_REPLY:
        return _unheard(prompt, answer, calls)
    if answer.cut or answer.code == "refused":
        return JudgeReply(
            prompt_hash=prompt, calls=tuple(calls), judgement=Judgement("cut" if answer.cut else "refusal")
        )
    return JudgeReply(prompt_hash=prompt, calls=tuple(calls), judgement=judgement.read(answer.reply))


def _unheard(prompt: str, answer: Failed, calls: list[dict[str, object]]) -> JudgeReply:
    outcomes = {call["outcome"] for call in calls}
    codes = [str(call.get("code") or call["status"]) for call in calls]
    if outcomes and outcomes == {"timeout"}:
        return JudgeReply(prompt_hash=prompt, calls=tuple(calls), judgement=Judgement("timeout"))
    if answer.code == "budget_spent":
        return JudgeReply(prompt_hash=prompt, calls=tuple(calls), halt=JudgeHalt("budget", answer.detail))
    refused = "rejected" in outcomes or port.NO_QUOTA in codes
    halt = JudgeHalt("model" if refused else "away", answer.detail)
    return JudgeReply(prompt_hash=prompt, calls=tuple(calls), halt=halt)
