"""The jury part of the demo: a scripted overseer plays a game, and its verdict is compared with the chain."""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
from playmolt.client import Client
from playmolt_schemas.games.jury import EndingView, OpenJuryRequest, RoundReply, TalkView, VerdictView
from playmolt_schemas.records import Record
from playmolt_schemas.routes import jury as routes
from playmolt_schemas.stored.jury import Language, PhaseName, VerdictName
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
    """A finished jury game of the demo, compared with the chain."""

    session: str
    verdict: VerdictName
    ending: str
    checked: VerdictCheck

    def faults(self) -> Iterator[str]:
        """Unexpected results, one line each."""
        if self.verdict != _AIM:
            yield f"{self.session} ended with {self.verdict}, expected {_AIM}"
        yield from (f"{self.session}: {difference}" for difference in self.checked.differences)


class PlayedJury(msgspec.Struct, frozen=True, kw_only=True):
    """A finished jury game of the demo with its log, not yet compared with the chain."""

    session: str
    verdict: VerdictName
    ending: str
    log: Sequence[Record]

    def checked(self, run: Run) -> DemoVerdict:
        """Compare with the chain of a running `up`, in a new event loop. Raises Failure if it is unreachable."""
        checked = verified(self.session, self.log, node_of(run))
        return DemoVerdict(session=self.session, verdict=self.verdict, ending=self.ending, checked=checked)


class NarratedTable(JuryTable):
    """A session printed as headlines."""

    say: Callable[[str], None]

    def go(self, to: PhaseName) -> None:
        super().go(to)
        self._print(f"— {to} —")

    def talk(self, witness_id: str, *, choice: str | None = None, evidence_id: str | None = None) -> TalkView:
        talk = super().talk(witness_id, choice=choice, evidence_id=evidence_id)
        if talk.unlocked:
            broken = self.page.words.say("cracked", name=self.page.name(witness_id))
            self._print(f"{broken} {self.page.words.say('unlocked', items=self.page.words.list(talk.unlocked))}")
        return talk

    def next_round(self) -> RoundReply:
        reply = super().next_round()
        words, name = self.page.words, self.page.name
        responders = words.list(tuple(map(name, reply.responders)))
        self._print(words.say("round", round=reply.round, leader=name(reply.leader), responders=responders))
        for change in reply.changes:
            if change.band != change.band_before:
                before, band = words.band(change.band_before), words.band(change.band)
                self._print("  " + words.say("moved", name=name(change.juror_id), before=before, band=band))
        return reply

    def vote(self) -> VerdictView:
        verdict = super().vote()
        for vote in verdict.votes:
            cast = self.page.words.verdict("guilty" if vote.guilty else "not_guilty")
            self._print(f"{self.page.name(vote.juror_id)}: {cast}  {vote.tx_hash}")
        outcome = self.page.words.verdict(verdict.verdict)
        tally = {"guilty": verdict.guilty, "not_guilty": verdict.not_guilty}
        self._print(self.page.words.say("tally", verdict=outcome, **tally))
        return verdict

    def ending(self) -> EndingView:
        ending = super().ending()
        self._print(f"“{ending.title}” ({ending.id})")
        return ending

    def _print(self, line: str) -> None:
        self.say(printable(line))


async def judge(run: Run, say: Callable[[str], None]) -> DemoVerdict:
    """Play a game on a running `up` and print its headlines. Raises Failure and the client's errors."""
    judged = await asyncio.to_thread(lambda: play_jury(run.gateway, say).checked(run))
    say(f"verify-verdict: {judged.checked.summary()}")
    return judged


def play_jury(gateway: str, say: Callable[[str], None]) -> PlayedJury:
    """Play a game to its ending and print its headlines. Raises Failure and the client's errors."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, Client(gateway) as client:
        client.visit()
        session = client.call(routes.OPEN, body=OpenJuryRequest(language=_LANGUAGE, model="scripted"))
        page = JuryPage(Console(file=nowhere), JuryTexts(_LANGUAGE))
        table = NarratedTable(client, page, session, patience=_PATIENCE_SECONDS)
        table.say = say
        jury_overseer.play(table, _AIM)
        verdict, ending = client.call(routes.VERDICT, session.id), client.call(routes.ENDING, session.id)
        log = client.call(routes.LOG, session.id)
    return PlayedJury(session=session.id, verdict=verdict.verdict, ending=ending.id, log=log)
