"""Ask a model for one agent's turn, or a question aside, a second time if the reply is unusable, within the budget."""

from collections.abc import Callable
from functools import partial
from typing import Final, Generic, TypeVar

import msgspec
from playmolt_core.db.blobs import PgBlobs, PromptStore
from playmolt_core.db.ledger import InFlight
from playmolt_core.llm import port
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.conversation import asked_again
from playmolt_core.llm.durable_call import (
    AccountExhausted,
    Answer,
    BatchPlace,
    DurableCalls,
    NoAnswer,
    Question,
    StoredCall,
)
from playmolt_core.llm.port import Failed, ModelRequest, TurnHeader
from playmolt_core.llm.scripted.model import Character
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.instrument.usage import is_call, with_call
from playmolt_schemas.stored.agora.plan import Budget, Spent, StopKind
from playmolt_schemas.stored.agora.run import PauseCode
from playmolt_schemas.stored.agora.turn import Interview, RunSpec, Tokens

from playmolt_agora_runner.calls.requests import (
    Heard,
    accounts_of,
    codes_of,
    heard,
    is_rejected,
    limit_reached,
    model_request,
    reply_key,
    scripted_model,
    turn_request,
)
from playmolt_agora_runner.experiment.commands import Stop, StopForBudget
from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.run.effects import AgentTurn
from playmolt_agora_runner.scripted import visitors
from playmolt_agora_runner.turn import interview, prompts, reply_parser
from playmolt_agora_runner.turn.prompts import Prompt
from playmolt_agora_runner.turn.reply_parser import Parsed
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.workers.recent_experiments import RecentExperiments

_ASKED_AGAIN: Final = frozenset(("parse_error", "invalid_action"))
_NO_ACCESS: Final = frozenset(("401", "402", "403", "404", port.NO_QUOTA))
"""Statuses that reject the key, the account or the model, whatever the request."""
LIMITED_PAUSES: Final = 11
"""After so many pauses without a turn in between, of five seconds to ten minutes and more than 50 minutes together, a
limit counts as one without an end."""


class Halt(msgspec.Struct, frozen=True, kw_only=True):
    """Why a run pauses. `stop` also stops its experiment: a budget is spent, a server refuses what it is asked, or a
    limit has no end.

    `attempts` are the calls that came to nothing on the way, as they are stored.
    """

    code: PauseCode
    detail: str
    stop: Stop | StopForBudget | None = None
    attempts: tuple[StoredCall, ...] = ()


P = TypeVar("P", bound=Parsed | interview.Answer)


class _Form(msgspec.Struct, Generic[P], frozen=True, kw_only=True):
    """The form of a question: how its replies are read, and what a model is asked after one that cannot be used.

    `replicate` names it in keys of replies; `character` answers for scripted models.
    """

    prompt: Prompt
    request: ModelRequest
    replicate: tuple[object, ...]
    character: Character
    read: Callable[[Heard, bool], P]
    demand: Callable[[P], str]


class TurnModel:
    """Asks models. Scripted ones depend only on the run's seed, the scene and its prompt: a plan is reproducible."""

    def __init__(self, calls: DurableCalls, catalogue: Catalogue, blobs: PgBlobs, recent: RecentExperiments) -> None:
        self._calls = calls
        self._catalogue = catalogue
        self._store = PromptStore(blobs)
        self._recent = recent

    async def lost(self, due: AgentTurn, limits: Budget, logged: int) -> StoredCall | None:
        """The calls of a question that were lost with their process; what was reserved for them is released.

        `logged` requests of the question are in the log. None where no request was on its way: a run that was held,
        waited or was between two turns has lost nothing. Raises LogUnavailable.
        """
        found = await self._calls.lost(_mark(due, 0, logged), accounts_of(due.spec, limits))
        return found and found | {"alias": due.model} | due.labels

    async def ask(
        self, due: AgentTurn, scene: Scene, limits: Budget, lost: int = 0, logged: int = 0, pauses: int = 0
    ) -> TurnReply | Halt:
        """Ask for a turn, or a question aside; `lost` calls of it went before, `logged` of it are in the log.

        `pauses` of the run for an unavailable model came before, without a turn in between.
        A reply that cannot be used is asked for again, with what is wrong with it, as often as the plan allows. Raises
        LogUnavailable.
        """
        if due.interview is None:
            return await self._asked(due, _turn(due, scene), limits, lost, logged, pauses)
        return await self._asked(due, _aside(due, due.interview, scene), limits, lost, logged, pauses)

    async def _asked(
        self, due: AgentTurn, form: _Form[P], limits: Budget, lost: int, logged: int, pauses: int
    ) -> TurnReply | Halt:
        prompt_hash = await self._store.put(form.prompt.text)
        attempts: list[StoredCall] = []
        request, number = form.request, 1
        while True:
            question = Question(
                request=request,
                key=reply_key(request, self._catalogue, due.spec.sampling, [*form.replicate, number]),
                prompt=prompt_hash,
                mark=_mark(due, number, logged),
                accounts=accounts_of(due.spec, limits),
                labels=due.labels,
            )
            answer = await self._answer(due.spec, question, form.character)
            if isinstance(answer, Halt):
                return answer
            said = heard(answer)
            if said is None:
                return _halt(due.spec.run, answer, pauses)
            attempts += answer.attempts
            parsed = form.read(said, number > 1)
            if parsed.code not in _ASKED_AGAIN or number > due.spec.reask:
                return _reply(due.model, answer, parsed, attempts, prompt_hash, lost)
            request, number = asked_again(form.request, answer.text, form.demand(parsed)), number + 1

    async def _answer(self, spec: RunSpec, question: Question, character: Character) -> Answer | Halt:
        alias = question.request.alias
        scripted = scripted_model(alias, character, f"{spec.seed}/{spec.cell}")
        batch = None if is_scripted(alias) else await self._batch(spec.experiment)
        found = await self._calls.ask(question, batch=batch, scripted=scripted)
        return await self._unanswered(spec, alias, found) if isinstance(found, NoAnswer) else found

    async def _unanswered(self, spec: RunSpec, alias: str, found: NoAnswer) -> Halt:
        if isinstance(found.reason, AccountExhausted):
            reached = limit_reached(found.reason, spec)
            return Halt(
                code="budget", detail=reached.detail, stop=StopForBudget(stopped=reached), attempts=found.attempts
            )
        if found.reason == "no_model":
            return Halt(code="model_away", detail=f"the catalogue has no model {alias!r}")
        state = await self._recent.of(spec.experiment)
        return Halt(code=state.halted or "stopped", detail=state.reason)

    async def _batch(self, experiment: str) -> BatchPlace | None:
        """Where the experiment's questions wait, if its models are asked in batches."""
        if not (await self._recent.of(experiment)).plays_in_batches:
            return None

        async def goes_on() -> bool:
            return (await self._recent.of(experiment)).halted is None

        return BatchPlace(stream=experiment, goes_on=goes_on)


