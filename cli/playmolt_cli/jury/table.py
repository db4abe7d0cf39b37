"""A jury session in the terminal: makes each call and prints its result."""

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
    PhaseRequest,
    RoundReply,
    TalkRequest,
    TalkView,
    VerdictView,
    WitnessList,
)
from playmolt_schemas.routes import jury as routes
from playmolt_schemas.stored.jury import PhaseName

from playmolt_cli.jury.page import JuryPage
from playmolt_cli.terminal.failures import Failure

T = TypeVar("T")
SLOW_MOST_SECONDS: Final = 600.0
"""How long to repeat a call while models or the chain are working."""
_PAUSE_SECONDS: Final = 0.5


class JuryTable:
    """One session and the page it is printed on. `session` is the last state read.

    Calls raise as the client does, and Failure if an answer takes longer than `patience` seconds.
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
        """The list of evidence, without printing."""
        return self.client.call(routes.EVIDENCE_LIST, self.id)

    def read(self, evidence_id: str) -> None:
        self.page.item(self.client.call(routes.EVIDENCE, self.id, evidence_id))

    def witnesses(self) -> WitnessList:
        """The witnesses, without printing."""
        listed = self.client.call(routes.WITNESSES, self.id)
        self.page.names |= {witness.id: witness.name for witness in listed.witnesses}
        return listed

    def talk(self, witness_id: str, *, choice: str | None = None, evidence_id: str | None = None) -> TalkView:
        """Say or show something to a witness, or continue the talk."""
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
        reply = self._settled(request(routes.NEXT, self.id))
        self.page.round(reply)
        return reply

    def note(self, juror_id: str, text: str) -> NoteReply:
        """Slip a juror a secret note."""
        left = self._settled(request(routes.NOTES, self.id, body=NoteRequest(juror_id=juror_id, text=text)))
        self.page.line(self.page.words.say("noted", notes=left.notes_left), style="dim")
        return left

    def vote(self) -> VerdictView:
        """Call the vote and print the verdict."""
        self.page.line()
        self.page.line(self.page.words.say("voting"), style="italic")
        verdict = self._settled(request(routes.VOTE, self.id))
        self.page.verdict(self.id, verdict)
        return verdict

    def retry(self) -> VerdictView | None:
        """Repeat a vote lost by the chain and print the verdict; None if the chain was reset again."""
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
        """Print the verdict of a finished session."""
        verdict = self.client.call(routes.VERDICT, self.id)
        self.page.verdict(self.id, verdict)
        return verdict

    def ending(self) -> EndingView:
        """Print the ending and the share of unlocked evidence."""
        ending = self.client.call(routes.ENDING, self.id)
        self.page.ending(ending)
        listed = self.items().evidence
        opened = sum(not entry.locked for entry in listed)
        self.page.line()
        self.page.line(self.page.words.say("found", open=opened, all=len(listed)), style="dim")
        return ending

    def _settled(self, asked: Request[T | JurySession]) -> T:
        """Repeat a slow call until it has an answer; its idempotency key prevents a second effect."""
        until = time.monotonic() + self._patience
        while isinstance(answer := self.client.send(asked), JurySession):
            self._wait(until, asked)
        return answer

    def _wait(self, until: float, what: object) -> None:
        if time.monotonic() > until:
            raise Failure(
                f"{what} is still in progress after {self._patience:g} s. Continue later with "
                f"playmolt jury play --session {self.id}"
            )
        self.page.line(self.page.words.say("still"), style="dim")
        time.sleep(_PAUSE_SECONDS)
