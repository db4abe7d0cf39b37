"""Everything that questions asked aside can be refused for, each fault at the field that has it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import UNSET
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.stored.agora.plan import LockedRoom, Plan
from playmolt_schemas.stored.agora.turn import EVERYONE, Interview, InterviewScale
from playmolt_schemas.text import trimmed

from playmolt_agora_runner.folder.source import ALL_READ, Places, placed, twice
from playmolt_agora_runner.plan import matrix
from playmolt_agora_runner.plan.plan import all_languages
from playmolt_agora_runner.plan.plan_texts import PlanText

_KINDS: Final = ("scale", "choices", "text")
_STEPS: Final = 100
"""The largest scale."""
_FEWEST: Final = 2


def faults_of(plan: Plan, places: Places = ALL_READ) -> Iterator[PlanFault]:
    """The faults that the plan alone shows."""
    names = Counter(interview.id for interview in plan.interviews or ())
    for at, interview in placed("interviews", plan.interviews or (), places):
        if names[interview.id] > 1:
            yield PlanFault(f"{at}.id", f"{interview.id} is the id of {names[interview.id]} questions")
        yield from twice(f"{at}.at", map(str, interview.at))
        yield from _kind_faults(plan, interview, at)
        for language in all_languages(plan):
            if not trimmed(interview.ask.of(language)):
                message = f"has no text in {language}, a language of the plan"
                yield PlanFault(f"{at}.ask.{language}", message, code="missing_text")
    for text in texts_of(plan, places):
        yield from (PlanFault(text.place, fault, code="asymmetric") for fault in text.faults())


def of_seats(plan: Plan, rooms: Sequence[LockedRoom], places: Places = ALL_READ) -> Iterator[PlanFault]:
    """The faults that show in the runs of the plan: questions without an agent or a turn.

    Rooms that are missing because of a file at fault still have their seats, and their turns if the plan names them.
    """
    cells = matrix.cells(plan, rooms)
    missing = [room for room in plan.rooms or () if room.runs and room.name not in {each.name for each in rooms}]
    lengths = [*(cell.turns for cell in cells), *(room.turns for room in missing)]
    longest = max((turns for turns in lengths if turns), default=0)
    personas = {seat.persona for cell in cells for seat in matrix.seats_of(plan, cell, 1)}
    personas |= {seat.persona for room in missing for seat in room.seats}
    for at, interview in placed("interviews", plan.interviews or (), places):
        for number, turn in enumerate(interview.at):
            if lengths and None not in lengths and turn > longest:
                message = f"turn {turn} exceeds the {longest} turns of the longest run"
                yield PlanFault(f"{at}.at[{number}]", message)
        if personas and interview.who not in (EVERYONE, *personas):
            known = ", ".join(sorted(filter(None, personas))) or "none"
            message = f"{interview.who} is neither {EVERYONE} nor a persona of this plan; it has {known}"
            yield PlanFault(f"{at}.who", message)


def _kind_faults(plan: Plan, interview: Interview, at: str) -> Iterator[PlanFault]:
    named = [name for name in _KINDS if getattr(interview, name) not in (UNSET, False)]
    if interview.text is False:
        yield PlanFault(f"{at}.text", "can only be true; leave it out otherwise")
    if len(named) != 1:
        found = f"it has {' and '.join(named)}" if named else "it has none of them"
        yield PlanFault(at, f"a question has exactly one of scale, choices and text: true; {found}")
    if isinstance(interview.scale, InterviewScale):
        least, most = interview.scale.from_, interview.scale.to
        if least >= most:
            yield PlanFault(f"{at}.scale", f"goes from {least} to {most}; `to` must be above `from`")
        elif most - least >= _STEPS:
            yield PlanFault(f"{at}.scale", f"has {most - least + 1} steps; the limit is {_STEPS}")
    if interview.choices is not UNSET:
        yield from _choice_faults(plan, interview, f"{at}.choices")
    if interview.code and not interview.text:
        yield PlanFault(f"{at}.code", "judges code answers in words: it needs text: true")


def _choice_faults(plan: Plan, interview: Interview, at: str) -> Iterator[PlanFault]:
    listed = {language: interview.choices_in(language) for language in all_languages(plan)}
    for language, texts in listed.items():
        place = f"{at}.{language}"
        if not texts:
            yield PlanFault(place, f"has no choices in {language}, a language of the plan", code="missing_text")
        elif len(texts) < _FEWEST:
            yield PlanFault(place, f"has {len(texts)} choice; a question needs at least {_FEWEST}")
        for text, count in Counter(trimmed(text) for text in texts).items():
            if count > 1 or not text:
                yield PlanFault(place, f"names {text!r} {count} times" if text else "has an empty choice")
    lengths = {language: len(texts) for language, texts in listed.items() if len(texts) >= _FEWEST}
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{count} in {language}" for language, count in lengths.items())
        yield PlanFault(at, f"has {counted}; both languages have equally many", code="asymmetric")


def texts_of(plan: Plan, places: Places = ALL_READ) -> Iterator[PlanText]:
    """The texts of all questions that are in both languages, also those of choices; none where one is played."""
    if len(all_languages(plan)) == 1:
        return
    for at, interview in placed("interviews", plan.interviews or (), places):
        pairs = [(f"{at}.ask", interview.ask.ko, interview.ask.en)]
        korean, english = interview.choices_in("ko"), interview.choices_in("en")
        if interview.choices and len(korean) == len(english):
            pairs += [(f"{at}.choices", ko, en) for ko, en in zip(korean, english, strict=True)]
        yield from (PlanText(field, ko, en) for field, ko, en in pairs if trimmed(ko) and trimmed(en))
