"""Prompts of a turn: a pure function of the session and its content.

The words of the overseer and of other jurors are data in one line of JSON. A juror's stance appears as a band, never as
a number, and locked items are in no prompt.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec
from playmolt_core.llm.port import ChatMessage
from playmolt_schemas.stored.jury import Language, TopicImpact

from playmolt_jury import replies, turn_events
from playmolt_jury.content.material import Evidence, Material
from playmolt_jury.persuasion import lexicon, stance
from playmolt_jury.persuasion.repetition import RememberedMessage
from playmolt_jury.state import Exchange, State, Turn

EARLIER: Final = 6
"""Exchanges with the overseer that a prompt includes."""
QUOTE_CHARS: Final = 1500
"""The length to which a prompt cuts other texts: replies may be long, a record may not."""
DIGEST_CHARS: Final = 200
"""The length to which a juror's own talk is cut in its speech prompts."""
_FIELD: Final = re.compile(r"\{(\w+)\}")
_LINES: Final = re.compile("[\x7f-\x9f\u2028\u2029]")


class Phrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The prompt texts of one language."""

    classify: str
    juror: str
    chat: str
    present: str
    speech: str
    vote: str
    lookup: str
    cast: str
    unknown_item: str
    no_history: str
    overseer: str
    you: str
    showed: str
    bad_arguments: str
    unknown_tool: str
    too_many: str
    wrong_vote: str
    vote_taken: str
    repair: str


def phrases(language: Language) -> Phrases:
    return _all()[language]


def written_in(system: str, language: Language) -> bool:
    """Whether a juror's prompt is in this language."""
    return phrases(language).juror.rpartition("{evidence}")[2] in system


def filled(text: str, **values: str) -> str:
    """Fills the `{fields}` of a text in one pass: a value that looks like a field stays what it is."""
    return _FIELD.sub(lambda field: values.get(field[1], field[0]), text)


def classify(state: State, material: Material, text: str) -> tuple[ChatMessage, ...]:
    """Asks for the topics of a text of the overseer."""
    said = phrases(state.language)
    found = replies.kept(lexicon.classify(text, state.language, material.lexicon), state.topics)
    return _asked(filled(said.classify, topics=_topics(material)), {"text": text, "word_list": found})


def chat(
    state: State, material: Material, turn: Turn, *, topics: tuple[TopicImpact, ...], now: int, struck: bool
) -> tuple[ChatMessage, ...]:
    """`now` is the juror's stance after the message."""
    data = {
        **_self(state, material, turn.juror_id),
        **_repetition(state, turn, topics),
        "leaning": stance.band(now),
        "struck": struck,
        "about": list(topics),
        "earlier": _earlier(state, turn.juror_id),
        "overseer": turn.text,
    }
    return _juror(state, material, turn, phrases(state.language).chat, data)


def present(state: State, material: Material, turn: Turn, *, now: int) -> tuple[ChatMessage, ...]:
    """`now` is the juror's stance after the item."""
    shown = next(item for item in material.evidence if item.id == turn.evidence_id)
    data = {
        **_self(state, material, turn.juror_id),
        **_repetition(state, turn, ()),
        "leaning": stance.band(now),
        "earlier": _earlier(state, turn.juror_id),
        "presented": {"id": shown.id, "title": shown.title, "text": shown.text},
        "about": shown.topics,
    }
    return _juror(state, material, turn, phrases(state.language).present, data)


def speech(state: State, material: Material, turn: Turn) -> tuple[ChatMessage, ...]:
    """Includes only the secret notes to this juror."""
    current, debate = state.juror_states[turn.juror_id], state.debate
    data = {
        **_self(state, material, turn.juror_id),
        "leaning": stance.band(current.stance),
        "own_talk": [
            {"overseer": digested(_given(state, each)), "you": digested(each.reply), "repeats": each.repeats}
            for each in current.exchanges
        ],
        "shown": _shown(state, material, turn.juror_id),
        "round": turn.round,
        "part": "lead" if debate and debate.leader == turn.juror_id else "answer",
        "notes": list(current.notes),
        "speeches": [
            {"round": said.round, "juror": said.juror_id, "text": clipped(said.text)} for said in state.speeches
        ],
    }
    task = filled(phrases(state.language).speech, topics=_topics(material))
    return _juror(state, material, turn, task, data)


