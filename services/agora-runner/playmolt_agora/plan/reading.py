"""Reading a plan: checked whole, every fault under its field's name; and the plans that come with the software."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec
from playmolt_schemas.agora.plan import PLAN_BYTES, Hypothesis, Plan, Stage1Import
from playmolt_schemas.body_fields import Faults
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.text import trimmed, unstorable

from playmolt_agora.plan import document, stage1_import, structs
from playmolt_agora.plan.faults import faults_of
from playmolt_agora.plan.plan import known_tests

_PLANS: Final = files("playmolt_agora").joinpath("plans")


def read(text: str, imported: Mapping[str, str] | None = None) -> Plan | Faults:
    """Read a plan from YAML or JSON; else give all its faults, each under the name of its field.

    `imported` is file name → text for the file that `stage1_import` may name. What is given holds no shorthand: short
    names of hypotheses are written out, an imported file's counts stand in it.
    """
    if len(text.encode("utf-8", "surrogatepass")) > PLAN_BYTES:
        return (FieldFault("", f"a plan has at most {PLAN_BYTES} bytes"),)
    if unstorable(text):
        return (FieldFault("", "a plan must not hold NUL or lone surrogates"),)
    try:
        return read_document(document.load(text), imported)
    except document.Unreadable as error:
        return (FieldFault("", str(error)),)


def read_document(values: Any, imported: Mapping[str, str] | None = None) -> Plan | Faults:
    """Read a plan that has been parsed already, as a request's body is; else as `read`."""
    try:
        plan = structs.read(Plan, document.plain(values))
    except document.Unreadable as error:
        return (FieldFault("", str(error)),)
    if not isinstance(plan, Plan):
        return plan
    plan = msgspec.structs.replace(plan, hypotheses=tuple(_whole(plan)))
    if isinstance(plan.stage1_import, str):
        found = _imported(plan.stage1_import, imported or {})
        if not isinstance(found, Stage1Import):
            return found
        plan = msgspec.structs.replace(plan, stage1_import=found)
    return tuple(faults_of(plan)) or plan


def text_of(values: Any) -> str:
    """The text of a parsed plan that is preregistered: canonical JSON, numbers as the decimals they were written as."""
    return canonical_json(document.plain(values)).decode()


def preset(name: str) -> str:
    """The text of a plan that comes with the software: `white-room`, `white-room-stage1`, `pilots`, `example`.

    LookupError names those there are.
    """
    if name not in presets():
        raise LookupError(f"no plan {name!r}; there are {', '.join(presets())}")
    return _PLANS.joinpath(f"{name}.yaml").read_text(encoding="utf-8")


@cache
def presets() -> tuple[str, ...]:
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in _PLANS.iterdir() if entry.name.endswith(".yaml")))


def example() -> str:
    """A commented plan that names every field."""
    return preset("example")


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
        hypothesis = _hypothesis(entry)
        name = trimmed(hypothesis.test).lower()
        family = [test for low, test in known.items() if low.startswith(f"{name}:")]
        for test in family or [known.get(name, hypothesis.test)]:
            yield msgspec.structs.replace(hypothesis, test=test)


def _hypothesis(entry: str | Hypothesis) -> Hypothesis:
    """No test's name has a space in it, every sentence has."""
    if isinstance(entry, Hypothesis):
        return entry
    return Hypothesis(claim=entry) if " " in trimmed(entry) else Hypothesis(test=entry)


def _imported(name: str, imported: Mapping[str, str]) -> Stage1Import | Faults:
    if name not in imported:
        return (FieldFault("stage1_import", f"{name}: no such file was given; a body takes {{file, runs}} instead"),)
    return stage1_import.read(name, imported[name])
