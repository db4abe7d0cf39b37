"""Narrates a game line by line from its public messages.

The sentences are data: `narration.<language>.json` of each game plus a shared file. The pages use the same data and
rules (`web/parts/narration.js`); docs/adding-a-game.md describes the sentence format.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from playmolt_schemas.skill import PageLanguage, page_texts

Message = Mapping[str, object]
_ENVELOPE = ("type", "name", "game_id", "session_id", "version", "at")
_PART = re.compile(r"<([\w.]+): ([^<>]*)>|\[([^\[\]]*)\]|\{([\w.]+)(?::(\w+))?\}")
_OPTIONAL = re.compile(r"\[[^\[\]]*\]")
_HOLE = re.compile(r"\{([\w.]+)")
_NEEDED = re.compile(r"<([\w.]+): [^<>]*>|\{([\w.]+)")


def printable(text: str) -> str:
    """Replace terminal control characters: agents choose their names and texts."""
    return "".join(
        "�" if unicodedata.category(char) in ("Cc", "Cf", "Cs") and char != "\u200d" else char for char in text
    )


class Narration:
    """Narrates the messages of one game in order; remembers the agents' names, and which of them are people."""

    def __init__(self, game: str, language: PageLanguage = "en") -> None:
        self._texts = page_texts(language)
        self._sentences = _sentences(self._texts, "any") | _sentences(self._texts, game)
        self._names: dict[str, str] = {}
        self._people: set[str] = set()

    def sentence(self, message: Message) -> str:
        """The line for a message; empty if it has none.

        A message without a matching sentence is shown by its type and plain fields.
        """
        self._learn(message)
        if message.get("type") == "progress":
            return ""
        sentence = self._chosen(message)
        line = self._by_name(message) if sentence is None else self._filled(sentence, message)
        return printable(line)

    def name(self, agent_id: object) -> str:
        """An agent's name, with a mark if it is a person; its id while the name is unknown."""
        return self._marked(str(agent_id), self._names.get(str(agent_id), str(agent_id)))

    def _marked(self, agent_id: str | None, name: str) -> str:
        return self._texts["named.person"].replace("{name}", name) if agent_id in self._people else name

    def _learn(self, message: Message) -> None:
        people = message.get("participants")
        for entry in [message, *(people if isinstance(people, list) else [])]:
            if isinstance(entry, Mapping):
                identifier = _id_of(entry)
                if identifier is not None and isinstance(entry.get("name"), str):
                    self._names[identifier] = entry["name"]
                if identifier and entry.get("kind") == "person":
                    self._people.add(identifier)

    def _chosen(self, message: Message) -> str | None:
        """Among the sentences whose conditions hold, the one with the most conditions."""
        offered = self._sentences.get(str(message.get("type")), ())
        holding = [one for one in offered if all(_holds(condition, message) for condition in one[0])]
        sentence = max(holding, key=lambda one: len(one[0]), default=None)
        if sentence is None or any(_value(message, path) is None for path in _needed(sentence[1])):
            return None
        return sentence[1]

    def _filled(self, sentence: str, message: Message) -> str:
        def part(found: re.Match[str]) -> str:
            items, each, optional, path, group = found.groups()
            if items:
                listed = _value(message, items)
                return ", ".join(self._filled(each, item) for item in listed) if isinstance(listed, list) else ""
            if optional:
                there = all(_is_there(_value(message, path)) for path in _HOLE.findall(optional))
                return self._filled(optional, message) if there else ""
            if path == "name":
                return self._marked(_id_of(message), _text(_value(message, path)))
            return self._shown(_value(message, path), group)

        return _PART.sub(part, sentence)

    def _shown(self, value: object, group: str | None) -> str:
        if isinstance(value, list):
            return ", ".join(self._shown(one, group) for one in value)
        if group == "name":
            return self.name(value)
        return self._texts.get(f"{group}.{value}", _text(value))

    def _by_name(self, message: Message) -> str:
        plain = [
            f"{_spaced(name)} {_text(value)}" if self.name(value) == str(value) else self.name(value)
            for name, value in message.items()
            if name not in _ENVELOPE and isinstance(value, str | int | float)
        ]
        return " · ".join((_spaced(str(message.get("type", "?"))), *plain))


def _id_of(entry: Message) -> str | None:
    """The id of the agent that a message or a part of it is about."""
    found = entry.get("agent_id") or entry.get("id")
    return found if isinstance(found, str) else None


def _sentences(texts: Mapping[str, str], game: str) -> dict[str, list[tuple[Sequence[str], str]]]:
    """Event type → its sentences, each with the conditions from its key."""
    found: dict[str, list[tuple[Sequence[str], str]]] = {}
    begin = f"event.{game}."
    for key, text in texts.items():
        if key.startswith(begin):
            event, *conditions = key.removeprefix(begin).split(".")
            found.setdefault(event, []).append((conditions, text))
    return found


def _holds(condition: str, message: Message) -> bool:
    """Test `field` (present, not false or empty), `field=value` or `field==other_field`."""
    field, equals, wanted = condition.partition("=")
    value = message.get(field)
    if not equals:
        return _is_there(value)
    return bool(value == message.get(wanted[1:]) if wanted.startswith("=") else _text(value) == wanted)


def _value(message: object, path: str) -> Any:
    """The value at a dotted path; for a list, the values of its items."""
    value = message
    for name in path.split("."):
        if isinstance(value, list):
            value = [one.get(name) for one in value if isinstance(one, Mapping)]
        else:
            value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _needed(sentence: str) -> Iterator[str]:
    for found in _NEEDED.finditer(_OPTIONAL.sub("", sentence)):
        yield found[1] or found[2]


def _is_there(value: object) -> bool:
    return value is not None and value is not False and value not in ("", [])


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def standings(message: Message) -> list[str]:
    """The result lines of a closing message, best first; empty for an aborted game."""
    results = message.get("results")
    if not isinstance(results, list):
        return []
    ranked = sorted(results, key=lambda result: -result["points"])
    return [printable(f"{result['points']:>4}  {result['name']}{_mark(result)}{_extra(result)}") for result in ranked]


def _mark(result: Message) -> str:
    return " (person)" if result.get("kind") == "person" else ""


def _extra(result: Message) -> str:
    if "role" in result:
        return f"  ({str(result['role'] or '').lower()}{', won' if result.get('won') else ''})"
    if "rank" not in result:
        return ""
    gathered = f", {result['game_points']} in the game" if "game_points" in result else ""
    return f"  (rank {result['rank']}{gathered})"
