"""Text output: wrapped in a terminal, one paragraph per line elsewhere, so that it can be searched."""

from rich.console import Console
from rich.text import Text
from typing_extensions import override

from playmolt_cli.terminal.narration import printable

_LEAST_WIDTH = 20
_WIDTH = 96
"""Maximum line width."""
_STEP = 2
_CLOSING = "，。；：！？、）》」”’…"
_MOST_CLOSING = 6
"""Cells reserved for closing punctuation: up to three characters in a row, such as `！”）`."""


class _Output(Console):
    @override
    def on_broken_pipe(self) -> None:
        """Raise instead of exiting: rich's exit from inside a task makes the event loop complain."""
        raise BrokenPipeError


def console(*, err: bool = False, soft_wrap: bool = False) -> Console:
    """A console for styled output; `soft_wrap` disables its own wrapping."""
    return _Output(stderr=err, highlight=False, markup=False, soft_wrap=soft_wrap)


class TerminalText:
    """Writes lines, with terminal control characters replaced."""

    def __init__(self, out: Console) -> None:
        self._out = out

    def line(self, text: str = "", indent: int = 0, *, mark: str = "", style: str | None = None) -> None:
        """Write a paragraph after a mark (`•`, `F1`), with a hanging indent."""
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
        """Wrap a text; closing punctuation never starts a line in Chinese."""
        hanging = _MOST_CLOSING if body.cell_len > len(body) else 0
        parts = list(body.wrap(self._out, width - hanging)) or [Text()]
        for place in range(1, len(parts) if hanging else 0):
            closing = len(parts[place].plain) - len(parts[place].plain.lstrip(_CLOSING))
            parts[place - 1].append_text(parts[place][:closing])
            parts[place] = parts[place][closing:]
        return [part for part in parts if part.plain] or parts[:1]

    def whole(self, text: str) -> None:
        """Write a line without wrapping, for commands and ids that are copied."""
        self._out.print(Text(printable(text)), soft_wrap=True)

    def head(self, text: str) -> None:
        self.line()
        self.line(text, style="bold")