def vote(state: State, material: Material, turn: Turn) -> tuple[ChatMessage, ...]:
    data = {"conclusion": conclusion(state.juror_states[turn.juror_id].stance)}
    return _juror(state, material, turn, phrases(state.language).vote, data)


def conclusion(stance_now: int) -> str:
    """A juror's conclusion in the code that prompts use."""
    return "guilty" if stance.votes_guilty(stance_now) else "not_guilty"


def open_items(state: State, material: Material) -> tuple[Evidence, ...]:
    """The items that are not locked."""
    still_locked = state.still_locked
    return tuple(item for item in material.evidence if item.id not in still_locked)


def digested(text: str) -> str:
    return text if len(text) <= DIGEST_CHARS else f"{text[: DIGEST_CHARS - 1]}…"


def clipped(text: str) -> str:
    return text if len(text) <= QUOTE_CHARS else f"{text[:QUOTE_CHARS]}…"


def history(state: State, juror_id: str) -> str:
    """The talk of the overseer with a juror; "" before the first exchange."""
    said = phrases(state.language)
    return "\n".join(
        f"{said.overseer}: {clipped(_given(state, each))}\n{said.you}: {clipped(each.reply)}"
        for each in state.juror_states[juror_id].exchanges
    )


def as_data(value: object) -> str:
    """JSON on one line: no text in it can end the line and pass for the prompt's own words."""
    text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
    return _LINES.sub(lambda char: f"\\u{ord(char[0]):04x}", text)


def _juror(
    state: State, material: Material, turn: Turn, task: str, data: Mapping[str, object]
) -> tuple[ChatMessage, ...]:
    setting = filled(
        phrases(state.language).juror,
        role=state.juror(turn.juror_id).role_prompt.strip(),
        jurors=", ".join(f"{file.name} ({file.id})" for file in state.jurors),
        evidence="\n".join(f"- {item.id} | {item.stem} | {item.title}" for item in open_items(state, material)),
    )
    return _asked(f"{setting}\n\n{task}", data)


def _self(state: State, material: Material, juror_id: str) -> dict[str, object]:
    """The juror's personality and its latest move."""
    move = state.juror_states[juror_id].last_move
    return {
        "personality": state.juror(juror_id).personality,
        "last_move": None
        if move is None
        else {
            "cause": move.cause,
            "by": move.by,
            "toward": move.toward,
            "topics": move.topics,
            "text": digested(_titles(material)[move.evidence_id] if move.evidence_id else move.text),
        },
    }


def _repetition(state: State, turn: Turn, topics: tuple[TopicImpact, ...]) -> dict[str, object]:
    """What the message repeats; empty if nothing."""
    again, remembered = turn_events.repeated(state, turn, topics), state.juror_states[turn.juror_id].remembered
    if not again.repeats:
        return {}
    first = remembered[again.earlier[0]]
    return {"repetition": {"repeats": again.repeats, "first": clipped(_given(state, first))}}


def _shown(state: State, material: Material, juror_id: str) -> list[dict[str, str]]:
    titles = _titles(material)
    items = dict.fromkeys(each.evidence_id for each in state.juror_states[juror_id].exchanges if each.evidence_id)
    return [{"id": item, "title": titles[item]} for item in items]


def _titles(material: Material) -> Mapping[str, str]:
    return {item.id: item.title for item in material.evidence}


def _asked(system: str, data: Mapping[str, object]) -> tuple[ChatMessage, ...]:
    return (ChatMessage("system", system), ChatMessage("user", as_data(data)))


def _topics(material: Material) -> str:
    return "\n".join(f"- {topic.id}: {topic.text.strip()}" for topic in material.topics)


def _earlier(state: State, juror_id: str) -> list[dict[str, str]]:
    return [
        {"overseer": clipped(_given(state, each)), "you": clipped(each.reply)}
        for each in state.juror_states[juror_id].exchanges[-EARLIER:]
    ]


def _given(state: State, exchange: Exchange | RememberedMessage) -> str:
    if exchange.evidence_id:
        return filled(phrases(state.language).showed, id=exchange.evidence_id)
    return exchange.text


@cache
def _all() -> Mapping[Language, Phrases]:
    data = files("playmolt_jury").joinpath("data", "prompts.json").read_bytes()
    return msgspec.json.decode(data, type=dict[Language, Phrases])
