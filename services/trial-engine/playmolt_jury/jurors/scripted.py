"""Scripted jurors: they read the prompt as a model would, use the tools, and speak in character.

The rules decide which arguments move them; their answers depend on the message, their stance, and their character.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, get_args

import msgspec
from playmolt_core.llm.scripted.model import Cast, Said, ScriptedTurn
from playmolt_schemas.stored.jury import Impact, Language

from playmolt_jury import replies
from playmolt_jury.jurors import prompts

_EVIDENCE_ID: Final = re.compile(r"\bE\d{1,2}\b", re.ASCII)
_LISTED: Final = re.compile(r"^- (E\d{1,2}) \| (\S+) \| (.+)$", re.MULTILINE)
_SIDES: Final[Mapping[str, str]] = {
    "innocent": "innocent",
    "leaning_innocent": "innocent",
    "undecided": "undecided",
    "leaning_guilty": "guilty",
    "guilty": "guilty",
}
_TOWARD: Final[Mapping[str, str]] = {"guilt": "guilty", "innocence": "innocent"}
_ANYBODY: Final = "other"
"""The voice of a juror that is not in the shipped case; it refers to no case."""
_AFTER_VOWEL: Final = {"을": "를", "이": "가", "이군요": "군요"}
_HANGUL: Final = range(0xAC00, 0xD7A4)
_FINALS: Final = 28
_DIGITS_ON_A_VOWEL: Final = "2459"
_LOOKS_ONE_IN: Final = 3
_REMEMBERS_ONE_IN: Final = 6


class _ScriptedSpeech(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    topics: tuple[tuple[str, Impact], ...]


class _Voice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    of: str = ""
    """The name of the accused; in a case without that name the voice is not used."""
    topics: dict[str, tuple[str, str]]
    """Replies to an argument that affirms a topic, and to one that denies it."""
    more: tuple[str, ...]
    """Replies when a topic comes up again."""
    again: tuple[str, ...]
    """Replies to a repeated message."""
    none: tuple[str, ...]
    struck: tuple[str, ...]
    guilty: tuple[str, ...]
    undecided: tuple[str, ...]
    innocent: tuple[str, ...]
    looked: tuple[str, ...]
    shown: tuple[str, ...]
    speech_guilty: tuple[_ScriptedSpeech, ...]
    speech_undecided: tuple[_ScriptedSpeech, ...]
    speech_innocent: tuple[_ScriptedSpeech, ...]


def add_to(cast: Cast) -> Cast:
    """Gives the jury's turns to these characters, for every scripted alias; returns the cast."""
    parts: Mapping[str, Callable[[ScriptedTurn], Said]] = {
        "classify": classify,
        "chat:*": chat,
        "present:*": present,
        "speech:*": speech,
        "vote:*": vote,
    }
    for name, character in parts.items():
        cast.add(character, alias="scripted*", turn=name)
    return cast


def classify(turn: ScriptedTurn) -> Said:
    """Answers with the result of the word list."""
    return Said(_json({"topics": _data(turn)["word_list"]}))


def chat(turn: ScriptedTurn) -> Said:
    """May first look up the file or the chat history."""
    data = _data(turn)
    wanted = _EVIDENCE_ID.findall(data["overseer"])
    if not wanted and data["earlier"] and turn.draw("remembers", _REMEMBERS_ONE_IN) == 0:
        wanted = [replies.CHAT_HISTORY]
    if looking := _look(turn, wanted):
        return looking
    voice = _voice(turn)
    parts = [_one(turn, "struck", voice.struck)] if data["struck"] else []
    return Said(_joined(turn, [*parts, *_looked_at(turn, voice), *_to_topics(voice, data, turn), *_leaning(turn)]))


def present(turn: ScriptedTurn) -> Said:
    data = _data(turn)
    if looking := _look(turn, [data["presented"]["id"]] if turn.draw("checks", 2) else []):
        return looking
    voice = _voice(turn)
    shown = _named(turn, _one(turn, "shown", voice.shown), data["presented"]["title"])
    return Said(_joined(turn, [shown, *_to_topics(voice, data, turn)[:1], *_leaning(turn)]))


def speech(turn: ScriptedTurn) -> Said:
    """Repeats no speech while another is left."""
    if looking := _look(turn, []):
        return looking
    data, voice = _data(turn), _voice(turn)
    listed: Sequence[_ScriptedSpeech] = getattr(voice, f"speech_{_SIDES[data['leaning']]}")
    heard = " ".join(said["text"] for said in data["speeches"])
    fresh = [each for each in listed if each.text not in heard] or listed
    said = fresh[turn.draw("speech", len(fresh))]
    # The leader speaks first and has looked nothing up for the debate.
    read = [] if data["part"] == "lead" else _looked_at(turn, voice)
    text = _joined(turn, [*read, said.text])
    topics = [{"topic": topic, "impact": impact} for topic, impact in said.topics]
    return Said(_json({"text": text, "topics": topics or _remembered(data)}))


def _remembered(data: Mapping[str, Any]) -> list[Any]:
    """The topics that last moved the juror toward its leaning; used if the speech has none."""
    move, leans = data["last_move"], _SIDES[data["leaning"]]
    topics: list[Any] = move["topics"] if move and leans == _TOWARD[move["toward"]] else []
    return topics


