"""Ask a model for one agent's turn, or a question aside, a second time if the reply is unusable, within the budget.

Texts of the plan's folder come from the blob store (agora.md, Turn).
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

import msgspec
from msgspec.structs import replace
from playmolt_core.db.blobs import PgBlobs, PromptStore
from playmolt_core.db.ledger import InFlight
from playmolt_core.llm import port
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.conversation import asked_again, driven, repairing
from playmolt_core.llm.durable_call import AccountExhausted, Answer, BatchPlace, DurableCalls, LostCalls, Question
from playmolt_core.llm.port import Failed, ModelRequest, TurnHeader
from playmolt_core.llm.scripted.model import Cast, ScriptedModel
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.instrument.usage import is_call, with_call
from playmolt_schemas.stored.agora.experiment import BudgetStopped
from playmolt_schemas.stored.agora.plan import Budget, Spent
from playmolt_schemas.stored.agora.run import PauseCode
from playmolt_schemas.stored.agora.turn import RunSpec, Tokens

from playmolt_agora_runner.calls.requests import (
    Heard,
    accounts_of,
    codes_of,
    heard,
    is_rejected,
    limit_reached,
    model_request,
    reply_key,
    turn_request,
)
from playmolt_agora_runner.folder.personas import dressed
from playmolt_agora_runner.run.effects import AgentInterview
from playmolt_agora_runner.scripted import visitors
from playmolt_agora_runner.turn import interview, prompts, reply_parser
from playmolt_agora_runner.turn.interview import InterviewReply
from playmolt_agora_runner.turn.prompts import Prompt
from playmolt_agora_runner.turn.reply_parser import Parsed, StoredCall, TurnReply
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.workers.recent_experiments import RecentExperiments

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
        missing = [named for named in files.values() if named not in self._known]
        if missing:
            self._known.update(await self._blobs.texts(missing))
        try:
            texts = {path: self._known[named] for path, named in files.items()}
        except KeyError as error:
            raise MissingText(f"the text with the hash {error} is missing from the blob store") from None
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return dressed(scene, texts) if texts else scene


_ASKED_AGAIN: Final = frozenset(("parse_error", "invalid_action"))
_NO_ACCESS: Final = frozenset(("401", "402", "403", "404", port.NO_QUOTA))
"""Statuses that reject the key, the account or the model, whatever the request."""
_USAGE: Final = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens")
LOOK_SECONDS: Final = 0.5
"""How often a question looks for the answer of its batch."""


class Halt(msgspec.Struct, frozen=True, kw_only=True):
    """Why a run cannot continue. `reached` is the budget limit; `rejected` that a server refuses
    what `alias` is asked, with `status`; `limited` that it was over its limit each time.

    `attempts` are the calls that came to nothing on the way, as they are stored.
    """

    code: PauseCode
    detail: str
    reached: BudgetStopped | None = None
    rejected: bool = False
    no_access: bool = False
    limited: bool = False
    alias: str | None = None
    status: int | None = None
    attempts: tuple[StoredCall, ...] = ()


P = TypeVar("P", bound=Parsed | interview.Answer)


class _Ladder(msgspec.Struct, Generic[P], frozen=True, kw_only=True):
    """A question of a run, how its replies are read, and what a model is asked after one that cannot be used.

    `replicate` names it in keys of replies; `cast` answers for scripted models.
    """

    spec: RunSpec
    question: Question
    replicate: tuple[object, ...]
    cast: Cast
    read: Callable[[Heard, bool], P]
    demand: Callable[[P], str]


class TurnModel:
    """Asks models. Scripted ones depend only on the run's seed, the scene and its prompt: a plan is reproducible."""

    def __init__(
        self,
        calls: DurableCalls,
        cast: Cast,
        catalogue: Catalogue,
        blobs: PgBlobs,
        recent: RecentExperiments | None = None,
    ) -> None:
        """Without `recent` no experiment uses batches."""
        self._calls = calls
        self._cast = cast
        self._catalogue = catalogue
        self._store = PromptStore(blobs)
        self._recent = recent
        self._room_texts = RoomTextLoader(blobs)

    async def lost(self, spec: RunSpec, turn: int, place: str, limits: Budget, logged: int) -> LostCalls | None:
        """The calls of a question that were lost with their process; what was reserved for them is released.

        `logged` requests of the question are in the log. None where no request was on its way: a run that was held,
        waited or was between two turns has lost nothing. Raises LogUnavailable.
        """
        mark = InFlight(stream=spec.run, turn=turn, agent=place, ask=0, logged=logged)
        return await self._calls.lost(mark, accounts_of(spec, limits))

    async def turn(
        self, spec: RunSpec, scene: Scene, limits: Budget, lost: int = 0, logged: int = 0
    ) -> TurnReply | Halt:
        """Ask for one turn; `lost` calls of it went before, `logged` of it are in the log. Raises LogUnavailable."""
        scene = await self._room_texts.dressed(spec, scene)
        prompt, alias = prompts.render(scene), _alias(spec, scene)
        header = TurnHeader(spec.run, f"{scene.turn}:{scene.agent}")
        question = Question(
            request=turn_request(spec, alias, scene, prompt, header),
            key=None,
            prompt=await self._keep_prompt(prompt),
            mark=InFlight(stream=spec.run, turn=scene.turn, agent=scene.agent, ask=0, logged=logged),
            accounts=accounts_of(spec, limits),
        )
        ladder = _Ladder(
            spec=spec,
            question=question,
            replicate=(spec.run, scene.turn, scene.agent),
            cast=visitors.cast(self._cast, alias, scene),
            read=lambda said, reask: reply_parser.read(said.text, scene, failed=said.failed, reask=reask),
            demand=lambda parsed: reply_parser.reask_message(parsed, spec.language),
        )
        found = await self._climbed(ladder)
        if isinstance(found, Halt):
            return found
        asked, parsed, attempts = found
        return _turn_reply(alias, asked, parsed, attempts, question.prompt, lost)

    async def interview(
        self, due: AgentInterview, scene: Scene, limits: Budget, logged: int = 0
    ) -> InterviewReply | Halt:
        """Ask a question aside; `logged` calls of it are in the log. Raises LogUnavailable."""
        spec, asked_about = due.spec, due.interview
        scene = await self._room_texts.dressed(spec, scene)
        prompt = interview.render(scene, asked_about)
        schema, alias = interview.answer_schema(asked_about, spec.language), _alias(spec, scene)
        header = TurnHeader(spec.run, f"interview:{due.turn}:{due.agent}:{asked_about.id}")
        question = Question(
            request=model_request(spec, alias, prompt, interview.SCHEMA, schema, header),
            key=None,
            prompt=await self._keep_prompt(prompt),
            mark=InFlight(stream=spec.run, turn=due.turn, agent=due.place, ask=0, logged=logged),
            accounts=accounts_of(spec, limits),
            labels={"interview": asked_about.id},
        )
        ladder = _Ladder(
            spec=spec,
            question=question,
            replicate=(spec.run, due.turn, due.agent, "interview", asked_about.id),
            cast=visitors.cast_aside(self._cast, alias, asked_about, spec.language),
            read=lambda said, reask: interview.read(
                said.text, asked_about, spec.language, failed=said.failed, reask=reask
            ),
            demand=lambda answer: interview.reask_message(answer, asked_about, spec.language),
        )
        found = await self._climbed(ladder)
        if isinstance(found, Halt):
            return found
        asked, answer, attempts = found
        spent = _spent(attempts)
        return InterviewReply(
            answer=answer,
            raw_reply=asked.text,
            prompt_hash=question.prompt,
            usage={name: getattr(spent, name) for name in _USAGE},
            cost=spent.cost,
            attempts=tuple(attempts),
        )

    async def _keep_prompt(self, prompt: Prompt) -> str:
        kept = prompts.prompt_text(prompt.system, prompt.user)
        await self._store.put(kept)
        return hashlib.sha256(kept.encode()).hexdigest()

    async def _climbed(self, ladder: "_Ladder[P]") -> tuple[Answer, P, list[StoredCall]] | Halt:
        """Ask, and again with what is wrong with the reply, as often as the plan allows; the calls come last."""
        attempts: list[StoredCall] = []
        questions = 0

        async def ask(request: ModelRequest) -> Answer | Halt:
            nonlocal questions
            questions += 1
            asked = await self._ask(ladder, request, questions)
            attempts.extend(() if isinstance(asked, Halt) else asked.attempts)
            return asked

        def parsed(asked: Answer | Halt) -> tuple[Answer, P] | Halt:
            if isinstance(asked, Halt):
                return asked
            said = heard(asked)
            return _halt(asked) if said is None else (asked, ladder.read(said, questions > 1))

        def again(outcome: tuple[Answer, P] | Halt) -> ModelRequest | None:
            if isinstance(outcome, Halt) or outcome[1].code not in _ASKED_AGAIN:
                return None
            return asked_again(ladder.question.request, outcome[0].text, ladder.demand(outcome[1]))

        first = await ask(ladder.question.request)
        outcome: tuple[Answer, P] | Halt = await driven(repairing(first, parsed, again, ladder.spec.reask), ask)
        return outcome if isinstance(outcome, Halt) else (*outcome, attempts)

    async def _ask(self, ladder: "_Ladder[P]", request: ModelRequest, number: int) -> Answer | Halt:
        spec, alias = ladder.spec, request.alias
        scripted, replicate = is_scripted(alias), [*ladder.replicate, number]
        question = replace(
            ladder.question,
            request=request,
            key=None if scripted else reply_key(request, self._catalogue, spec.sampling, replicate),
            mark=replace(ladder.question.mark, ask=number),
        )
        found = await self._calls.ask(
            question,
            batch=None if scripted else await self._batch(spec.experiment),
            scripted=ScriptedModel(ladder.cast, f"{spec.seed}/{spec.cell}") if self._cast.knows(alias) else None,
        )
        if isinstance(found, Answer):
            return found
        if isinstance(found.reason, AccountExhausted):
            reached = limit_reached(found.reason, spec)
            return Halt(code="budget", detail=reached.detail, reached=reached, attempts=found.attempts)
        if found.reason == "no_model":
            return Halt(code="model_away", detail=f"the catalogue has no model {alias!r}")
        return await self._stopped(spec.experiment)

    async def _batch(self, experiment: str) -> BatchPlace | None:
        """Where the experiment's questions wait, if its models are asked in batches."""
        recent = self._recent
        if recent is None or not (await recent.of(experiment)).plays_in_batches:
            return None

        async def goes_on() -> bool:
            return (await recent.of(experiment)).halted is None

        return BatchPlace(stream=experiment, goes_on=goes_on, look_seconds=LOOK_SECONDS)

    async def _stopped(self, experiment: str) -> Halt:
        found = await self._recent.of(experiment) if self._recent else None
        return Halt(code=(found and found.halted) or "stopped", detail=found.reason if found else "")


