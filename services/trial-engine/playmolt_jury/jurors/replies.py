"""What of a model's words the rules take."""

from collections.abc import Collection, Iterable
from typing import Final

from playmolt_schemas.games.jury import TopicImpact
from playmolt_schemas.text import trimmed, unstorable

TOPICS_KEPT: Final = 3
LOOKUP: Final = "lookup_evidence"
CAST: Final = "cast_vote"
CHAT_HISTORY: Final = "chat_history"


class InvalidReply(ValueError):
    """An answer that cannot be used; the message can be sent back to the model."""


def kept(topics: Iterable[TopicImpact], allowed: Collection[str]) -> tuple[TopicImpact, ...]:
    """The first three different topics of the list; what is not on it is dropped."""
    first: dict[str, TopicImpact] = {}
    for each in topics:
        if each.topic in allowed:
            first.setdefault(each.topic, each)
    return tuple(first.values())[:TOPICS_KEPT]


def read_text(reply: str) -> str:
    """Read a plain answer; InvalidReply when there is nothing in it, or what cannot be stored."""
    text = trimmed(reply)
    if not text:
        raise InvalidReply("the answer is empty: say something")
    if unstorable(text):
        raise InvalidReply("the answer holds NUL or half of a surrogate pair: leave it out")
    return text
