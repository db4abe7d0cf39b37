"""A run as people read it: what each agent thought, did and said, turn by turn, as text, Markdown or HTML."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.report.markup import rendered

Format = Literal["text", "md", "html"]
FORMATS: Final[tuple[Format, ...]] = ("text", "md", "html")
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!<>|~&])")

_ACT: Final = re.compile(r"[\w-]+( → [\w-]+)?")

Lines = Sequence[tuple[str, str]]
"""Name and text, in the order shown."""


def transcript(
    turns: Iterable[TurnRecord], kind: Format, *, title: str, prompts: Mapping[str, str] | None = None
) -> str:
    """Turns in order of turn and order; `prompts` is hash → text as it was hashed, where they are to be shown."""
    found = sorted(turns, key=lambda turn: (turn.turn, turn.order))
    return _WRITERS[kind](((turn, tuple(_lines(turn, prompts or {}))) for turn in found), title)


def _lines(turn: TurnRecord, prompts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if turn.prompt_hash in prompts:
        yield from _prompt(prompts[turn.prompt_hash])
    failed = turn.action is None
    parts = {
        "thought": turn.thought,
        "act": f"{turn.action}{f' → {turn.target}' if turn.target else ''}" if turn.action else None,
        "says": turn.content,
        "result": turn.parse_code if failed else "ok" if turn.success else turn.reason,
        "raw": turn.raw_reply if failed else None,
    }
    yield from ((name, text) for name, text in parts.items() if text is not None)


def _prompt(text: str) -> Iterator[tuple[str, str]]:
    yield from msgspec.json.decode(text, type=dict[str, str]).items()


def _head(turn: TurnRecord) -> tuple[str, ...]:
    return f"{turn.turn}.{turn.order}", turn.agent, turn.model, turn.place_before


def _text(blocks: Iterable[tuple[TurnRecord, Lines]], _: str) -> str:
    return "".join(
        f"[{_head(turn)[0]}] {' · '.join(_head(turn)[1:])}\n"
        + "".join(f"{name}: {_indented(text)}\n" for name, text in lines)
        + "\n"
        for turn, lines in blocks
    )


def _markdown(blocks: Iterable[tuple[TurnRecord, Lines]], title: str) -> str:
    """Only what an agent wrote is escaped, also where a prompt quotes it."""
    return f"# {title}\n\n" + "".join(
        f"### {' · '.join(_head(turn))}\n\n"
        + "".join(f"- {name}: {_indented(_literal(text) if _is_free(name, text) else text)}\n" for name, text in lines)
        + "\n"
        for turn, lines in blocks
    )


def _html(blocks: Iterable[tuple[TurnRecord, Lines]], title: str) -> str:
    return (
        rendered("transcript.html", title=title, blocks=((turn, _head(turn), lines) for turn, lines in blocks)) + "\n"
    )


def _is_free(name: str, text: str) -> bool:
    """Whether a line contains what an agent wrote; the target of an act may be any text."""
    return name != "result" and not (name == "act" and _ACT.fullmatch(text))


def _indented(text: str) -> str:
    return "\n  ".join(text.splitlines()) if text else text


def _literal(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)


_WRITERS: Final = {"text": _text, "md": _markdown, "html": _html}
