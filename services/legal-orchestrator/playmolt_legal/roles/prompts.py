"""Prompts of a turn: a pure function of the session and its pending turn.

The steering block is the very top of every role's system prompt. What the person typed is data: in the block each value
is one line without brackets, and everywhere else it is a JSON string whose brackets are escaped, so that no text of
theirs can close the block or open another one.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from playmolt_schemas.games.legal import UNKNOWN
from playmolt_schemas.stored.legal import Fact, Facts, FactsForm, Hit, RefusedItem, Side

from playmolt_legal import outputs, phases, texts
from playmolt_legal.effects import PendingTurn
from playmolt_legal.facts import uploads
from playmolt_legal.guardrails import redaction
from playmolt_legal.roles import points
from playmolt_legal.state import State, TurnRecord

_FIELD: Final = re.compile(r"\{\{(\w+)\}\}")
_IN_BLOCK: Final = frozenset(
    ("focus_issues", "goal", "stance", "constraints", "instructions", "final_instructions", "gate")
)

Message = dict[str, str]


def prompt(state: State, turn: PendingTurn) -> list[Message]:
    """The messages that ask for a turn; a rewrite repeats the draft and names every hit."""
    if turn.phase == phases.STIPULATE:
        return _stipulation(state)
    here = phases.turn(turn.phase)
    messages = [
        {"role": "system", "content": _system(state, here) if here else _final_system(state)},
        {"role": "user", "content": _material(state, here)},
    ]
    if turn.draft is not None:
        messages += _rewrite(texts.of(state.language), turn.draft, turn.hits)
    return messages


def steering_block(state: State) -> str:
    """The block of the source's section 4.1, filled in; it is the same in every language but for the values."""
    words, steering = texts.of(state.language), state.steering
    values = {
        "case_type": words.case_types[state.case_type],
        "jurisdiction": state.jurisdiction,
        "focus_issues": _listed(steering.focus_issues),
        "goal": words.goals[steering.goal] if steering.goal else "",
        "stance": words.stances[steering.stance] if steering.stance else "",
        "constraints": _listed(words.constraints.get(each, each) for each in steering.constraints),
        "exclusions": _listed(state.exclusions),
        "note": steering.note,
    }
    # One pass: a value that looks like a field of the block stays what it is.
    return _FIELD.sub(lambda match: one_line(values[match[1]]) or words.not_set, texts.steering_block())


def one_line(value: str) -> str:
    """Make a value fit for the block: a run of white space, controls or line separators is one space, brackets wide."""
    spaced = "".join(" " if _separates(char) else char for char in value)
    return " ".join(spaced.split()).replace("[", "［").replace("]", "］")


def _separates(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) in ("Cc", "Zl", "Zp")


def _listed(values: Iterable[str]) -> str:
    return "; ".join(values)


def as_data(value: object) -> str:
    """Write JSON in which no text can pass for the prompt's own: all on one line, brackets inside texts escaped."""
    return _STRING.sub(_escape, json.dumps(msgspec.to_builtins(value), ensure_ascii=False))


_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_ESCAPES: Final = {code: f"\\u{code:04x}" for code in (*map(ord, "[]\u2028\u2029"), *range(0x7F, 0xA0))}


def _escape(text: re.Match[str]) -> str:
    return text[0].translate(_ESCAPES)


def _system(state: State, here: phases.TurnPhase) -> str:
    words = texts.of(state.language)
    asked = json.dumps(outputs.schema(here.role, state.case_type, here.round), ensure_ascii=False)
    parts = [
        steering_block(state),
        *([words.block_rules] if words.block_rules else []),
        *_newest_form(state, words),
        _setting(state, words, words.titles[state.case_type][here.role]),
        words.rounds[_round(here)],
        words.tasks[_task(state, here)],
        *([words.ranges[state.case_type]] if here.role == "judge" and here.round > 1 else []),
        words.gate_criteria if here.role == "verifier" else words.method,
        texts.standard_of_proof(state.language, state.case_type, one_line(state.jurisdiction)),
        *_estimate(state, here, words),
        *_about_uploads(state, words),
        *([words.gone] if state.facts.past else []),
        words.rules,
        f"{words.schema}\n{asked}",
        _example(state, _task(state, here)),
    ]
    return "\n\n".join(parts)


