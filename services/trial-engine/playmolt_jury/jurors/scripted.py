"""Five jurors without a model: they read the prompt like one, use the tools, and speak in character.

Which arguments reach them follows from the rules; what they answer follows from what was said, from where it left them,
and from who they are.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec
from playmolt_core.llm.scripted.model import Cast, Said, Scene
from playmolt_schemas.games.jury import Impact, Language

from playmolt_jury.jurors import replies

_EVIDENCE_ID: Final = re.compile(r"\bE\d{1,2}\b", re.ASCII)
_LISTED: Final = re.compile(r"^- (E\d{1,2}) \| (\S+) \| (.+)$", re.MULTILINE)
_CHINESE: Final = re.compile("[\u4e00-\u9fff]")
_SIDES: Final[Mapping[str, str]] = {
    "innocent": "innocent",
    "leaning_innocent": "innocent",
    "undecided": "undecided",
    "leaning_guilty": "guilty",
    "guilty": "guilty",
}
_LOOKS_ONE_IN: Final = 3
_REMEMBERS_ONE_IN: Final = 6


class _Speech(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    topics: tuple[tuple[str, Impact], ...]


class _Voice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    topics: dict[str, tuple[str, str]]
    """What it says to an argument that affirms a topic, and to one that denies it."""
    more: tuple[str, ...]
    """What it says when a subject that it has spoken of comes again."""
    again: tuple[str, ...]
    """What it says to the very same words."""
    none: tuple[str, ...]
    struck: tuple[str, ...]
    guilty: tuple[str, ...]
    undecided: tuple[str, ...]
    innocent: tuple[str, ...]
    looked: tuple[str, ...]
    shown: tuple[str, ...]
    speech_guilty: tuple[_Speech, ...]
    speech_undecided: tuple[_Speech, ...]
    speech_innocent: tuple[_Speech, ...]


def add_to(cast: Cast) -> Cast:
    """Gives the jury's turns to these characters, for every scripted alias; returns the cast."""
    parts: Mapping[str, Callable[[Scene], Said]] = {
        "classify": classify,
        "chat:*": chat,
        "present:*": present,
        "speech:*": speech,
        "vote:*": vote,
    }
    for turn, character in parts.items():
        cast.add(character, alias="scripted*", turn=turn)
    return cast


def classify(scene: Scene) -> Said:
    """Says what the list of words found."""
    return Said(_json({"topics": _data(scene)["word_list"]}))


def chat(scene: Scene) -> Said:
    """Sometimes after a look at the file or at what was said before."""
    data = _data(scene)
    wanted = _EVIDENCE_ID.findall(data["overseer"])
    if not wanted and data["earlier"] and scene.draw("remembers", _REMEMBERS_ONE_IN) == 0:
        wanted = [replies.CHAT_HISTORY]
    if looking := _look(scene, wanted):
        return looking
    voice = _voice(scene)
    parts = [_one(scene, "struck", voice.struck)] if data["struck"] else []
    return Said(_joined(scene, [*parts, *_looked_at(scene, voice), *_to_topics(voice, data, scene), *_leaning(scene)]))


def present(scene: Scene) -> Said:
    data = _data(scene)
    if looking := _look(scene, [data["presented"]["id"]] if scene.draw("checks", 2) else []):
        return looking
    voice = _voice(scene)
    shown = _named(scene, _one(scene, "shown", voice.shown), data["presented"]["title"])
    return Said(_joined(scene, [shown, *_to_topics(voice, data, scene)[:1], *_leaning(scene)]))


def speech(scene: Scene) -> Said:
    """Without repeating a speech as long as there is another."""
    if looking := _look(scene, []):
        return looking
    data, voice = _data(scene), _voice(scene)
    listed: Sequence[_Speech] = getattr(voice, f"speech_{_SIDES[data['leaning']]}")
    heard = " ".join(said["text"] for said in data["speeches"])
    fresh = [each for each in listed if each.text not in heard] or listed
    said = fresh[scene.draw("speech", len(fresh))]
    # Who leads has heard nobody yet that it could have read something beside.
    read = [] if data["part"] == "lead" else _looked_at(scene, voice)
    text = _joined(scene, [*read, said.text])
    return Said(_json({"text": text, "topics": [{"topic": topic, "impact": impact} for topic, impact in said.topics]}))