def _alias(spec: RunSpec, scene: Scene) -> str:
    return next(seat.model for seat in spec.seats if seat.agent == scene.agent)


def _halt(asked: Answer) -> Halt:
    """Why a model could not be asked."""
    detail = asked.said.detail if isinstance(asked.said, Failed) else ""
    last = asked.attempts[-1] if asked.attempts else {}
    if is_rejected(asked):
        code = codes_of(asked)[-1]
        return Halt(
            code="stopped",
            detail=detail,
            rejected=True,
            no_access=code in _NO_ACCESS,
            alias=last["alias"],
            status=int(code) if code.isdecimal() else last["status"],
            attempts=asked.attempts,
        )
    limited = {attempt["outcome"] for attempt in asked.attempts} == {"rate_limited"}
    alias = last["alias"] if limited else None
    return Halt(code="model_away", detail=detail, limited=limited, alias=alias, attempts=asked.attempts)


def _turn_reply(
    alias: str, asked: Answer, parsed: Parsed, attempts: list[StoredCall], digest: str, lost: int
) -> TurnReply:
    last, spent = attempts[-1], _spent(attempts)
    return TurnReply(
        parsed=parsed,
        raw_reply=asked.text,
        prompt_hash=digest,
        model_asked=last.get("model_asked", alias),
        model_answered=last.get("model_answered"),
        attempt=lost + sum(is_call(attempt) for attempt in attempts),
        tokens=Tokens(*(getattr(spent, name) for name in _USAGE)),
        cost=spent.cost,
        latency_ms=sum(attempt["latency_ms"] for attempt in attempts),
        cache_hit=asked.cached,
        attempts=tuple(attempts),
    )


def _spent(attempts: Sequence[StoredCall]) -> Spent:
    spent = Spent()
    for attempt in attempts:
        spent = with_call(spent, attempt)
    return spent
