"""One question to a judge: sent once, its reply stored before it is parsed, every request counted and budgeted."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import msgspec
from playmolt_core.db.blobs import PromptStore
from playmolt_core.db.ledger import Account, InFlight
from playmolt_core.llm import port
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.durable_call import AccountExhausted, Answer, BatchPlace, DurableCalls, NoAnswer, Question
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import Failed, ModelRequest
from playmolt_core.llm.scripted.model import Said, ScriptedTurn
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.instrument.laboratory import Thought
from playmolt_schemas.instrument.lexicon import cues
from playmolt_schemas.stored.agora.experiment import JudgeCoded, JudgingStatus
from playmolt_schemas.stored.agora.plan import Limits, Plan
from playmolt_schemas.stored.agora.turn import Language

from playmolt_agora_runner.calls.requests import account_for, exceeded, heard, is_rejected, reply_key, scripted_model
from playmolt_agora_runner.coding import judgement
from playmolt_agora_runner.coding.judgement import Judgement, thought_in
from playmolt_agora_runner.experiment.commands import EndJudge
from playmolt_agora_runner.experiment.state import Judge
from playmolt_agora_runner.scripted import residents
from playmolt_agora_runner.turn import prompts

SCHEMA: Final = "judgement"
"""The schema name of a judge's reply."""
_ERRS: Final = 10
"""Percentage of labels that it inverts."""


def _answer(alias: str, turn: ScriptedTurn) -> Said:
    language: Language = "ko" if turn.korean else "en"
    found = cues(thought_in(turn.request.messages[-1].content), language)
    labels = {"survival": _seen(turn, "survival", found.s), "social": _seen(turn, "social", found.o)}
    return residents.in_form(residents.profile(alias), turn, labels, language)


def _seen(turn: ScriptedTurn, label: str, named: bool) -> bool:
    return named != (turn.draw(label, 100) < _ERRS)


AT_ONCE: Final = 500
"""Questions of a judge that wait for batches at the same time."""
_ASK: Final = 1
"""A judge is asked once: a reply that does not parse has no label."""
Waits = Callable[[], Awaitable[bool]]
"""Whether a question keeps waiting for a batch."""


class JudgeReply(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a question: an event for each of its calls, and the end of the judge if it cannot continue."""

    coded: tuple[JudgeCoded, ...] = ()
    halt: EndJudge | None = None


class JudgeModel:
    """A model of the catalogue, or a scripted one, as the judge of an experiment's thoughts."""

    def __init__(self, calls: DurableCalls, models: Models, catalogue: Catalogue, store: PromptStore) -> None:
        self._calls = calls
        self._models = models
        self._catalogue = catalogue
        self._store = store

    def concurrent(self, alias: str, *, batch: bool) -> int:
        """How many questions may be in flight."""
        if batch and self._models.in_batches(alias) is not None:
            return AT_ONCE
        entry = self._catalogue.models.get(alias)
        return entry.concurrent if entry else 1

    async def lost(self, experiment: str, judge: Judge, thought: Thought, logged: int) -> tuple[JudgeCoded, ...]:
        """The event of the requests about a thought that were lost with their process, if any.

        `logged` requests about it are in the log. Raises LogUnavailable.
        """
        alias, named = judge.judge.alias, judgement.prompt(thought).hash
        lost = await self._calls.lost(_mark(experiment, alias, thought, logged), _accounts(experiment, judge))
        return judgement.coded(thought, alias, named, (lost | {"alias": alias},) if lost else ())

    async def ask(
        self, experiment: str, judge: Judge, plan: Plan, seed: str, thought: Thought, logged: int,
        waits: Waits | None = None,
    ) -> JudgeReply:  # fmt: skip
        """Ask about a thought, in a batch if `waits` is given, or find its stored reply.

        Without events and halt the judge does not continue, and the next process finds the question in its batch.
        Raises LogUnavailable.
        """
        alias, asked = judge.judge.alias, judgement.prompt(thought)
        prompt_hash = await self._store.put(asked.text)
        request = _request(experiment, alias, plan, thought, asked)
        replicate = ["judge", experiment, thought.run, thought.turn, thought.agent, *_topic(thought)]
        question = Question(
            request=request,
            key=reply_key(request, self._catalogue, plan.sampling, replicate),
            prompt=prompt_hash,
            mark=_mark(experiment, alias, thought, logged),
            accounts=_accounts(experiment, judge),
        )
        batch = waits and BatchPlace(stream=experiment, asker=alias, goes_on=waits)
        scripted = scripted_model(alias, partial(_answer, alias), f"{seed}/judge")
        found = await self._calls.ask(question, batch=batch, scripted=scripted)
        said = _judgement(found) if isinstance(found, Answer) else None
        coded = judgement.coded(thought, alias, prompt_hash, found.attempts, said)
        return JudgeReply(coded=coded, halt=None if said else _end(judge, found))


def _accounts(experiment: str, judge: Judge) -> list[Account]:
    limits = Limits(money=judge.budget.money, calls=judge.budget.calls)
    return [account_for(f"{experiment}/judge/{judge.judge.alias}", limits)]


def _judgement(found: Answer) -> Judgement | None:
    said = heard(found)
    if said is None:
        return None
    return Judgement(said.failed) if said.failed else judgement.read(said.text)


def _end(judge: Judge, found: Answer | NoAnswer) -> EndJudge | None:
    """Why the judge cannot continue; None for a question that stays in its batch."""
    outcome: JudgingStatus = "away"
    if isinstance(found, Answer):
        detail = found.said.detail if isinstance(found.said, Failed) else ""
        spent = isinstance(found.said, Failed) and found.said.code == "budget_spent"
        outcome = "budget" if spent else "model" if is_rejected(found) else "away"
    elif isinstance(found.reason, AccountExhausted):
        limit, most, _ = exceeded(found.reason)
        detail = f"its budget of {most} {limit} is too small for the next call. "
        outcome, detail = "budget", f"{detail}Raise it, then run the same command again"
    elif found.reason == "no_model":
        detail = f"the catalogue has no model {judge.judge.alias!r}"
    else:
        return None
    return EndJudge(number=judge.number, outcome=outcome, detail=detail)


def _request(experiment: str, alias: str, plan: Plan, thought: Thought, asked: prompts.Prompt) -> ModelRequest:
    name = ":".join(("judge", thought.run, thought.agent, str(thought.turn), *_topic(thought)))
    return ModelRequest(
        alias=alias,
        messages=asked.messages,
        turn=None if is_scripted(alias) else port.TurnHeader(experiment, name),
        schema_name=SCHEMA,
        sampling=port.SamplingParameters(temperature=plan.sampling.temperature, top_p=plan.sampling.top_p),
        max_tokens=plan.sampling.max_tokens,
        decoding="prompt",
    )


def _topic(thought: Thought) -> tuple[str, ...]:
    """The question that an answer in words is about; nothing for a thought."""
    return (thought.interview,) if thought.interview else ()


def _mark(experiment: str, alias: str, thought: Thought, logged: int) -> InFlight:
    """The place of a question; it has the experiment's prefix, so that its service may write it."""
    return InFlight(stream=f"{experiment}/judge/{alias}/{thought.key}", ask=_ASK, logged=logged)
