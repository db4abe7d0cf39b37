"""The plan of a panel: a TOML file, read with all its faults at once."""

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final, get_args

from playmolt_core.game.packs.faults import Lines, Path
from playmolt_core.game.packs.toml_lines import lines_of, syntax_fault
from playmolt_schemas.canonical import digest
from playmolt_schemas.games.jury_panels import PanelFault, PanelFaultCode
from playmolt_schemas.stored.jury import Language
from playmolt_schemas.stored.panels import (
    JURIES_MOST,
    SCRIPTS_MOST,
    TEXT_CHARS,
    PanelBudget,
    PanelChain,
    PanelPlan,
    PlannedStep,
)
from playmolt_schemas.text import composed_text, trimmed, unstorable

from playmolt_jury.content.material import Material
from playmolt_jury.content.pack import Pack

JURIES_FEWEST: Final = 2
ROUNDS_MOST: Final = 8
SEED_MOST: Final = 2**53
CALLS_MOST: Final = 10**12
_TEMPERATURE_MOST: Final = 2
_PLACES_MOST: Final = 20
"""Decimal places of a temperature, and the digits of an amount that is looked at."""
_SHOWN_BELOW: Final = 10**20
_SCRIPT: Final = re.compile(r"[A-Za-z0-9_-]{1,20}")
_DECIMAL: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_NAMES: Final[Mapping[type, str]] = {
    str: "a text in quotes", int: "a whole number", bool: "true or false", list: "a list",
    dict: "tables: begin each step with [[scripts.A]], where A is the script",
}  # fmt: skip
_KEYS: Final = (
    "case", "language", "n", "seed", "jurors", "scripts", "deliberation", "budget", "compare", "shuffle", "chain",
    "temperature",
)  # fmt: skip
_STEP_KEYS: Final = ("juror", "text", "evidence")
_LIMITS: Final = ("money", "tokens", "calls")

Table = Mapping[str, Any]
"""A table of TOML."""
Cases = Callable[[str], Pack | None]
"""The case with an id, or the shipped one for ""; None if the caller cannot use it."""


def case_of(plan: object) -> str:
    """The case that a plan names, as far as it can be read; "" for the shipped one."""
    values = _parsed(plan)
    case = values.get("case") if isinstance(values, Mapping) else None
    return case if isinstance(case, str) else ""


def read(plan: object, cases: Cases, aliases: Collection[str]) -> PanelPlan | tuple[PanelFault, ...]:
    """The plan in a TOML text, or in a table that was read from one, which has no lines; else every fault of it."""
    if isinstance(plan, str):
        plan = plan.removeprefix("\ufeff")
    values = _parsed(plan)
    if isinstance(values, PanelFault):
        return (values,)
    reader = _Reader(lines_of(plan) if isinstance(plan, str) else None)
    found = reader.plan(values, cases, aliases)
    if reader.faults or found is None:
        return tuple(sorted(reader.faults, key=lambda fault: fault.line or 0))
    return found


def identity(plan: PanelPlan) -> str:
    """What makes two plans the same panel: all but the budget."""
    return digest({name: value for name, value in _fields(plan) if name != "budget"})


def _fields(plan: PanelPlan) -> Iterator[tuple[str, object]]:
    return ((name, getattr(plan, name)) for name in plan.__struct_fields__)


