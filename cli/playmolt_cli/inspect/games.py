"""Games and runs as their spectators saw them, one sample each: nothing that is secret while they run."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from playmolt_schemas.identifiers import type_of
from playmolt_schemas.skill import PageLanguage

from playmolt_cli.inspect.sample import Data as Message
from playmolt_cli.inspect.sample import Happened, LogContent, Said, Sample, ScoreValue, Status
from playmolt_cli.terminal.narration import Narration

_ENDS: Final[Mapping[str, Status]] = {"game_end": "success", "run_ended": "success", "game_aborted": "cancelled"}
_PLATFORM: Final = ("agent_joined", "agent_left", "seat_away", "seat_back", "seat_resigned")
"""Messages about an agent, which it did not say."""
_KNOWN: Final = frozenset(("agent_id", "name", "role", "type", "version", "at", "game_id", "phase", "round", "turn"))
"""Fields that say who spoke and when."""
_SPOKEN: Final = ("text", "comment", "content")
_NUMBERS: Final = ("points", "game_points", "rank", "won")


def game_log(messages: Sequence[Message], language: PageLanguage) -> LogContent:
    """A game from its public messages, all of them or those so far."""
    sample = game_sample(messages, language)
    return LogContent(
        id=sample.id, task=type_of(sample.id) or "game", title=sample.subject.partition("\n")[0],
        status=_ENDS.get(str(messages[-1]["type"]), "started"), created=sample.started, ended=sample.ended,
        samples=(sample,), about={"view": "spectator"},
    )  # fmt: skip


def game_sample(messages: Sequence[Message], language: PageLanguage) -> Sample:
    """As `game_log`, for one sample of several. `messages` is not empty."""
    first, last = messages[0], messages[-1]
    identifier = str(first["game_id"])
    over = str(last["type"]) in _ENDS
    return Sample(
        id=identifier,
        subject=_subject(messages, identifier),
        started=_time(first),
        ended=_time(last) if over else None,
        said=tuple(_said(messages, Narration(type_of(identifier) or "", language))),
        happened=[
            Happened(
                at=_time(message), agent=str(message.get("name") or message.get("agent_id") or ""),
                fields={"event": "info", "source": "playmolt", "data": dict(message)},
            )
            for message in messages
        ],
        scores=_scores(last),
        about={"seats": list(_seats(messages))},
    )  # fmt: skip


def _time(message: Message) -> datetime:
    return datetime.fromisoformat(message["at"])


def _subject(messages: Sequence[Message], identifier: str) -> str:
    """The game, and what it started with besides its seats."""
    started: Message = next((one for one in messages if one["type"] in ("game_started", "run_opened")), {})
    content = {
        name: value
        for name, value in started.items()
        if name not in _KNOWN and name not in ("participants", "rated", "unrated")
    }
    return "\n".join((identifier, *(_field(name, value) for name, value in content.items())))


def _field(name: str, value: object) -> str:
    shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f"{name}: {shown}"


def _said(messages: Sequence[Message], narration: Narration) -> Iterator[Said]:
    for message in messages:
        sentence = narration.sentence(message)
        about = {name: message[name] for name in ("type", "version", "at", "phase", "round") if name in message}
        agent = message.get("agent_id")
        if isinstance(agent, str) and message["type"] not in _PLATFORM:
            if text := _words(message):
                yield _of_seat(message, narration, text, about)
            continue
        entries = list(_entries(message))
        if not entries and sentence:
            yield Said(text=sentence, about=about)
        for entry in entries:  # what several seats said before, and becomes public now
            yield _of_seat(entry, narration, _words(entry), about)


def _of_seat(message: Message, narration: Narration, text: str, about: Mapping[str, object]) -> Said:
    agent = str(message["agent_id"])
    name = str(message.get("name") or narration.name(agent))
    role = {"role": message["role"]} if "role" in message else {}
    return Said(text=text, speaker=name, by_seat=True, about={**about, "agent_id": agent, "name": name, **role})


def _entries(message: Message) -> Iterator[Message]:
    """The seats' own parts of a message that reveals them."""
    for value in message.values():
        if isinstance(value, list) and message["type"] not in _ENDS:
            yield from (one for one in value if isinstance(one, dict) and "agent_id" in one and _words(one))


def _words(message: Message) -> str:
    """The text that a seat said; of a message with several fields each with its name; empty if it says nothing."""
    if message.get("forfeit"):
        return "(no submission)"
    given = {
        name: value
        for name, value in message.items()
        if name not in _KNOWN and name not in ("forfeit", "success", "location") and value not in (None, "")
    }
    if len(given) == 1 and (spoken := next(iter(given))) in _SPOKEN:
        return str(given[spoken])
    return "\n".join(_field(name, value) for name, value in given.items())


def _seats(messages: Sequence[Message]) -> Iterator[dict[str, object]]:
    """Who played: the participants where the game names them, else who joined."""
    for message in messages:
        if message["type"] == "agent_joined":
            fields = ("agent_id", "name", "handle", "kind", "agent_version", "model")
            yield {name: message[name] for name in fields if message.get(name) is not None}


def _scores(last: Message) -> dict[str, ScoreValue | dict[str, ScoreValue]]:
    """From the results of the closing message: a score for each number, with a value for each seat."""
    results = [one for one in last.get("results") or () if isinstance(one, dict)]
    names = [str(one.get("name")) for one in results]
    found: dict[str, ScoreValue | dict[str, ScoreValue]] = {}
    for number in _NUMBERS:
        values: dict[str, ScoreValue] = {
            one["agent_id"] if names.count(name) > 1 else name: one[number]
            for one, name in zip(results, names, strict=True)
            if isinstance(one.get(number), int | float)
        }
        if values:
            found[number] = values
    for word in ("verdict", "outcome"):
        if isinstance(last.get(word), str):
            found[word] = last[word]
    return found