def _final_system(state: State) -> str:
    """The prompt of the last turn: the person's instructions are in the block, as `UserNotes`."""
    words = texts.of(state.language)
    asked = json.dumps(outputs.phase_schema(phases.FINAL, state.case_type), ensure_ascii=False)
    parts = [
        steering_block(state),
        *([words.block_rules] if words.block_rules else []),
        *_newest_form(state, words),
        _setting(state, words, words.final_title),
        words.tasks["final"],
        texts.standard_of_proof(state.language, state.case_type, one_line(state.jurisdiction)),
        *_about_uploads(state, words),
        *([words.gone] if state.facts.past else []),
        words.rules,
        f"{words.schema}\n{asked}",
        _example(state, "final"),
    ]
    return "\n\n".join(parts)


def _setting(state: State, words: texts.LegalTexts, title: str) -> str:
    space = "" if state.language == "zh" else " "
    side = words.sides[state.case_type][state.side]
    return f"{words.setting.format(title=title)}{space}{words.persons_side.format(side=side)}"


def _round(here: phases.TurnPhase) -> str:
    """Who takes a side argues; judge and verifier are given no points to answer."""
    number = str(min(here.round, phases.LAST_ROUND))
    return f"{here.role}_{number}" if here.role in ("judge", "verifier") else number


def _about_uploads(state: State, words: texts.LegalTexts) -> list[str]:
    return [words.uploads] if state.uploads else []


def _example(state: State, task: str) -> str:
    """Not part of the corpus: its contents do not count as supplied."""
    return f"{texts.of(state.language).example}\n{as_data(texts.example(state.language, task))}"


def _estimate(state: State, here: phases.TurnPhase, words: texts.LegalTexts) -> list[str]:
    """From round 2 on the judge estimates for the person's side; a neutral person's is the claimant's."""
    if here.role != "judge" or here.round == 1:
        return []
    side: Side = "claimant" if state.side == "neutral" else state.side
    return [words.likelihood.format(side=words.sides[state.case_type][side])]


def _task(state: State, here: phases.TurnPhase) -> str:
    match here.role:
        case "judge":
            return "opening_judge" if here.round == 1 else "judge"
        case "opposing":
            return f"opposing_{state.case_type}"
        case role:
            return role


def _newest_form(state: State, words: texts.LegalTexts) -> list[str]:
    entry = state.last_form
    if entry is None:
        return []
    rest = {name: value for name, value in msgspec.to_builtins(entry.form).items() if name not in _IN_BLOCK}
    return [f"{words.form}\n{as_data(_redactor(state)(rest))}"] if rest else []


def _material(state: State, here: phases.TurnPhase | None) -> str:
    redacted = _redactor(state)
    data: dict[str, Any] = {"title": state.title, "facts": _facts(state)}
    data["uploads"] = _uploads(state)
    data["narrative"] = redacted(msgspec.to_builtins(state.narrative))
    before = state.before
    data["turns"] = redacted([_turn(state, turn) for turn in before])
    if here and here.role in ("claimant", "opposing"):
        data["points_to_answer"] = redacted(msgspec.to_builtins(points.to_answer(before, here.role)))
    if here and here.role == "verifier":
        data["unanswered"] = redacted(msgspec.to_builtins(points.unanswered(before, here.round)))
        hits = tuple(hit for turn in before if turn.round == here.round for hit in turn.unresolved)
        data["unresolved_hits"] = redacted(msgspec.to_builtins(hits))
    data["open_conditions"] = redacted(_conditions(state))
    words = texts.of(state.language)
    return f"{words.material}\n{as_data(data)}"


