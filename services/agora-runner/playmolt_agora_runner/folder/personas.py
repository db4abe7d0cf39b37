"""Personas and event files of a plan's folder."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, TypeAlias, get_args

import msgspec
from msgspec import Meta
from playmolt_schemas.stored.agora.own_world import Both, OwnEvent
from playmolt_schemas.stored.agora.plan import Name
from playmolt_schemas.stored.agora.turn import ConstraintLevel, Language, Persona

from playmolt_agora_runner.folder import toml_file
from playmolt_agora_runner.folder.source import TITLE_CHARS, KeyLines, Source

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
    persona, wrong = toml_file.partly(source, OwnPersona, found.values, found.at, "")
    if persona is None:
        return None
    said = {language: persona.in_language(language) for language in languages if language not in wrong}
    titles = {language: persona.title.in_language(language) for language in languages}
    source.faults += [
        *found.at.text_faults("", said),
        *found.at.text_faults("title", titles, needed=False, most=TITLE_CHARS),
    ]
    if len(languages) > 1 and persona.ko.strip() and persona.en.strip():
        source.pairs.append(found.at.pair("ko", persona.ko, persona.en))
    return persona


EVENTS_MOST: Final = 200


EventFile: TypeAlias = tuple[KeyLines, Mapping[int, OwnEvent]]
"""The events of a file by their place in it, without those at fault."""


def read_events(source: Source, name: str, languages: Sequence[Language]) -> EventFile:
    """Read a file of events. The source gets the faults."""
    at, found = toml_file.listed(source, f"events/{name}.toml", "event", OwnEvent, EVENTS_MOST)
    for number, event in found.items():
        texts = {language: event.in_language(language) for language in languages}
        source.faults += at.text_faults(f"event[{number}]", texts)
        if len(languages) > 1 and event.ko.strip() and event.en.strip():
            source.pairs.append(at.pair(f"event[{number}]", event.ko, event.en))
    return at, found
