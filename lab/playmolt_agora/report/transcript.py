"""A run as people read it: what each agent thought, did and said, turn by turn, as text, Markdown or HTML.

Questions that were asked aside follow the turn after which they were asked, marked as outside the run.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import msgspec
from playmolt_schemas.stored.agora.run import Interviewed
from playmolt_schemas.stored.agora.turn import Interview, InterviewScale, Language, Seat, TurnRecord

from playmolt_agora.report.markup import rendered

Format = Literal["text", "md", "html"]
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!<>|~&])")
_ACT: Final = re.compile(r"[\w-]+( → [\w-]+)?")


class Aside(NamedTuple):
    """A question, whom it was asked, and what was answered."""

    seat: Seat
    question: Interview
    event: Interviewed


class _Block(NamedTuple):
    """A turn, or a question with its id. `head` begins with its number; `lines` are name and text."""

    turn: int
    order: int | None
    agent: str
    question: str | None
    language: Language
    head: tuple[str, ...]
    lines: Sequence[tuple[str, str]]


def transcript(
    turns: Iterable[TurnRecord],
    kind: Format,
    *,
    title: str,
    prompts: Mapping[str, str] | None = None,
    asides: Iterable[Aside] = (),
) -> str:
    """Turns in order of turn and order, and after each the questions asked then, in the order of the log.

    `prompts` is hash → text as it was hashed, where they are to be shown.
    """
    found = sorted(turns, key=lambda turn: (turn.turn, turn.order))
    blocks = [*(_turn(turn, prompts or {}) for turn in found), *(_aside(aside, prompts or {}) for aside in asides)]
    return _WRITERS[kind](sorted(blocks, key=lambda block: (block.turn, block.order is None)), title)


def _turn(turn: TurnRecord, prompts: Mapping[str, str]) -> _Block:
    failed = turn.action is None
    parts = {
        "thought": turn.thought,
        "act": f"{turn.action}{f' → {turn.target}' if turn.target else ''}" if turn.action else None,
        "says": turn.content,
        "result": turn.parse_code if failed else "ok" if turn.success else turn.reason,
        "raw": turn.raw_reply if failed else None,
    }
    head = f"{turn.turn}.{turn.order}", turn.agent, turn.model, turn.place_before
    return _Block(
        turn.turn, turn.order, turn.agent, None, turn.language, head, _lines(prompts.get(turn.prompt_hash), parts)
    )


def _aside(aside: Aside, prompts: Mapping[str, str]) -> _Block:
    question, event = aside.question, aside.event
    answer = _answer(question, event)
    parts = {
        "asks": question.ask.of(event.language),
        "answer": answer,
        "result": event.parse_code if answer is None else "ok",
        "raw": event.raw_reply if answer is None else None,
    }
    head = f"{event.turn}.{question.id}", event.agent, aside.seat.model, "outside the run"
    return _Block(
        event.turn, None, event.agent, question.id, event.language, head, _lines(prompts.get(event.prompt_hash), parts)
    )


def _answer(question: Interview, event: Interviewed) -> str | None:
    if event.choice is not None:
        return f"{event.choice} ({question.choices_in(event.language)[event.choice - 1]})"
    if event.value is not None and isinstance(question.scale, InterviewScale):
        return f"{event.value} ({question.scale.from_} to {question.scale.to})"
    return event.text


def _lines(prompt: str | None, parts: Mapping[str, str | None]) -> tuple[tuple[str, str], ...]:
    shown = msgspec.json.decode(prompt, type=dict[str, str]) if prompt is not None else {}
    return (*shown.items(), *((name, text) for name, text in parts.items() if text is not None))


def _text(blocks: Iterable[_Block], _: str) -> str:
    return "".join(f"[{block.head[0]}] {' · '.join(block.head[1:])}\n{_listed('', block.lines)}\n" for block in blocks)


def _markdown(blocks: Iterable[_Block], title: str) -> str:
    """Only what an agent wrote is escaped, also where a prompt quotes it, and the words of a question."""
    found = [f"# {title}\n\n"]
    for block in blocks:
        lines = ((name, _MARKDOWN.sub(r"\\\1", text) if _is_free(name, text) else text) for name, text in block.lines)
        found.append(f"### {' · '.join(block.head)}\n\n{_listed('- ', lines)}\n")
    return "".join(found)


def _html(blocks: Iterable[_Block], title: str) -> str:
    return rendered("transcript.html", title=title, blocks=blocks) + "\n"


def _listed(mark: str, lines: Iterable[tuple[str, str]]) -> str:
    """A line for each name; further lines of a text are indented."""
    return "".join("{}{}: {}\n".format(mark, name, "\n  ".join(text.splitlines())) for name, text in lines)


def _is_free(name: str, text: str) -> bool:
    """Whether a line contains what an agent wrote; the target of an act may be any text."""
    return name != "result" and not (name == "act" and _ACT.fullmatch(text))


_WRITERS: Final = {"text": _text, "md": _markdown, "html": _html}