def vote(scene: Scene) -> Said:
    """The vote that follows from the conclusion."""
    guilty = _data(scene)["conclusion"] == "guilty"
    if replies.CAST in {tool.name for tool in scene.tools}:
        return Said(tool_calls=((replies.CAST, _json({"guilty": guilty})),))
    return Said("…")


def _look(scene: Scene, wanted: Sequence[str]) -> Said | None:
    """Uses the tool once a turn: for what was named, or at times for something that is open."""
    if replies.LOOKUP not in {tool.name for tool in scene.tools} or _results(scene):
        return None
    listed = [found[0] for found in _listed(scene)]
    if not wanted and listed and scene.draw("looks", _LOOKS_ONE_IN) == 0:
        wanted = [listed[scene.draw("item", len(listed))]]
    if not wanted:
        return None
    ids = list(dict.fromkeys(wanted))[:3]
    return Said(tool_calls=((replies.LOOKUP, _json({"evidence_ids": ids})),))


def _looked_at(scene: Scene, voice: _Voice) -> list[str]:
    titles = {item: title for item, _, title in _listed(scene)}
    found = [item for item in titles if any(result.startswith(f"{item} | ") for result in _results(scene))]
    if not found:
        return []
    return [_named(scene, _one(scene, "looked", voice.looked), titles[found[0]])]


def _named(scene: Scene, line: str, title: str) -> str:
    return line.replace("{item}", f"《{title}》" if _language(scene) == "zh" else f"“{title}”")


def _to_topics(voice: _Voice, data: Mapping[str, Any], scene: Scene) -> list[str]:
    known = [each for each in data["about"] if each["topic"] in voice.topics]
    taken = [each for each in known if each["impact"] != "neutral"] or known
    lines = [voice.topics[each["topic"]][1 if each["impact"] == "negative" else 0] for each in taken[:2]]
    if not lines:
        return [] if data.get("struck") else [_one(scene, "none", voice.none)]
    repeats = any(each["overseer"].casefold() == data.get("overseer", "").casefold() for each in data["earlier"])
    known_lines = ("again", voice.again) if repeats else ("more", voice.more)
    return _unsaid(scene, lines) or [_one(scene, *known_lines)]


def _leaning(scene: Scene) -> list[str]:
    """Where the juror stands, unless it has said so in these words."""
    side = _SIDES[_data(scene)["leaning"]]
    lines = _unsaid(scene, getattr(_voice(scene), side))
    return [lines[scene.draw(side, len(lines))]] if lines else []


def _one(scene: Scene, name: str, lines: Sequence[str]) -> str:
    """A line not said yet, else the one that was said longest ago."""
    fresh = _unsaid(scene, lines) or [min(lines, key=_said(scene).rfind)]
    return fresh[scene.draw(name, len(fresh))]


def _unsaid(scene: Scene, lines: Sequence[str]) -> list[str]:
    said = _said(scene)
    return [line for line in lines if line not in said]


def _said(scene: Scene) -> str:
    """What the juror remembers to have said to the overseer, the newest last."""
    return " ".join(each["you"] for each in _data(scene).get("earlier", ()))


def _joined(scene: Scene, parts: Sequence[str]) -> str:
    return ("" if _language(scene) == "zh" else " ").join(parts)


def _data(scene: Scene) -> dict[str, Any]:
    """The turn's JSON: the first thing the user says."""
    first = next(message.content for message in scene.request.messages if message.role == "user")
    data: dict[str, Any] = msgspec.json.decode(first)
    return data


def _results(scene: Scene) -> list[str]:
    return [message.content for message in scene.request.messages if message.role == "tool"]


def _listed(scene: Scene) -> list[tuple[str, str, str]]:
    return _LISTED.findall(scene.request.messages[0].content)


def _language(scene: Scene) -> Language:
    """The prompt is in one language or the other; names in it may be in either."""
    system = scene.request.messages[0].content
    return "zh" if len(_CHINESE.findall(system)) > len(system) // 4 else "en"


def _voice(scene: Scene) -> _Voice:
    return _voices(_language(scene))[scene.turn.split(":")[1]]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


@cache
def _voices(language: Language) -> Mapping[str, _Voice]:
    data = files("playmolt_jury").joinpath("data", f"scripted.{language}.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, _Voice])
