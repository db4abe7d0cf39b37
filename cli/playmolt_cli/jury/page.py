"""Prints a jury session in the terminal."""

from collections.abc import Mapping

from playmolt_schemas.games.jury import (
    ChatReply,
    DossierView,
    EndingView,
    EvidenceList,
    EvidenceView,
    JurySession,
    RoundReply,
    SpokenLine,
    TalkView,
    VerdictView,
)
from rich.console import Console

from playmolt_cli.jury.texts import JuryTexts
from playmolt_cli.terminal.terminal_text import TerminalText


class JuryPage(TerminalText):
    """Writes a session. `names` maps ids to names."""

    def __init__(self, out: Console, words: JuryTexts) -> None:
        super().__init__(out)
        self.words = words
        self.names: dict[str, str] = {}
        self._read: set[str] = set()

    def text(self, text: str, *, indent: int = 0) -> None:
        """Write a text, keeping its line breaks."""
        for line in map(str.strip, text.strip().splitlines()):
            self.line(line, indent=indent if line else 0)

    def said(self, speaker: str, text: str, *, style: str | None = None) -> None:
        """Write speech, with empty lines between paragraphs."""
        first, *others = [part for part in map(str.strip, text.split("\n\n")) if part] or [""]
        self.line(first, mark=f"{speaker}:", style=style)
        for paragraph in others:
            self.line()
            self.line(paragraph, indent=1, style=style)

    def name(self, id_: str) -> str:
        """The name of a juror or witness; the id if unknown."""
        return self.names.get(id_, id_)

    def know(self, session: JurySession) -> None:
        self.names |= {juror.id: juror.name for juror in session.jurors}

    def prologue(self, lines: tuple[SpokenLine, ...]) -> None:
        for each in lines:
            self.line()
            if each.speaker == "—":
                self.line(each.text, style="italic")
            else:
                self.said(each.speaker, each.text)

    def dossier(self, dossier: DossierView) -> None:
        self.head(dossier.title)
        self.text(dossier.text)

    def items(self, listed: EvidenceList) -> None:
        """Write the list of evidence, with a tick after items already shown."""
        self.head(self.words.say("evidence"))
        for entry in listed.evidence:
            mark = f"{entry.id:>4}"
            if entry.locked:
                self.line(f"— {self.words.say('locked')} —", mark=mark, style="dim")
            else:
                self.line(f"{entry.title} ✓" if entry.id in self._read else str(entry.title), mark=mark)

    def item(self, item: EvidenceView) -> None:
        self._read.add(item.id)
        self.head(f"{item.id} · {item.title}")
        self.text(item.text, indent=1)

    def talk(self, talk: TalkView) -> None:
        self.line()
        self.said(self.name(talk.witness_id), talk.text)
        if talk.pressure:
            self.line(self.words.say("pressure", pressure=talk.pressure), indent=1, style="dim")
        if talk.unlocked:
            self.line(self.words.say("cracked", name=self.name(talk.witness_id)), indent=1, style="bold yellow")
            self.line(self.words.say("unlocked", items=self.words.list(talk.unlocked)), indent=1, style="bold yellow")

    def reply(self, reply: ChatReply) -> None:
        """Write a juror's reply and current band."""
        name = self.name(reply.juror_id)
        self.said(name, reply.reply)
        if reply.weakness_hit:
            self.line(self.words.say("weakness"), indent=1, style="bold yellow")
        status = self.words.say("reply", name=name, band=self.words.band(reply.band), rounds=reply.rounds_left)
        self.line(status, indent=1, style="dim")

    def round(self, reply: RoundReply) -> None:
        """Write a round of deliberation and its changes."""
        responders = self.words.list(tuple(map(self.name, reply.responders)))
        self.head(self.words.say("round", round=reply.round, leader=self.name(reply.leader), responders=responders))
        for speech in reply.speeches:
            self.said(self.name(speech.juror_id), speech.text)
            self.line()
        for change in reply.changes:
            band, before = self.words.band(change.band), self.words.band(change.band_before)
            key = "stays" if change.band == change.band_before else "moved"
            style = "dim" if key == "stays" else "yellow"
            said = self.words.say(key, name=self.name(change.juror_id), band=band, before=before)
            self.line(said, indent=1, style=style)

    def verdict(self, session_id: str, verdict: VerdictView) -> None:
        """Write the verdict and its transactions."""
        words = self.words
        outcome = words.verdict(verdict.verdict)
        self.head(words.say("tally", verdict=outcome, guilty=verdict.guilty, not_guilty=verdict.not_guilty))
        for vote in verdict.votes:
            name = self.name(vote.juror_id)
            if vote.guilty is None:
                self.line(f"{name}: {words.say('missed')}", indent=1)
                continue
            cast = words.verdict("guilty" if vote.guilty else "not_guilty")
            self.line(words.say("voted", name=name, vote=cast, stance=vote.stance), indent=1)
            if vote.tx_hash:
                self.line(vote.tx_hash, indent=2, style="dim")
        if verdict.contract is None:
            self.line(words.say("no_chain"), indent=1, style="dim")
            return
        where = words.say("contract", contract=verdict.contract, chain=verdict.chain_id, hash=verdict.log_hash)
        self.line(where, indent=1, style="dim")
        self.line(words.say("check", id=session_id), indent=1)

    def ending(self, ending: EndingView) -> None:
        self.head(ending.title)
        self.text(ending.text)

    def options(self, options: Mapping[str, str]) -> None:
        self.line()
        for key, text in options.items():
            self.line(text, mark=f"{key:>3})")
