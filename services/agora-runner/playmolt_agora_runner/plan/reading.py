"""Reading a plan: checked whole, every fault under its field's name; and the plans that come with the software."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Final

import msgspec
from playmolt_schemas.agora.plan import PLAN_BYTES, PlanFault
from playmolt_schemas.body_fields import Faults
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.stored.agora.plan import Author, Hypothesis, Plan, PlannedSeedEvent, RoomPlan, Stage1Import
from playmolt_schemas.stored.agora.turn import Interview
from playmolt_schemas.text import trimmed, unstorable

from playmolt_agora_runner.folder.source import ALL_READ, FaultyParts, KeyLines, Places
from playmolt_agora_runner.plan import attribution, document, stage1_import
from playmolt_agora_runner.plan.faults import faults_of
from playmolt_agora_runner.plan.plan import known_tests
from playmolt_agora_runner.struct_reader import StructReader

FIELDS: Final = StructReader("an object", "field", "unknown_field", fills=True)
_RESTS_ON: Final = {
    "stage1_import": ("models", "phases.stage1", "phases.phase1"),
    "adaptive": ("phases.phase1",),
    "adaptive.max_runs": ("phases.phase1",),
    "adaptive.measure": ("phases.stage1", "stage1_import"),
    "seed_events": ("phases.phase2",),
}
"""Fields whose faults say nothing where these are at fault themselves."""
_OF_MODELS: Final = ("unknown_model", "unknown_test")
_BESIDE_KIND: Final = ("id", "at", "ask", "who", "code")
_QUESTION: Final = re.compile(r"interviews\[\d+\]")
_STAND_INS: Final = {"name": "?", "models": ["?"]}
"""In place of what every plan needs, so that one at fault hides nothing else."""
_LISTS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "rooms": RoomPlan,
    "interviews": Interview,
    "seed_events": PlannedSeedEvent,
    "authors": Author,
}
_PLANS: Final = files("playmolt_agora_runner").joinpath("plans")


class ParsedPlan(msgspec.Struct, frozen=True):
    """A plan as far as it reads; a field at fault has its default there. None where nothing can be worked out."""

    plan: Plan | None
    faults: tuple[PlanFault, ...] = ()
    lines: Mapping[str, int] = {}
    """The lines of fields in the text."""
    places: Places = ALL_READ

    def placed(self, faults: Iterable[PlanFault]) -> tuple[PlanFault, ...]:
        """Faults with their lines in the plan; those of another file have theirs."""
        at = KeyLines("", self.lines)
        return tuple(
            fault if fault.file else msgspec.structs.replace(fault, line=at.line(fault.field)) for fault in faults
        )


def read(body: object, imported: Mapping[str, str] | None = None) -> Plan | Faults:
    """Read a plan, from YAML, JSON or a parsed request; else give all its faults, each under the name of its field.

    `imported` is file name → text for the file that `stage1_import` may name. What is given holds no shorthand: short
    names of hypotheses are written out, an imported file's counts are included.
    """
    found = reading(body, imported)
    return found.plan if found.plan is not None and not found.faults else found.faults


def reading(body: object, imported: Mapping[str, str] | None = None) -> ParsedPlan:
    """Read as much of a plan, a text or a parsed one, as there is, with every fault of it."""
    try:
        values = _loaded(body) if isinstance(body, str) else document.plain(body)
    except document.Unreadable as error:
        return ParsedPlan(None, (PlanFault("", str(error), code="unreadable", line=error.line),))
    lines = document.lines(body) if isinstance(body, str) else {}
    values = _with_choices(document.amounts(values))
    plan, faults = FIELDS.partly(Plan, values)
    if plan is None and isinstance(values, dict):
        stand_ins = {name: value for name, value in _STAND_INS.items() if _wrong(faults).inside(name)}
        plan, _ = FIELDS.partly(Plan, values | stand_ins)
    read = ParsedPlan(None, lines=lines)
    if plan is not None:
        plan = attribution.canonical(msgspec.structs.replace(plan, hypotheses=tuple(_whole(plan))))
        if isinstance(plan.stage1_import, str):
            counts = _imported(plan.stage1_import, imported or {})
            faults += () if isinstance(counts, Stage1Import) else counts
            plan = msgspec.structs.replace(plan, stage1_import=counts if isinstance(counts, Stage1Import) else None)
        wrong = _wrong(faults)
        places = {name: kept for name, kind in _LISTS.items() if (kept := _kept(values, name, kind)) is not None}
        alone = chain(faults_of(plan, places, rooms_read=not wrong.inside("rooms")), attribution.faults(plan, places))
        faults += [each for each in alone if not _follows(each, wrong)]
        read = ParsedPlan(plan, (), lines, places)
    return msgspec.structs.replace(read, faults=read.placed(faults))


def _wrong(faults: Iterable[PlanFault]) -> FaultyParts:
    """What is at fault; an unknown field says nothing of others, but for those of a question."""
    return FaultyParts(
        each.field for each in faults if each.code != "unknown_field" or each.field.startswith("interviews[")
    )


def _follows(fault: PlanFault, wrong: FaultyParts) -> bool:
    """Whether a fault follows from those with which the plan was read."""
    field = fault.field
    if fault.code in _OF_MODELS and wrong.inside("models"):
        return True
    if field in ("hypotheses", "phases"):  # which are read one by one
        return field in wrong.fields
    if _QUESTION.fullmatch(field):
        # It lacks a kind or has two, which a misspelt key explains.
        inside = (each.removeprefix(f"{field}.") for each in wrong.fields if each.startswith(f"{field}."))
        return any(re.split(r"[.\[]", each)[0] not in _BESIDE_KIND for each in inside)
    return any(map(wrong.inside, (field, *_RESTS_ON.get(field, ()))))


def _with_choices(values: object) -> object:
    """A bare list of choices belongs to the only language of the plan."""
    if not isinstance(values, dict) or not isinstance(asked := values.get("interviews"), list):
        return values
    languages = values.get("languages")
    only = languages[0] if isinstance(languages, list) and len(languages) == 1 else None
    listed = [
        {**each, "choices": {only: each["choices"]}}
        if only is not None and isinstance(each, dict) and isinstance(each.get("choices"), list)
        else each
        for each in asked
    ]
    return {**values, "interviews": listed}


def _kept(values: object, name: str, kind: type[msgspec.Struct]) -> tuple[int, ...] | None:
    """The places of a list's entries that read; None if these are all of them."""
    listed = values.get(name) if isinstance(values, dict) else None
    if not isinstance(listed, list):
        return None
    kept = tuple(at for at, each in enumerate(listed) if FIELDS.partly(kind, each)[0] is not None)
    return None if len(kept) == len(listed) else kept