def _facts(state: State) -> dict[str, object]:
    facts, redacted = state.facts, _redactor(state)
    return {
        "confirmed": [_fact(fact) for fact in facts.confirmed],
        "disputed": [_fact(fact) for fact in facts.disputed],
        "unknown": redacted([{"id": each.id, "text": each.text, "status": UNKNOWN} for each in facts.questions]),
        "evidence": _evidence(facts),
        "timeline": redacted(msgspec.to_builtins(facts.timeline)),
        "corrections": redacted([correction.text for correction in facts.corrections]),
    }


def _redactor(state: State) -> Callable[[object], object]:
    return redaction.redactor(state.facts, state.evidence_texts)


def _evidence(facts: Facts) -> list[dict[str, Any]]:
    """What was typed, and of an upload its title: `uploads` has the text."""
    return [{"id": item.id, "title": item.title, "description": item.description} for item in facts.evidence]


def _uploads(state: State) -> list[dict[str, Any]]:
    """The beginnings of what was uploaded, as long as there is room for all of them together."""
    contained = uploads.in_prompts(state)
    items = {item.id: item for item in state.facts.evidence}
    return [
        {
            "id": identifier,
            "kind": items[identifier].kind,
            "title": items[identifier].title,
            "text": state.uploads[identifier][:chars],
            "cut": chars < len(state.uploads[identifier]),
        }
        for identifier, chars in contained.items()
    ]


def _fact(fact: Fact) -> dict[str, object]:
    fields = {"id": fact.id, "text": fact.text, "wording": fact.wording, "state": fact.state, "source": fact.source}
    return {**fields, "evidence": fact.evidence, "timeline": fact.timeline}


def _turn(state: State, turn: TurnRecord) -> dict[str, object]:
    output = redaction.without(state.facts, turn.output)
    made = _redactor(state)(msgspec.to_builtins(points.of(turn)))
    return {"phase": turn.phase, "output": output, "points": made, "unsupported": [hit.text for hit in turn.unresolved]}


def _conditions(state: State) -> list[str]:
    if not state.gate_history or isinstance(state.gate_history[-1].form, FactsForm):
        return []
    entry = state.gate_history[-1]
    return [item.text for item in (*entry.checklist, *entry.missing_evidence)]


def _stipulation(state: State) -> list[Message]:
    """No steering here: nothing is argued, so nothing is steered."""
    words, facts = texts.of(state.language), state.facts
    asked = json.dumps(outputs.phase_schema(phases.STIPULATE, state.case_type), ensure_ascii=False)
    redacted, about = _redactor(state), _about_uploads(state, words)
    data = {
        "narrative": redacted(msgspec.to_builtins(state.narrative)),
        "evidence": _evidence(facts),
        "timeline": redacted(msgspec.to_builtins(facts.timeline)),
        "corrections": redacted([correction.text for correction in facts.corrections]),
        "uploads": _uploads(state),
    }
    return [
        {"role": "system", "content": "\n\n".join([words.stipulate, *about, f"{words.schema}\n{asked}"])},
        {"role": "user", "content": f"{words.material}\n{as_data(data)}"},
    ]


def restipulation(state: State, refused: Iterable[RefusedItem]) -> str:
    """The message about items that no input supports, each with its reason."""
    words = texts.of(state.language)
    named = [_refusal(words, item) for item in refused]
    return "\n".join([words.restipulate, *named])


def _refusal(words: texts.LegalTexts, item: RefusedItem) -> str:
    what = item.particular if item.particular is not None else item.quote or item.text
    return f"- {item.reason} ({words.refusals[item.reason]}): {as_data(what)} / {as_data(item.text)}"


def _rewrite(words: texts.LegalTexts, draft: dict[str, object], hits: Iterable[Hit]) -> list[Message]:
    named = [f"- {words.checks[hit.check]} / {hit.field}: {as_data(hit.text)}" for hit in hits]
    return [
        {"role": "assistant", "content": json.dumps(draft, ensure_ascii=False)},
        {"role": "user", "content": "\n".join([words.rewrite, *named])},
    ]
