"""The jury part of the demo: a scripted overseer plays a game to its ending, and the chain is asked for its verdict."""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
from playmolt.client import Client
from playmolt_schemas.games.jury import (
    EndingView,
    Language,
    OpenJuryRequest,
    PhaseName,
    RoundReply,
    TalkView,
    VerdictName,
    VerdictView,
)
from playmolt_schemas.records import Record
from playmolt_schemas.routes import jury as routes
from rich.console import Console

from playmolt_cli.jury import overseer as jury_overseer
from playmolt_cli.jury.chain import node_of
from playmolt_cli.jury.page import JuryPage
from playmolt_cli.jury.table import JuryTable
from playmolt_cli.jury.texts import JuryTexts
from playmolt_cli.jury.verdict import VerdictCheck, verified
from playmolt_cli.local.folder import Run
from playmolt_cli.terminal.narration import printable

_LANGUAGE: Final[Language] = "en"
_AIM: Final[VerdictName] = "not_guilty"
_PATIENCE_SECONDS: Final = 60.0


class DemoVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """A jury game of the demo as it ended, and what the chain said to it."""

    session: str
    verdict: VerdictName
    ending: str
    checked: VerdictCheck

    def faults(self) -> Iterator[str]:
        """Tell what is not as it should be."""
        if self.verdict != _AIM:
            yield f"{self.session} ended {self.verdict}, argued for was {_AIM}"
        yield from (f"{self.session}: {difference}" for difference in self.checked.differences)


class PlayedJury(msgspec.Struct, frozen=True, kw_only=True):
    """A jury game of the demo as it ended, and its log, before anybody has asked the chain."""

    session: str
    verdict: VerdictName
    ending: str
    log: Sequence[Record]

    def checked(self, run: Run) -> DemoVerdict:
        """Ask the chain of a running `up`, in a loop of its own. Raises Failure when it cannot be reached."""
        checked = verified(self.session, self.log, node_of(run))
        return DemoVerdict(session=self.session, verdict=self.verdict, ending=self.ending, checked=checked)


class NarratedTable(JuryTable):
    """A session told in headlines."""

    say: Callable[[str], None]

    def go(self, to: PhaseName) -> None:
        super().go(to)
        self._tell(f"— {to} —")

    def talk(self, witness_id: str, *, choice: str | None = None, evidence_id: str | None = None) -> TalkView:
        talk = super().talk(witness_id, choice=choice, evidence_id=evidence_id)
        if talk.unlocked:
            broken = self.page.words.say("cracked", name=self.page.name(witness_id))
            self._tell(f"{broken} {self.page.words.say('unlocked', items=self.page.words.list(talk.unlocked))}")
        return talk

    def next_round(self) -> RoundReply:
        told = super().next_round()
        words, name = self.page.words, self.page.name
        responders = words.list(tuple(map(name, told.responders)))
        self._tell(words.say("round", round=told.round, leader=name(told.leader), responders=responders))
        for change in told.changes:
            if change.band != change.band_before:
                before, band = words.band(change.band_before), words.band(change.band)
                self._tell("  " + words.say("moved", name=name(change.juror_id), before=before, band=band))
        return told

    def vote(self) -> VerdictView:
        verdict = super().vote()
        for vote in verdict.votes:
            cast = self.page.words.verdict("guilty" if vote.guilty else "not_guilty")
            self._tell(f"{self.page.name(vote.juror_id)}: {cast}  {vote.tx_hash}")
        outcome = self.page.words.verdict(verdict.verdict)
        tally = {"guilty": verdict.guilty, "not_guilty": verdict.not_guilty}
        self._tell(self.page.words.say("tally", verdict=outcome, **tally))
        return verdict

    def ending(self) -> EndingView:
        ending = super().ending()
        self._tell(f"“{ending.title}” ({ending.id})")
        return ending

    def _tell(self, line: str) -> None:
        self.say(printable(line))


async def judge(run: Run, say: Callable[[str], None]) -> DemoVerdict:
    """Play a game on a running `up`, telling it line by line. Raises Failure, and what the client raises."""
    judged = await asyncio.to_thread(lambda: hear(run.gateway, say).checked(run))
    say(f"verify-verdict: {judged.checked.told()}")
    return judged


def hear(gateway: str, say: Callable[[str], None]) -> PlayedJury:
    """Play a game to its ending, telling it line by line. Raises Failure, and what the client raises."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, Client(gateway) as client:
        client.register("demo overseer")
        session = client.call(routes.OPEN, body=OpenJuryRequest(language=_LANGUAGE, model="scripted"))
        page = JuryPage(Console(file=nowhere), JuryTexts(_LANGUAGE))
        table = NarratedTable(client, page, session, patience=_PATIENCE_SECONDS)
        table.say = say
        jury_overseer.play(table, _AIM)
        verdict, ending = client.call(routes.VERDICT, session.id), client.call(routes.ENDING, session.id)
        log = client.call(routes.LOG, session.id)
    return PlayedJury(session=session.id, verdict=verdict.verdict, ending=ending.id, log=log)
