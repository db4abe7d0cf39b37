"""Lines for a person to read: wrapped in a terminal, one paragraph a line elsewhere, so that they can be searched."""

from rich.console import Console
from rich.text import Text
from typing_extensions import override

from playmolt_cli.terminal.narration import printable

_LEAST_WIDTH = 20
_WIDTH = 96
"""Longer lines are hard to read; a wider terminal leaves the rest empty."""
_STEP = 2
_CLOSING = "，。；：！？、）》」”’…"
_MOST_CLOSING = 6
"""How many cells are kept free for them: three in a row, as in `！”）`."""


class _Output(Console):
    @override
    def on_broken_pipe(self) -> None:
        """What rich does, end the process, would be from within a task: its loop complains of that."""
        raise BrokenPipeError


def console(*, err: bool = False, soft_wrap: bool = False) -> Console:
    """What a command writes to, but for plain lines; with `soft_wrap` it wraps none by itself."""
    return _Output(stderr=err, highlight=False, markup=False, soft_wrap=soft_wrap)


class TerminalText:
    """Writes lines. Whatever is written, nothing in it can steer the terminal."""

    def __init__(self, out: Console) -> None:
        self._out = out

    def line(self, text: str = "", indent: int = 0, *, mark: str = "", style: str | None = None) -> None:
        """Write a paragraph behind a mark (`•`, `F1`); its further lines begin below its first word."""
        head = " " * (_STEP * indent) + (f"{mark} " if mark else "")
        body = Text(printable(" ".join(text.split())))
        if not self._out.is_terminal:
            self._out.print(Text(head) + body, soft_wrap=True)
            return
        width = max(_LEAST_WIDTH, min(_WIDTH, self._out.width) - Text(head).cell_len)
        hang = " " * Text(head).cell_len
        for place, part in enumerate(self._wrapped(body, width)):
            part.rstrip()
            self._out.print(Text(hang if place else head) + part, style=style, soft_wrap=True)

    def _wrapped(self, body: Text, width: int) -> list[Text]:
        """Wrap a text; no line of Chinese begins with what closes a sentence."""
        hanging = _MOST_CLOSING if body.cell_len > len(body) else 0
        parts = list(body.wrap(self._out, width - hanging)) or [Text()]
        for place in range(1, len(parts) if hanging else 0):
            closing = len(parts[place].plain) - len(parts[place].plain.lstrip(_CLOSING))
            parts[place - 1].append_text(parts[place][:closing])
            parts[place] = parts[place][closing:]
        return [part for part in parts if part.plain] or parts[:1]

    def whole(self, text: str) -> None:
        """Write a line that is copied and pasted, such as a command or an id: it is never wrapped."""
        self._out.print(Text(printable(text)), soft_wrap=True)

    def head(self, text: str) -> None:
        self.line()
        self.line(text, style="bold")