def _loaded(text: str) -> object:
    if len(text.encode("utf-8", "surrogatepass")) > PLAN_BYTES:
        raise document.Unreadable(f"a plan has at most {PLAN_BYTES} bytes")
    if unstorable(text):
        raise document.Unreadable("a plan must not contain NUL or lone surrogates")
    return document.load(text)


def text_of(values: object) -> str:
    """The text of a parsed plan that is preregistered: canonical JSON, numbers as the decimals they were written as."""
    return canonical_json(document.plain(values)).decode()


def preset(name: str) -> str:
    """The text of a plan that comes with the software: `white-room`, `white-room-stage1`, `pilots`, `pilot-real`,
    `example`, which explains every field.

    LookupError names those there are.
    """
    if name not in presets():
        raise LookupError(f"no plan {name!r}; there are {', '.join(presets())}")
    return _PLANS.joinpath(f"{name}.yaml").read_text(encoding="utf-8")


@cache
def presets() -> tuple[str, ...]:
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in _PLANS.iterdir() if entry.name.endswith(".yaml")))


def imports(text: str) -> tuple[str, ...]:
    """The names of the files that `read` wants in `imported`; none where the text does not read."""
    try:
        values = document.load(text)
    except document.Unreadable:
        return ()
    name = values.get("stage1_import") if isinstance(values, dict) else None
    return (name,) if isinstance(name, str) else ()


def _whole(plan: Plan) -> Iterator[Hypothesis]:
    """Write short names out: `pcs` is that of every model. A name that is unknown stays and becomes a fault."""
    known = {test.lower(): test for test in known_tests(plan)}
    for entry in plan.hypotheses:
        # No test's name has a space in it, every sentence has.
        if isinstance(entry, str):
            hypothesis = Hypothesis(claim=entry) if " " in trimmed(entry) else Hypothesis(test=entry)
        else:
            hypothesis = entry
        name = trimmed(hypothesis.test).lower()
        family = [test for low, test in known.items() if low.startswith(f"{name}:")]
        for test in family or [known.get(name, hypothesis.test)]:
            yield msgspec.structs.replace(hypothesis, test=test)


def _imported(name: str, imported: Mapping[str, str]) -> Stage1Import | tuple[PlanFault, ...]:
    if name not in imported:
        message = f"the file {name} does not exist beside the plan; a request body takes {{file, runs}} instead"
        return (PlanFault("stage1_import", message, code="missing_file"),)
    return stage1_import.read(name, imported[name])
