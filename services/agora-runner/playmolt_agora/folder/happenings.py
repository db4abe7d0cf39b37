"""Files of events of a plan's folder."""

from collections.abc import Sequence
from typing import Final

from playmolt_schemas.agora.turn import Language

from playmolt_agora.folder import toml_file
from playmolt_agora.folder.source import Source
from playmolt_agora.folder.toml_file import TomlFile
from playmolt_agora.world.own_world import OwnEvent

EVENTS_MOST: Final = 200


def read(source: Source, name: str, languages: Sequence[Language]) -> dict[int, OwnEvent]:
    """The events of a file by their place in it; those at fault are left out, and the source has the faults."""
    found = toml_file.read(source, f"events/{name}.toml")
    if found is None:
        return {}
    listed = found.values.get("event", [])
    unknown = [key for key in found.values if key != "event"]
    source.faults += [found.at.fault(key, "no such key; there is [[event]]", "unknown_key") for key in unknown]
    if not isinstance(listed, list):
        source.faults.append(found.at.fault("event", "must be a list of tables: write [[event]]", "wrong_type"))
        return {}
    if len(listed) > EVENTS_MOST:
        source.faults.append(found.at.fault("event", f"has {len(listed)} events; at most {EVENTS_MOST} are taken"))
        return {}
    kept: dict[int, OwnEvent] = {}
    for number, values in enumerate(listed):
        event = _event(source, found, number, values, languages)
        kept |= {} if event is None else {number: event}
    return kept


def _event(
    source: Source, file: TomlFile, number: int, values: object, languages: Sequence[Language]
) -> OwnEvent | None:
    field = f"event[{number}]"
    event = toml_file.converted(OwnEvent, values, file.at, field)
    if isinstance(event, list):
        source.faults += event
        return None
    source.faults += [
        file.at.fault(f"{field}.{language}", f"has no text in {language}, a language of the plan", "missing_text")
        for language in languages
        if not event.in_language(language).strip()
    ]
    return event
