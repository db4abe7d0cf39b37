"""Interactive questions. They go to standard error, so that standard output stays clean."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from playmolt_cli.legal.page import LegalPage
from playmolt_cli.legal.texts import LegalTexts
from playmolt_cli.terminal.failures import Failure

Options = Sequence[tuple[str, str]]
"""Code and label of each choice."""


class Prompter:
    """Asks questions in the terminal; `instead` names the options to use without a terminal."""

    def __init__(self, page: LegalPage, instead: str) -> None:
        self.page = page
        self.words: LegalTexts = page.words
        self._instead = instead

    def _read(self) -> str:
        try:
            return str(click.prompt("", prompt_suffix="> ", default="", show_default=False, err=True)).strip()
        except click.Abort:
            if sys.stdin.isatty():
                raise
            click.echo(err=True)  # start a new line after the prompt
            raise Failure(f"Standard input ended before all questions were answered. {self._instead}") from None

    def _label(self, label: str, *notes: str) -> None:
        shown = "; ".join(note for note in notes if note)
        self.page.line(f"{label} ({shown})" if shown else label, style="bold")

    def text(self, label: str, *, needed: bool = True, note: str = "") -> str:
        """Ask for one line; it may be empty unless `needed`."""
        self._label(label, note, "" if needed else self.words.say("optional"))
        while not (answer := self._read()) and needed:
            self.page.line(self.words.say("needed"))
        return answer

    def lines(self, label: str, *, needed: bool = True, offered: Options = (), most: int | None = None) -> list[str]:
        """Ask for lines until an empty one; a number picks an offered option."""
        notes = [self.words.say("end_empty"), "" if needed else self.words.say("optional")]
        notes += [self.words.say("at_most", count=most)] if most else []
        self._label(label, *notes, self.words.say("pick") if offered else "")
        self._offer(offered)
        given: list[str] = []
        while most is None or len(given) < most:
            answer = self._read()
            if answer:
                answer = _picked(answer, offered) or answer
                given += [answer] if answer not in given else []
            elif given or not needed:
                break
            else:
                self.page.line(self.words.say("needed"))
        return given

    def paragraph(self, label: str, *, needed: bool = True) -> str:
        notes = (self.words.say("end_empty"), "" if needed else self.words.say("optional"))
        self._label(label, *notes)
        given: list[str] = []
        while (answer := self._read()) or (needed and not given):
            given += [answer] if answer else []
        return "\n".join(given)

    def choice(self, label: str, options: Options) -> str:
        """Ask for one of the options, by number, code or label."""
        self._label(label)
        self._offer(options)
        while not (picked := _picked(self._read(), options)):
            self.page.line(self.words.say("not_offered"))
        return picked

    def yes(self, label: str, *, default: bool | None = None) -> bool:
        """Ask yes or no; an empty line selects the default, if any."""
        shown = {True: "Y/n", False: "y/N", None: "y/n"}[default]
        self._label(f"{label} [{shown}]")
        while True:
            answer = self._read().casefold()
            if answer in _YES:
                return True
            if answer in _NO:
                return False
            if not answer and default is not None:
                return default
            self.page.line(self.words.say("needed"))

    def entries(self, label: str, fields: Mapping[str, str], flag: Mapping[str, str] | None = None) -> list[Any]:
        """Ask for objects until the first field of one is empty."""
        self._label(label, self.words.say("more_entries"))
        given: list[Any] = []
        first, *others = fields
        while (head := self.text(f"{len(given) + 1}. {fields[first]}", needed=False)) != "":
            entry: dict[str, Any] = {first: head} | {name: self.text(fields[name]) for name in others}
            given.append(entry | {name: self.yes(words, default=False) for name, words in (flag or {}).items()})
        return given

    def _offer(self, options: Options) -> None:
        for number, (_, words) in enumerate(options, 1):
            self.page.line(words, 1, mark=f"{number})")


_YES = {"y", "yes", "true", "예", "네", "ㅇ"}
_NO = {"n", "no", "false", "아니오", "아니요", "ㄴ"}


def _picked(answer: str, options: Options) -> str:
    """The code that an answer selects; empty if none."""
    if answer.isascii() and answer.isdigit() and 1 <= int(answer[:4]) <= len(options):
        return options[int(answer) - 1][0]
    folded = answer.casefold()
    return next((code for code, words in options if folded in (code.casefold(), words.casefold())), "")
