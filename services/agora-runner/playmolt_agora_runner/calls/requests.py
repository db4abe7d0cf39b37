"""Requests to models of an experiment: what is asked, the accounts that pay, the keys of stored replies."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec
from playmolt_core.db.ledger import Account
from playmolt_core.llm import port
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.durable_call import AccountExhausted, Answer
from playmolt_core.llm.port import ModelRequest, Reply, SamplingParameters, TurnHeader
from playmolt_core.llm.scripted.model import Cast, Character, ScriptedModel
from playmolt_schemas.canonical import digest
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.stored.agora.experiment import BudgetStopped, LimitName
from playmolt_schemas.stored.agora.plan import Budget, Limits, Plan
from playmolt_schemas.stored.agora.turn import RunSpec, SamplingSettings
from playmolt_schemas.text import decimal_text

from playmolt_agora_runner.scripted import residents
from playmolt_agora_runner.turn import reply_parser
from playmolt_agora_runner.turn.prompts import Prompt
from playmolt_agora_runner.turn.reply_parser import FailedCode
from playmolt_agora_runner.turn.scene import Scene


def accounts_of(spec: RunSpec, limits: Budget) -> list[Account]:
    """The limited accounts that pay for a run's calls: its experiment's and its own."""
    both = (account_for(spec.experiment, limits), account_for(spec.run, limits.per_run))
    return [account for account in both if account.limited]


def account_for(name: str, limits: Limits) -> Account:
    """The account of a name with its limits."""
    money = None if limits.money is None else Decimal(limits.money)
    return Account(name=name, calls=limits.calls, tokens=limits.tokens, money=money)


def scripted_model(alias: str, character: Character, seed: str) -> ScriptedModel | None:
    """The scripted model that answers as a character; None for models of the catalogue."""
    if alias not in residents.ALIASES:
        return None
    cast = Cast()
    cast.add(character, alias=alias)
    return ScriptedModel(cast, seed)


def turn_request(
    terms: Plan | RunSpec, alias: str, scene: Scene, prompt: Prompt, turn: TurnHeader | None = None
) -> ModelRequest:
    """What a model is asked at its turn."""
    return model_request(terms, alias, prompt, "turn", reply_parser.reply_schema(scene), turn)


def model_request(
    terms: Plan | RunSpec, alias: str, prompt: Prompt, name: str, schema: Mapping[str, object], turn: TurnHeader | None
) -> ModelRequest:
    """A prompt under the terms of a plan; `name` is that of its reply's schema."""
    return ModelRequest(
        alias=alias,
        messages=prompt.messages,
        turn=None if is_scripted(alias) else turn,
        schema_name=name,
        schema=None if terms.decoding == "prompt" else schema,
        sampling=SamplingParameters(temperature=terms.sampling.temperature, top_p=terms.sampling.top_p),
        max_tokens=terms.sampling.max_tokens,
        decoding=terms.decoding,
        patient=True,
    )


def reply_key(
    request: ModelRequest, catalogue: Catalogue, sampling: SamplingSettings, replicate: Sequence[object]
) -> str | None:
    """Name a request with its replicate, so that equal prompts of two replicates are two calls; None for scripted
    models, whose replies are not kept.

    A replicate names the question and its place in the ladder, not how often it was tried: a reply that came once is
    found ever after.
    """
    if is_scripted(request.alias):
        return None
    entry = catalogue.models.get(request.alias)
    named = {
        "model": entry.model if entry else "",
        "base_url": entry.base_url if entry else "",
        "messages": request.messages,
        "sampling": sampling,
        "decoding": request.decoding,
        "schema": request.schema,
        "replicate": replicate,
    }
    return digest(named)


class Heard(msgspec.Struct, frozen=True):
    """How a question ended, as parsers take it."""

    text: str
    failed: FailedCode | None = None


def heard(asked: Answer) -> Heard | None:
    """The reply to a question, or why it has none; None: the model could not be asked, and the question stays open."""
    answer = asked.said
    if isinstance(answer, Reply):
        return Heard(answer.text)
    outcomes, codes = {attempt["outcome"] for attempt in asked.attempts}, codes_of(asked)
    written = port.REPLY_UNREAD in codes  # paid for, and the same question would be answered like this again
    if answer.code in port.WITHOUT_REPLY and (is_rejected(asked) or (outcomes != {"timeout"} and not written)):
        return None
    if answer.cut:
        return Heard(answer.reply, "cut")
    if answer.code == "refused":
        return Heard(answer.reply, "refusal")
    return Heard(answer.reply, "timeout" if answer.code == "model_unavailable" and not written else None)


def codes_of(asked: Answer) -> list[str]:
    """The code of each request, or its status."""
    return [str(attempt.get("code") or attempt["status"]) for attempt in asked.attempts]


def is_rejected(asked: Answer) -> bool:
    """Whether the server refuses what it is asked, or the account is exhausted: waiting does not help."""
    return any(attempt["outcome"] == "rejected" for attempt in asked.attempts) or port.NO_QUOTA in codes_of(asked)


def limit_reached(exhausted: AccountExhausted, spec: RunSpec) -> BudgetStopped:
    """The limit that refused a call of a run, with advice."""
    limit, most, after = exceeded(exhausted)
    whole = exhausted.charge.account.name == spec.experiment
    could = f"could bring it to {after}" if after is not None else "has no known price"
    detail = (
        f"{'The experiment' if whole else 'The run'}'s budget of {most} {limit} is too small for the next call, which "
        f"{could}. Raise it and resume: spending so far still counts, and no call is repeated."
    )
    return BudgetStopped(
        limit=limit, scope="all" if whole else "run", run=spec.run, most=most, spent=after or "unknown", detail=detail
    )


def exceeded(exhausted: AccountExhausted) -> tuple[LimitName, str, str | None]:
    """A limit, its value, and what the account would hold after the call; None if the price of the call is unknown."""
    account, spent, worst = exhausted.charge.account, exhausted.spent, exhausted.charge.worst.amount
    if spent is None:
        return "money", decimal_text(account.money or Decimal(0)), None
    after: tuple[tuple[LimitName, Decimal | int | None, Decimal | int], ...] = (
        ("calls", account.calls, spent.calls + worst.calls),
        ("tokens", account.tokens, spent.tokens + worst.tokens),
        ("money", account.money, spent.money + worst.money),
    )
    return next(
        (limit, decimal_text(Decimal(most)), decimal_text(Decimal(held)))
        for limit, most, held in after
        if most is not None and held > most
    )
