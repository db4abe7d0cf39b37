"""The section on custom material: files, worlds, personas, events, and measures with their tables."""

from collections.abc import Iterator, Mapping

import msgspec
from markupsafe import Markup
from msgspec import UNSET
from playmolt_schemas.stored.agora.world import Rules

from playmolt_agora.own_measures.results import OwnContent, OwnResult
from playmolt_agora.report import markup
from playmolt_agora.report.sections import Section

_DIGITS = 12
_ROWS = 200
TITLE = "Custom material"
_ABOUT = (
    "This chapter shows material that was supplied with the plan and locked with it by hash; it is not part of the "
    "software. Rooms are descriptive: PCS, H1, H2 and RI* are tested on the packaged phases only, and no test over a "
    "custom measure is registered."
)


def section(own: OwnContent) -> Section:
    return Section("own", TITLE, markup.joined(_parts(own)))


def _parts(own: OwnContent) -> Iterator[Markup]:
    yield markup.paragraph(_ABOUT)
    files = [(file.path, file.bytes, file.sha256[:_DIGITS]) for file in own.folder.files]
    yield markup.table("Files of the plan's folder", ("file", "bytes", "hash"), files)
    yield from _worlds(own)
    yield from _texts(own, "personas", "Personas")
    yield from _texts(own, "events", "Events")
    for result in own.measures:
        yield _measure(result)


def _worlds(own: OwnContent) -> Iterator[Markup]:
    for room in {room.world: room for room in own.rooms}.values():
        if room.rules is not UNSET:
            rules = msgspec.to_builtins(msgspec.convert(room.rules, Rules))
            lines = [(name, value) for name, value in _flat(rules) if value not in ("", {}, [], None)]
            yield markup.folded(f"World {room.world}", markup.table(f"Rules of {room.world}", ("rule", "value"), lines))


def _texts(own: OwnContent, place: str, title: str) -> Iterator[Markup]:
    paths = [path for path in own.texts if path.startswith(f"{place}/")]
    if paths:
        yield markup.table(title, ("file", "text"), [(path, own.texts[path]) for path in paths])


def _measure(result: OwnResult) -> Markup:
    head = markup.heading(f"Measure {result.name}")
    if result.code is not None or result.declared is None:
        return head + markup.paragraph(f"{result.code}: {result.detail}", "warning")
    labels = {name: label["en"] for name, label in result.declared.labels.items()}
    columns = [labels.get(name, name) for name in result.declared.columns]
    lines = [tuple(row.values()) for row in result.table.slice(0, _ROWS).to_pylist()]
    more = f" (the first {_ROWS} of {result.rows})" if (result.rows or 0) > _ROWS else ""
    return head + markup.table(f"{result.declared.table}{more}", columns, lines)


def _flat(value: object, head: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _flat(inner, f"{head}.{name}" if head else str(name))
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{head}[{number}]")
    else:
        yield head, ", ".join(map(str, value)) if isinstance(value, list) else value
