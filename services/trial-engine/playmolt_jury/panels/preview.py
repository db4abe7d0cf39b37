"""What a plan would cost, before a model is asked: one jury of each script, played in memory by scripted jurors."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

import msgspec
from msgspec.structs import replace
from playmolt_core.game.decider import Command, Refused
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.port import ModelRequest
from playmolt_core.llm.scripted.model import Cast, ScriptedModel
from playmolt_schemas.games.jury_panels import PanelPreview
from playmolt_schemas.identifiers import SCRIPTED, is_scripted
from playmolt_schemas.stored.jury import Language
from playmolt_schemas.stored.panels import PanelPlan
from playmolt_schemas.text import decimal_text

from playmolt_jury import commands
from playmolt_jury.effects import next_turns
from playmolt_jury.jurors import react, scripted
from playmolt_jury.panels.page import panel_texts
from playmolt_jury.panels.rules import AT_ONCE, places, script_of
from playmolt_jury.rules import Jury
from playmolt_jury.state import State, Turn

_MILLION: Final = Decimal(1_000_000)
_CALL_SECONDS: Final = 4.0
"""How long a call of a model takes, as a rule of thumb."""
_SCRIPTED_SECONDS: Final = 0.01
_HOUR: Final = 3600.0


class _Usage(msgspec.Struct):
    """The calls of one jury by model."""

    calls: int = 0
    prompt: int = 0
    reply: int = 0


def varies(plan: PanelPlan) -> bool:
    """Whether juries of a script can differ: whether anything in them depends on the seed, such as an order."""
    ordered = plan.shuffle and any(len(steps) > 1 for steps in plan.scripts.values())
    return ordered or plan.temperature is None or Decimal(plan.temperature) != 0


def warnings(plan: PanelPlan, catalogue: Catalogue, language: Language) -> Iterator[str]:
    """What the author of a plan should know before anything is asked."""
    say = panel_texts(language)
    if not varies(plan):
        yield say("warning.no_seed")
    limited = "_budget" if plan.budget.money is not None else ""
    for alias in dict.fromkeys(plan.jurors.values()):
        if not _priced(alias, catalogue):
            yield say(f"warning.unpriced{limited}", alias=alias)
    if plan.compare is None and len(plan.scripts) > 1:
        a, b = list(plan.scripts)[:2]
        yield say("warning.not_compared", a=a, b=b)
    lengths = {len(plan.scripts[name]) for name in plan.compare or ()}
    if plan.shuffle and len(lengths) > 1:
        yield say("warning.orders")


def preview(jury: Jury, plan: PanelPlan, catalogue: Catalogue) -> PanelPreview:
    """Without the power of the comparison, which takes longer."""
    by_model: dict[str, _Usage] = {}
    for script in plan.scripts:
        for alias, usage in _one_jury(jury, plan, script).items():
            found = by_model.setdefault(alias, _Usage())
            found.calls += usage.calls * plan.n
            found.prompt += usage.prompt * plan.n
            found.reply += usage.reply * plan.n
    costs = [_cost(alias, usage, catalogue) for alias, usage in by_model.items()]
    known = [cost for cost in costs if cost is not None]
    return PanelPreview(
        juries=plan.n * len(plan.scripts),
        calls=sum(usage.calls for usage in by_model.values()),
        tokens=sum(usage.prompt + usage.reply for usage in by_model.values()),
        cost=decimal_text(sum(known, Decimal(0))) if len(known) == len(costs) else None,
        hours=round(max(_seconds(alias, usage.calls, catalogue) for alias, usage in by_model.items()) / _HOUR, 4),
        power=None,
        warnings=tuple(warnings(plan, catalogue, "en")),
    )


def _one_jury(jury: Jury, plan: PanelPlan, script: str) -> dict[str, _Usage]:
    """Play one jury of a script; the jurors are scripted, whatever their models."""
    place = next(each for each in places("panel-preview", plan) if each.script == script)
    model, used = ScriptedModel(scripted.add_to(Cast())), dict[str, _Usage]()
    state = jury.initial("jury-preview")
    opening = commands.OpenPanelJury(
        owner="preview", name="", language=plan.language, pack_digest=plan.case_digest,
        deliberation=plan.deliberation, place=place,
        script=replace(script_of(plan, place), chain=False),
    )  # fmt: skip
    state = _after(jury, state, opening)
    while turns := next_turns(state):
        for turn in turns:
            usage = used.setdefault(state.model_of(turn.juror_id), _Usage())
            state = _after(jury, state, _played(jury, model, state, turn, usage))
    return used


def _after(jury: Jury, state: State, command: Command) -> State:
    decided = jury.decide(state, command, datetime.now(UTC))
    if isinstance(decided, Refused):
        raise TypeError(f"a jury of a valid plan was refused: {decided.detail}")
    found: State = decided.states[-1] if decided.states else state
    return found


def _played(jury: Jury, model: ScriptedModel, state: State, turn: Turn, usage: _Usage) -> Command:
    received: list[react.ModelReply] = []
    material = jury.material(state)
    while isinstance(step := react.next_request(state, turn, material, received), ModelRequest):
        attempt, reply = model.answered(replace(step, alias=SCRIPTED))
        usage.calls += 1
        if attempt.usage:
            usage.prompt += attempt.usage.prompt_tokens or 0
            usage.reply += attempt.usage.completion_tokens or 0
        received.append(reply)
    return step


def _cost(alias: str, usage: _Usage, catalogue: Catalogue) -> Decimal | None:
    if is_scripted(alias):
        return Decimal(0)
    entry = catalogue.models[alias]
    if entry.input_price is None or entry.output_price is None:
        return None
    return (usage.prompt * entry.input_price + usage.reply * entry.output_price) / _MILLION


def _priced(alias: str, catalogue: Catalogue) -> bool:
    return is_scripted(alias) or catalogue.models[alias].priced


def _seconds(alias: str, calls: int, catalogue: Catalogue) -> float:
    if is_scripted(alias):
        return calls * _SCRIPTED_SECONDS
    entry = catalogue.models[alias]
    side_by_side = calls * _CALL_SECONDS / min(entry.concurrent, AT_ONCE)
    return max(side_by_side, 60 * calls / entry.requests_per_minute if entry.requests_per_minute else 0.0)