def vote(turn: ScriptedTurn) -> Said:
    """The vote that follows from the conclusion."""
    guilty = _data(turn)["conclusion"] == "guilty"
    if replies.CAST in {tool.name for tool in turn.tools}:
        return Said(tool_calls=((replies.CAST, _json({"guilty": guilty})),))
    return Said("…")


def _look(turn: ScriptedTurn, wanted: Sequence[str]) -> Said | None:
    """Uses the tool at most once a turn: for the named items, or sometimes for an unlocked one."""
    if replies.LOOKUP not in {tool.name for tool in turn.tools} or _results(turn):
        return None
    listed = [found[0] for found in _listed(turn)]
    if not wanted and listed and turn.draw("looks", _LOOKS_ONE_IN) == 0:
        wanted = [listed[turn.draw("item", len(listed))]]
    if not wanted:
        return None
    ids = list(dict.fromkeys(wanted))[:3]
    return Said(tool_calls=((replies.LOOKUP, _json({"evidence_ids": ids})),))


def _looked_at(turn: ScriptedTurn, voice: _Voice) -> list[str]:
    titles = {item: title for item, _, title in _listed(turn)}
    found = [item for item in titles if any(result.startswith(f"{item} | ") for result in _results(turn))]
    if not found:
        return []
    return [_named(turn, _one(turn, "looked", voice.looked), titles[found[0]])]


def _named(turn: ScriptedTurn, line: str, title: str) -> str:
    quoted = {"en": f"“{title}”", "zh": f"《{title}》", "ko": f"‘{title}’"}[_language(turn)]
    return with_particle(line, "{item}", quoted)


def with_particle(line: str, field: str, quoted: str) -> str:
    """Replaces the field with a quoted title. A Korean particle after it takes the form that the title requires."""
    after = "|".join(sorted(_AFTER_VOWEL, key=len, reverse=True))
    open_ended = _ends_on_a_vowel(quoted)

    def put(found: re.Match[str]) -> str:
        particle = found[1] or ""
        return quoted + (_AFTER_VOWEL[particle] if particle and open_ended else particle)

    return re.sub(rf"{re.escape(field)}({after})?", put, line)


def _ends_on_a_vowel(text: str) -> bool:
    last = next((char for char in reversed(text) if char.isalnum()), "")
    if last and ord(last) in _HANGUL:
        return (ord(last) - _HANGUL.start) % _FINALS == 0
    return last in _DIGITS_ON_A_VOWEL if last else False


def _to_topics(voice: _Voice, data: Mapping[str, Any], turn: ScriptedTurn) -> list[str]:
    if "repetition" in data:
        return [_one(turn, "again", voice.again)]
    known = [each for each in data["about"] if each["topic"] in voice.topics]
    taken = [each for each in known if each["impact"] != "neutral"] or known
    lines = [voice.topics[each["topic"]][1 if each["impact"] == "negative" else 0] for each in taken[:2]]
    if not lines and data["about"] and not voice.topics:
        return [_one(turn, "more", voice.more)]
    if not lines:
        return [] if data.get("struck") else [_one(turn, "none", voice.none)]
    return _unsaid(turn, lines) or [_one(turn, "more", voice.more)]


def _leaning(turn: ScriptedTurn) -> list[str]:
    """A line about the juror's stance that it has not used yet."""
    side = _SIDES[_data(turn)["leaning"]]
    lines = _unsaid(turn, getattr(_voice(turn), side))
    return [lines[turn.draw(side, len(lines))]] if lines else []


def _one(turn: ScriptedTurn, name: str, lines: Sequence[str]) -> str:
    """An unused line, otherwise the least recently used one."""
    fresh = _unsaid(turn, lines) or [min(lines, key=_said(turn).rfind)]
    return fresh[turn.draw(name, len(fresh))]


def _unsaid(turn: ScriptedTurn, lines: Sequence[str]) -> list[str]:
    said = _said(turn)
    return [line for line in lines if line not in said]


def _said(turn: ScriptedTurn) -> str:
    """The juror's own earlier replies, the latest last."""
    return " ".join(each["you"] for each in _data(turn).get("earlier", ()))


def _joined(turn: ScriptedTurn, parts: Sequence[str]) -> str:
    return ("" if _language(turn) == "zh" else " ").join(parts)


def _data(turn: ScriptedTurn) -> dict[str, Any]:
    """The JSON data of the turn: the first user message."""
    first = next(message.content for message in turn.request.messages if message.role == "user")
    data: dict[str, Any] = msgspec.json.decode(first)
    return data


def _results(turn: ScriptedTurn) -> list[str]:
    return [message.content for message in turn.request.messages if message.role == "tool"]


def _listed(turn: ScriptedTurn) -> list[tuple[str, str, str]]:
    return _LISTED.findall(turn.request.messages[0].content)


def _language(turn: ScriptedTurn) -> Language:
    """The language of the prompt itself; titles and roles of a case may be in another."""
    system = turn.request.messages[0].content
    return next(language for language in get_args(Language) if prompts.written_in(system, language))


def _voice(turn: ScriptedTurn) -> _Voice:
    voices, system = _voices(_language(turn)), turn.request.messages[0].content
    voice = voices.get(turn.name.split(":")[1])
    return voice if voice and voice.of in system else voices[_ANYBODY]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


@cache
def _voices(language: Language) -> Mapping[str, _Voice]:
    data = files("playmolt_jury").joinpath("data", f"scripted.{language}.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, _Voice])
