"""Personas and event files of a plan's folder."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, get_args

import msgspec
from msgspec import Meta
from playmolt_schemas.stored.agora.own_world import Both, OwnEvent
from playmolt_schemas.stored.agora.plan import Name
from playmolt_schemas.stored.agora.turn import ConstraintLevel, Language, Persona

from playmolt_agora_runner.folder import toml_file
from playmolt_agora_runner.folder.source import Source
from playmolt_agora_runner.folder.toml_file import TomlFile
from playmolt_agora_runner.turn.scene import Scene

PACKAGED: Final[tuple[str, ...]] = get_args(Persona)
Text = Annotated[str, Meta(max_length=4000)]


class OwnPersona(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A persona: its text, how strongly that instructs the agent, where it starts."""

    title: Both = Both()
    ko: Text = ""
    en: Text = ""
    constraint_level: ConstraintLevel = "none"
    home: Name | None = None

    def in_language(self, language: Language) -> str:
        return (self.ko if language == "ko" else self.en).strip("\n")


def read(source: Source, name: str, languages: Sequence[Language]) -> OwnPersona | None:
    """Read a persona's file as far as it is sound; None where there is nothing to read. The source gets the faults."""
    path = f"personas/{name}.toml"
    found = toml_file.read(source, path)
    if found is None:
        return None
    persona, faults = toml_file.partly(OwnPersona, found.values, found.at, "")
    source.faults += faults
    if persona is None:
        return None
    wrong = {fault.field for fault in faults}
    source.faults += [
        found.at.fault(language, f"has no text in {language}, a language of the plan", "missing_text")
        for language in languages
        if not persona.in_language(language).strip() and language not in wrong
    ]
    source.faults += [
        found.at.fault(f"title.{language}", "has more than 60 characters")
        for language in languages
        if len(persona.title.in_language(language)) > 60
    ]
    return persona


def of_text(text: str) -> OwnPersona:
    """A persona of a text that was locked, hence read without a fault before."""
    return msgspec.toml.decode(text, type=OwnPersona)


def dressed(scene: Scene, texts: Mapping[str, str]) -> Scene:
    """A scene with the texts of its folder, path → text."""
    path = f"personas/{scene.persona}.toml"
    if path in texts:
        text = of_text(texts[path]).in_language(scene.language)
        scene = msgspec.structs.replace(scene, persona_text=text)
    own = scene.own
    if own is None:
        return scene
    read_events = {part: texts[path] for part, path in own.files.items() if path in texts and part != "persona"}
    return msgspec.structs.replace(scene, own=msgspec.structs.replace(own, texts=read_events))


EVENTS_MOST: Final = 200


def read_events(source: Source, name: str, languages: Sequence[Language]) -> dict[int, OwnEvent]:
    """The events of a file by their place in it; those at fault are left out, and the source has the faults."""
    found = toml_file.read(source, f"events/{name}.toml")
    if found is None:
        return {}
    listed = found.values.get("event", [])
    unknown = [key for key in found.values if key != "event"]
    source.faults += [found.at.fault(key, "unknown key; the only key is [[event]]", "unknown_key") for key in unknown]
    if not isinstance(listed, list):
        source.faults.append(found.at.fault("event", "must be a list of tables: write [[event]]", "wrong_type"))
        return {}
    if len(listed) > EVENTS_MOST:
        source.faults.append(found.at.fault("event", f"has {len(listed)} events; the limit is {EVENTS_MOST}"))
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