def _mark(due: AgentTurn, ask: int, logged: int) -> InFlight:
    return InFlight(stream=due.spec.run, turn=due.turn, agent=due.place, ask=ask, logged=logged)


def _turn(due: AgentTurn, scene: Scene) -> _Form[Parsed]:
    spec, prompt = due.spec, prompts.render(scene)
    header = TurnHeader(spec.run, f"{due.turn}:{due.agent}")
    return _Form(
        prompt=prompt,
        request=turn_request(spec, due.model, scene, prompt, header),
        replicate=(spec.run, due.turn, due.agent),
        character=visitors.character(due.model, scene),
        read=lambda said, reask: reply_parser.read(said.text, scene, failed=said.failed, reask=reask),
        demand=lambda parsed: reply_parser.reask_message(parsed, spec.language),
    )


def _aside(due: AgentTurn, asked: Interview, scene: Scene) -> _Form[interview.Answer]:
    spec, language, prompt = due.spec, due.spec.language, interview.render(scene, asked)
    header = TurnHeader(spec.run, f"interview:{due.turn}:{due.agent}:{asked.id}")
    schema = interview.answer_schema(asked, language)
    return _Form(
        prompt=prompt,
        request=model_request(spec, due.model, prompt, interview.SCHEMA, schema, header),
        replicate=(spec.run, due.turn, due.agent, "interview", asked.id),
        character=partial(visitors.answer_aside, due.model, asked, language),
        read=lambda said, reask: interview.read(said.text, asked, language, failed=said.failed, reask=reask),
        demand=lambda answer: interview.reask_message(answer, asked, language),
    )


def _halt(run: str, asked: Answer, pauses: int) -> Halt:
    """Why a model could not be asked."""
    detail = asked.said.detail if isinstance(asked.said, Failed) else ""
    if is_rejected(asked):
        code, last = codes_of(asked)[-1], asked.attempts[-1]
        status = int(code) if code.isdecimal() else last["status"]
        kind: StopKind = "model" if code in _NO_ACCESS else "setting"
        stop = Stop(reason=f"{run}: {detail}", kind=kind, model=last["alias"], status=status)
        return Halt(code="stopped", detail=detail, stop=stop, attempts=asked.attempts)
    limited = {attempt["outcome"] for attempt in asked.attempts} == {"rate_limited"}
    if not limited or pauses < LIMITED_PAUSES:
        return Halt(code="model_away", detail=detail, attempts=asked.attempts)
    reason = f"{run}: out of credit, or limited for good: refused at each of {pauses + 1} attempts. {detail}"
    stop = Stop(reason=reason, kind="model", model=asked.attempts[-1]["alias"], status=429)
    return Halt(code="model_away", detail=detail, stop=stop, attempts=asked.attempts)


def _reply(
    alias: str, asked: Answer, parsed: Parsed | interview.Answer, attempts: list[StoredCall], digest: str, lost: int
) -> TurnReply:
    last, spent = attempts[-1], Spent()
    for attempt in attempts:
        spent = with_call(spent, attempt)
    return TurnReply(
        parsed=parsed,
        raw_reply=asked.text,
        prompt_hash=digest,
        model_asked=last.get("model_asked", alias),
        model_answered=last.get("model_answered"),
        attempt=lost + sum(is_call(attempt) for attempt in attempts),
        tokens=Tokens(spent.prompt_tokens, spent.completion_tokens, spent.cached_tokens, spent.reasoning_tokens),
        cost=spent.cost,
        latency_ms=sum(attempt["latency_ms"] for attempt in attempts),
        cache_hit=asked.cached,
        attempts=tuple(attempts),
    )
