"""A jury session at the terminal: each call is made and told at once."""

import time
from typing import Final, TypeVar

from playmolt.calls import Request, request
from playmolt.client import Client
from playmolt_schemas.games.jury import (
    ChatReply,
    ChatRequest,
    EndingView,
    EvidenceList,
    JurySession,
    NoteReply,
    NoteRequest,
    PhaseName,
    PhaseRequest,
    RoundReply,
    TalkRequest,
    TalkView,
    VerdictView,
    WitnessList,
)
from playmolt_schemas.routes import jury as routes

from playmolt_cli.jury.page import JuryPage
from playmolt_cli.terminal.failures import Failure

T = TypeVar("T")
SLOW_MOST_SECONDS: Final = 600.0
"""How long a call is asked for again while models or the chain are at work."""
_PAUSE_SECONDS: Final = 0.5


class JuryTable:
    """One session and the page it is told on. `session` is as last read.

    Calls raise as the client does, and Failure when an answer takes longer than `patience`, in seconds.
    """

    def __init__(
        self, client: Client, page: JuryPage, session: JurySession, *, patience: float = SLOW_MOST_SECONDS
    ) -> None:
        self.client = client
        self.page = page
        self.session = session
        self._patience = patience
        page.know(session)

    @property
    def id(self) -> str:
        return self.session.id

    def look(self) -> JurySession:
        self.session = self.client.call(routes.READ, self.id)
        return self.session

    def go(self, to: PhaseName) -> None:
        self.session = self.client.call(routes.PHASE, self.id, body=PhaseRequest(to=to))

    def dossier(self) -> None:
        self.page.dossier(self.client.call(routes.DOSSIER, self.id))

    def items(self) -> EvidenceList:
        """The list of evidence, untold."""
        return self.client.call(routes.EVIDENCE_LIST, self.id)

    def read(self, evidence_id: str) -> None:
        self.page.item(self.client.call(routes.EVIDENCE, self.id, evidence_id))

    def witnesses(self) -> WitnessList:
        """The witnesses, untold."""
        listed = self.client.call(routes.WITNESSES, self.id)
        self.page.names |= {witness.id: witness.name for witness in listed.witnesses}
        return listed

    def talk(self, witness_id: str, *, choice: str | None = None, evidence_id: str | None = None) -> TalkView:
        """Say or show something to a witness, or take up the talk where it stands."""
        talk = self.client.call(
            routes.TALK, self.id, witness_id, body=TalkRequest(choice=choice, evidence_id=evidence_id)
        )
        self.page.talk(talk)
        return talk

    def chat(self, juror_id: str, text: str) -> ChatReply:
        reply = self._settled(request(routes.CHAT, self.id, juror_id, body=ChatRequest(text=text)))
        self.page.reply(reply)
        return reply

    def present(self, juror_id: str, evidence_id: str) -> ChatReply:
        reply = self._settled(request(routes.PRESENT, self.id, juror_id, evidence_id))
        self.page.reply(reply)
        return reply

    def next_round(self) -> RoundReply:
        """Let the jurors deliberate for a round."""
        told = self._settled(request(routes.NEXT, self.id))
        self.page.round(told)
        return told

    def note(self, juror_id: str, text: str) -> NoteReply:
        """Slip a juror a secret note."""
        left = self._settled(request(routes.NOTES, self.id, body=NoteRequest(juror_id=juror_id, text=text)))
        self.page.line(self.page.words.say("noted", notes=left.notes_left), style="dim")
        return left

    def vote(self) -> VerdictView:
        """Have the jurors vote, and tell the verdict."""
        self.page.line()
        self.page.line(self.page.words.say("voting"), style="italic")
        verdict = self._settled(request(routes.VOTE, self.id))
        self.page.verdict(self.id, verdict)
        return verdict

    def retry(self) -> VerdictView | None:
        """Have the vote that a chain lost cast again, and tell the verdict; None when the chain changed once more."""
        self.session = self.client.call(routes.RETRY, self.id)
        self.page.line()
        self.page.line(self.page.words.say("voting"), style="italic")
        until = time.monotonic() + self._patience
        while self.look().phase == "vote":
            if self.session.failed:
                return None
            self._wait(until, "the vote")
        return self.verdict()

    def verdict(self) -> VerdictView:
        """Tell the verdict of a session that is over."""
        verdict = self.client.call(routes.VERDICT, self.id)
        self.page.verdict(self.id, verdict)
        return verdict

    def ending(self) -> EndingView:
        """Tell how it ended, and how much there was to find."""
        ending = self.client.call(routes.ENDING, self.id)
        self.page.ending(ending)
        listed = self.items().evidence
        opened = sum(not entry.locked for entry in listed)
        self.page.line()
        self.page.line(self.page.words.say("found", open=opened, all=len(listed)), style="dim")
        return ending

    def _settled(self, asked: Request[T | JurySession]) -> T:
        """Send a slow call until it is answered. The same key asks for the same answer and does nothing twice."""
        until = time.monotonic() + self._patience
        while isinstance(answer := self.client.send(asked), JurySession):
            self._wait(until, asked)
        return answer

    def _wait(self, until: float, what: object) -> None:
        if time.monotonic() > until:
            raise Failure(
                f"{what} is still at work after {self._patience:g} s; nothing is lost: "
                f"playmolt jury play --session {self.id}"
            )
        self.page.line(self.page.words.say("still"), style="dim")
        time.sleep(_PAUSE_SECONDS)