def _parsed(plan: object) -> Table | PanelFault:
    if isinstance(plan, Mapping):
        return plan
    if not isinstance(plan, str):
        return PanelFault("plan", "must be the text of a TOML file", line=None, code="wrong_type")
    try:
        return tomllib.loads(plan, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        line, reason = syntax_fault(plan, error)
        return PanelFault("plan", f"is not valid TOML: {reason}", line=line, code="syntax")


class _Reader:
    """Reads the values of a plan and collects their faults."""

    def __init__(self, lines: Lines | None) -> None:
        self.faults: list[PanelFault] = []
        self._lines = lines

    def fault(self, path: Path, code: PanelFaultCode, message: str) -> None:
        field = "plan" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
        self.faults.append(PanelFault(field, message, line=self._line(path), code=code))

    def _line(self, path: Path) -> int | None:
        if self._lines is None:
            return None
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def plan(self, values: Table, cases: Cases, aliases: Collection[str]) -> PanelPlan | None:
        self._known((), values, _KEYS)
        pack = self._case(values, cases)
        language = self._language(values, pack)
        material = pack.materials[language] if pack and language else None
        n = self._number(values, ("n",), JURIES_FEWEST, JURIES_MOST)
        seed = self._number(values, ("seed",), 0, SEED_MOST, default=1)
        jurors = self._jurors(values.get("jurors", "scripted"), material, aliases)
        scripts = self._scripts(values, material)
        deliberation = self._deliberation(values.get("deliberation", True), material)
        budget = self._budget(values.get("budget", {}))
        compare = self._compare(values, scripts)
        shuffle = self._typed(values, ("shuffle",), bool, default=False)
        chain = self._chain(values)
        temperature = self._temperature(values.get("temperature"))
        if self.faults or pack is None or material is None:
            return None
        return PanelPlan(
            case=pack.id, case_digest=pack.digest, language=material.language, n=n, seed=seed, jurors=jurors,
            scripts=scripts, deliberation=deliberation, budget=budget, compare=compare, shuffle=shuffle, chain=chain,
            temperature=temperature,
        )  # fmt: skip

    def _known(self, path: Path, values: Mapping[str, object], keys: Collection[str]) -> None:
        for key in values:
            if key not in keys:
                message = f"is an unknown key; remove it, or use one of {', '.join(keys)}"
                self.fault((*path, key), "unknown_key", message)

    def _typed(self, values: Table, path: Path, kind: type, default: object = None) -> Any:
        """The value of a key; None with a fault if it is missing or of another type."""
        value = values.get(str(path[-1]), default)
        if value is None:
            self.fault(path, "missing_key", f"is missing; add {path[-1]}")
        elif type(value) is not kind:  # bool is a subclass of int in Python only
            self.fault(path, "wrong_type", f"must be {_NAMES[kind]}")
            return None
        return value

    def _number(self, values: Table, path: Path, least: int, most: int, default: int | None = None) -> int:
        value = self._typed(values, path, int, default)
        if value is not None and not least <= value <= most:
            self.fault(path, "out_of_bounds", f"is {_shown(value)}; choose {least} to {most}")
        return value or 0

    def _chain(self, values: Table) -> PanelChain:
        value = values.get("chain", "none")
        if value not in get_args(PanelChain):
            self.fault(("chain",), "wrong_type", f"must be one of {', '.join(get_args(PanelChain))}")
        return "last" if value == "last" else "none"

    def _case(self, values: Table, cases: Cases) -> Pack | None:
        name = self._typed(values, ("case",), str, default="")
        if name is None:
            return None
        pack = cases(name)
        if pack is None:
            self.fault(("case",), "bad_reference", f"{name!r} is not a case that this key can use; GET /api/jury/cases")
        return pack

    def _language(self, values: Table, pack: Pack | None) -> Language | None:
        language = self._typed(values, ("language",), str)
        offered = tuple(pack.materials) if pack else get_args(Language)
        if language is not None and language not in offered:
            self.fault(("language",), "bad_reference", f"must be a language of the case: {', '.join(offered)}")
            return None
        found: Language | None = language
        return found

    def _jurors(self, value: object, material: Material | None, aliases: Collection[str]) -> dict[str, str]:
        if isinstance(value, str):
            self._alias(("jurors",), value, aliases)
            return dict.fromkeys(_ids(material), value)
        if not isinstance(value, Mapping):
            self.fault(("jurors",), "wrong_type", "must be the alias of a model, or a table juror = alias")
            return {}
        for juror, alias in value.items():
            self._juror(("jurors", juror), juror, material)
            if isinstance(alias, str):
                self._alias(("jurors", juror), alias, aliases)
            else:
                self.fault(("jurors", juror), "wrong_type", "must be the alias of a model in quotes")
        for each in material.jurors if material else ():
            if each.id not in value:
                self.fault(("jurors",), "missing_key", f"names no model for {each.id}; add {each.id} = ALIAS")
        return {juror: str(value.get(juror)) for juror in _ids(material)}

    def _alias(self, path: Path, alias: str, aliases: Collection[str]) -> None:
        if alias not in aliases:
            self.fault(path, "bad_reference", f"{alias!r} is not a model here; use one of {', '.join(aliases)}")

    def _juror(self, path: Path, juror: object, material: Material | None) -> None:
        known = [each.id for each in material.jurors] if material else []
        if material and juror not in known:
            self.fault(path, "bad_reference", f"{juror!r} is not a juror of the case; use one of {', '.join(known)}")

    def _scripts(self, values: Table, material: Material | None) -> dict[str, tuple[PlannedStep, ...]]:
        tables = self._typed(values, ("scripts",), dict)
        if tables is None:
            return {}
        if not 1 <= len(tables) <= SCRIPTS_MOST:
            self.fault(("scripts",), "out_of_bounds", f"has {len(tables)} scripts; a panel has 1 to {SCRIPTS_MOST}")
        # In the order of names, as they are stored.
        return {name: self._script(name, tables[name], material) for name in sorted(tables)}

    def _script(self, name: str, steps: object, material: Material | None) -> tuple[PlannedStep, ...]:
        if not _SCRIPT.fullmatch(name):
            self.fault(("scripts", name), "out_of_bounds", "a script's name is 1 to 20 letters, digits, - and _")
        if not isinstance(steps, list) or not all(isinstance(step, Mapping) for step in steps):
            self.fault(("scripts", name), "wrong_type", f"must be a list of tables: [[scripts.{name}]]")
            return ()
        if not steps:
            self.fault(("scripts", name), "out_of_bounds", "has no step; add at least one")
        found = [self._step(("scripts", name, place), step, material) for place, step in enumerate(steps)]
        spoken: dict[str, int] = {}
        most = material.rules.rounds if material else len(steps)
        for place, step in enumerate(found):
            spoken[step.juror] = spoken.get(step.juror, 0) + 1
            if spoken[step.juror] == most + 1:
                message = f"is step {most + 1} for {step.juror}; the case allows {most} with a juror"
                self.fault(("scripts", name, place), "out_of_bounds", message)
        return tuple(found)

    def _step(self, path: Path, step: Table, material: Material | None) -> PlannedStep:
        self._known(path, step, _STEP_KEYS)
        juror = self._typed(step, (*path, "juror"), str)
        if juror is not None:
            self._juror((*path, "juror"), juror, material)
        if ("text" in step) == ("evidence" in step):
            wrong = "has both text and evidence; use one" if "text" in step else "needs text or evidence"
            self.fault(path, "missing_key", wrong)
            return PlannedStep(juror=juror or "")
        if "text" in step:
            return PlannedStep(juror=juror or "", text=self._text((*path, "text"), step))
        return PlannedStep(juror=juror or "", evidence=self._evidence((*path, "evidence"), step, material))

    def _text(self, path: Path, step: Table) -> str:
        given = self._typed(step, path, str)
        if given is None:
            return ""
        text = composed_text(trimmed(given))
        if not 1 <= len(text) <= TEXT_CHARS:
            self.fault(path, "out_of_bounds", f"has {len(text)} characters; write 1 to {TEXT_CHARS}")
        elif unstorable(text):
            self.fault(path, "out_of_bounds", "has NUL or half of a surrogate pair; leave it out")
        return text

    def _evidence(self, path: Path, step: Table, material: Material | None) -> str:
        item: str | None = self._typed(step, path, str)
        if item is None or material is None:
            return item or ""
        found = next((each for each in material.evidence if each.id == item), None)
        open_items = ", ".join(each.id for each in material.evidence if not each.locked)
        if found is None:
            self.fault(path, "bad_reference", f"{item!r} is not an item of the case; use one of {open_items}")
        elif found.locked:
            message = f"{item} is locked until a witness cracks, and a panel questions none; use one of {open_items}"
            self.fault(path, "bad_reference", message)
        return item

    def _deliberation(self, value: object, material: Material | None) -> int:
        if value is True:
            return material.rules.deliberation if material else 0
        if value is False:
            return 0
        if not isinstance(value, int):
            self.fault(("deliberation",), "wrong_type", "must be a number of rounds, or true for those of the case")
            return 0
        if not 0 <= value <= ROUNDS_MOST:
            self.fault(("deliberation",), "out_of_bounds", f"is {_shown(value)}; choose 0 to {ROUNDS_MOST}, or true")
        return value

    def _budget(self, value: object) -> PanelBudget:
        if not isinstance(value, Mapping):
            self.fault(("budget",), "wrong_type", f"must be a table of {', '.join(_LIMITS)}")
            return PanelBudget()
        self._known(("budget",), value, _LIMITS)
        money = value.get("money")
        counts = {
            name: self._number(value, ("budget", name), 0, CALLS_MOST) for name in ("tokens", "calls") if name in value
        }
        return PanelBudget(money=None if money is None else self._decimal(("budget", "money"), money), **counts)

    def _decimal(self, path: Path, value: object) -> str | None:
        """Money as decimal text; numbers of TOML are exact here."""
        text = value if isinstance(value, str) else f"{value:f}" if _is_number(value) and _is_short(value) else ""
        if not _DECIMAL.fullmatch(text):
            self.fault(path, "wrong_type", 'must be an amount from 0, such as 2.50 or "2.50"')
            return None
        return text

    def _compare(self, values: Table, scripts: Mapping[str, object]) -> tuple[str, str] | None:
        if "compare" not in values:
            return None
        pair = values["compare"]
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            self.fault(("compare",), "wrong_type", 'must be a list of two scripts, such as ["A", "B"]')
            return None
        for place, name in enumerate(pair):
            if name not in scripts:
                known = ", ".join(scripts) or "none"
                self.fault(("compare", place), "bad_reference", f"{name!r} is not a script of the plan: {known}")
        if pair[0] == pair[1]:
            self.fault(("compare",), "bad_reference", "names one script twice; compare two different ones")
        return (pair[0], pair[1])

    def _temperature(self, value: object) -> str | None:
        if value is None:
            return None
        try:
            number = Decimal(value) if isinstance(value, str) or _is_number(value) else None  # type: ignore[arg-type]
        except InvalidOperation:
            number = None
        if number is None or not _is_short(number) or not 0 <= number <= _TEMPERATURE_MOST:
            self.fault(("temperature",), "out_of_bounds", f"must be a number from 0 to {_TEMPERATURE_MOST}")
            return None
        return f"{abs(number):f}"


def _ids(material: Material | None) -> list[str]:
    """The jurors in the order in which plans are stored."""
    return sorted(juror.id for juror in material.jurors) if material else []


def _is_number(value: object) -> bool:
    return isinstance(value, int | Decimal | float) and not isinstance(value, bool)


def _shown(value: int) -> str:
    """Python writes no number of more than 4,300 digits."""
    return str(value) if abs(value) < _SHOWN_BELOW else "too large" if value > 0 else "too small"


def _is_short(value: object) -> bool:
    """Whether a number can be written with few digits: `1e-999999999` takes as many bytes."""
    found = Decimal(value)  # type: ignore[arg-type]
    parts = found.as_tuple()
    return isinstance(parts.exponent, int) and parts.exponent >= -_PLACES_MOST and found.adjusted() <= _PLACES_MOST
