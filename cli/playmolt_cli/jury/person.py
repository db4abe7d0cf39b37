"""Interactive play of a jury session, with numbered menus."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import click
from playmolt.errors import Refused, Unavailable
from playmolt_schemas.games.jury import (
    CHAT_CHARS,
    DELIBERATION_ROUNDS,
    NOTE_CHARS,
    JurorView,
    TalkView,
    WitnessListEntry,
)
from playmolt_schemas.stored.jury import PhaseName

from playmolt_cli.jury.table import JuryTable
from playmolt_cli.terminal.failures import Failure

_LEAVE: Final = "q"
MenuEntry = tuple[str, Callable[[], object]]
"""Text and action of a menu entry."""


class PlayerLeft(Exception):
    """The user leaves; the session is kept."""


class Person:
    """Plays a session interactively."""

    def __init__(self, table: JuryTable) -> None:
        self._table = table
        self._page = table.page
        self._say = table.page.words.say
        self._verdict_shown = False

    def play(self) -> None:
        """Play from the current phase to the ending; raises PlayerLeft if the user leaves.

        Refusals and unavailability are printed, and the menu is shown again. Raises Failure without a terminal, and as
        `JuryTable` does.
        """
        phases: Mapping[PhaseName, Callable[[], None]] = {
            "prologue": self._prologue,
            "investigation": self._investigation,
            "persuasion": self._persuasion,
            "deliberation": self._deliberation,
            "vote": self._vote,
        }
        while (phase := self._table.look().phase) in phases:
            phases[phase]()
        if phase == "aborted":
            self._page.line(self._say("aborted"))
            return
        if not self._verdict_shown:
            self._table.verdict()
        self._table.ending()

    def _prologue(self) -> None:
        self._page.prologue(self._table.session.prologue)
        self._page.line()
        self._page.whole(self._say("session", id=self._table.id))
        self._ask(self._say("go_on"))
        self._table.go("investigation")

    def _investigation(self) -> None:
        listed, people = self._table.items().evidence, self._table.witnesses().witnesses
        opened = sum(not entry.locked for entry in listed)
        self._choose(
            self._say("investigation"),
            (self._say("do_dossier"), self._table.dossier),
            (self._say("do_evidence", open=opened, all=len(listed)), self._evidence),
            *((self._witness_line(each), partial(self._talk, each.id)) for each in people),
            (self._say("do_persuade"), lambda: self._table.go("persuasion")),
        )

    def _witness_line(self, witness: WitnessListEntry) -> str:
        line = self._say("do_witness", name=witness.name)
        return f"{line} ({self._say('broken')})" if witness.cracked else line

    def _evidence(self) -> None:
        listed = self._table.items()
        self._page.items(listed)
        opened = {entry.id.casefold() for entry in listed.evidence if not entry.locked}
        while answer := self._item(opened):
            self._try(partial(self._table.read, answer))

    def _item(self, opened: set[str]) -> str | None:
        """Ask for an unlocked item by id or number; None to go back."""
        while answer := self._ask(self._say("which_item")):
            wanted = answer.casefold()
            wanted = wanted if wanted.startswith("e") else f"e{wanted}"
            if wanted in opened:
                return wanted.upper()
            self._page.line(self._say("not_offered"))
        return None

    def _talk(self, witness_id: str) -> None:
        talk: TalkView | None = self._table.talk(witness_id)
        while talk is not None:
            shown = talk
            entries = {str(number): choice.text for number, choice in enumerate(shown.choices, 1)}
            if shown.ended and not shown.choices:
                self._page.line(self._say("talk_over"), style="dim")
            show, back = str(len(entries) + 1), str(len(entries) + 2)
            self._page.options(entries | {show: self._say("show"), back: self._say("back")})
            picked = self._pick({*entries, show, back})
            if picked == back:
                return
            talk = self._show(witness_id, shown) if picked == show else self._said(shown, int(picked) - 1)

    def _said(self, talk: TalkView, number: int) -> TalkView:
        choice = talk.choices[number]
        self._page.said(self._say("you"), choice.text, style="cyan")
        return self._table.talk(talk.witness_id, choice=choice.id)

    def _show(self, witness_id: str, talk: TalkView) -> TalkView:
        listed = self._table.items()
        self._page.items(listed)
        item = self._item({entry.id.casefold() for entry in listed.evidence if not entry.locked})
        return talk if item is None else self._table.talk(witness_id, evidence_id=item)

    def _persuasion(self) -> None:
        self._choose(
            self._say("persuasion"),
            (self._say("do_dossier"), self._table.dossier),
            (self._say("evidence"), self._evidence),
            *((self._juror_line(each), partial(self._juror, each.id)) for each in self._table.session.jurors),
            (self._say("do_investigate"), lambda: self._table.go("investigation")),
            (self._say("do_deliberate"), lambda: self._table.go("deliberation")),
        )

    def _juror_line(self, juror: JurorView) -> str:
        band = self._page.words.band(juror.band)
        line = self._say("do_juror", name=juror.name, band=band, rounds=juror.rounds_left)
        return f"{line} · {self._page.words.list(juror.personality)}"

    def _juror(self, juror_id: str) -> None:
        """Menu for one juror, until the last entry (back)."""
        doings: tuple[MenuEntry, ...] = (
            (self._say("say"), lambda: self._chat(juror_id)),
            (self._say("present"), lambda: self._present(juror_id)),
            (self._say("back"), lambda: None),
        )
        while self._choose(self._page.name(juror_id), *doings) < len(doings):
            continue

    def _chat(self, juror_id: str) -> None:
        if text := self._ask(self._say("your_words")):
            self._table.chat(juror_id, text[:CHAT_CHARS])

    def _present(self, juror_id: str) -> None:
        listed = self._table.items()
        self._page.items(listed)
        if item := self._item({entry.id.casefold() for entry in listed.evidence if not entry.locked}):
            self._page.line(self._say("you_show", item=item, name=self._page.name(juror_id)), style="cyan")
            self._table.present(juror_id, item)

    def _deliberation(self) -> None:
        session = self._table.session
        # A round with a failed juror is continued, so the last round may be offered again.
        number = min(session.round + 1, DELIBERATION_ROUNDS)
        rounds = self._say("do_round", round=number, rounds=DELIBERATION_ROUNDS)
        self._choose(
            self._say("deliberation"),
            (rounds, self._table.next_round),
            (self._say("do_note", notes=session.notes_left), self._note),
        )

    def _note(self) -> None:
        jurors = self._table.session.jurors
        entries = {str(number): self._juror_line(juror) for number, juror in enumerate(jurors, 1)}
        self._page.options(entries)
        juror = jurors[int(self._pick(set(entries))) - 1]
        if text := self._ask(self._say("note_text", chars=NOTE_CHARS)):
            self._table.note(juror.id, text)

    def _vote(self) -> None:
        if self._table.session.failed:
            self._page.line(self._say("chain_changed"), mark="!", style="yellow")
            self._choose(self._say("vote"), (self._say("do_retry"), self._retry_vote))
        else:
            self._choose(self._say("vote"), (self._say("do_vote"), self._call_vote))

    def _call_vote(self) -> None:
        self._table.vote()
        self._verdict_shown = True

    def _retry_vote(self) -> None:
        self._verdict_shown = self._table.retry() is not None

    def _choose(self, title: str, *doings: MenuEntry) -> int:
        """Show a menu and run the chosen entry; returns its number."""
        self._page.head(title)
        entries = {str(number): text for number, (text, _) in enumerate(doings, 1)}
        self._page.options({**entries, _LEAVE: self._say("leave")})
        picked = int(self._pick(set(entries)))
        self._try(doings[picked - 1][1])
        return picked

    def _try(self, doing: Callable[[], object]) -> None:
        try:
            doing()
        except Refused as refusal:
            self._page.line(f"{refusal.detail} ({refusal.code})", mark="!", style="yellow")
        except Unavailable as error:
            self._page.line(self._say("unavailable", detail=error), mark="!", style="yellow")

    def _pick(self, offered: set[str]) -> str:
        while (answer := self._ask(self._say("choose"))) not in offered:
            self._page.line(self._say("not_offered"))
        return answer

    def _ask(self, label: str) -> str:
        try:
            answer = str(click.prompt(label, prompt_suffix="> ", default="", show_default=False, err=True)).strip()
        except click.Abort:
            if sys.stdin.isatty():
                raise PlayerLeft from None
            raise Failure("Standard input ended before the game. Use --auto to play without input.") from None
        if answer.casefold() == _LEAVE:
            raise PlayerLeft
        return answer
