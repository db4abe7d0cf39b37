"""The AI jury: one person tries to move five jurors, whose votes go to a contract on a chain (jury.md)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol

import msgspec
from msgspec import UNSET
from msgspec.structs import replace
from playmolt_core.game.decider import Accepted, Command, Decision, Effect, EndGame, Refused, Viewer
from playmolt_core.game.game import Game, ended
from playmolt_schemas.codes import Code, faults
from playmolt_schemas.feed_messages import FeedMessage
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.games.jury import (
    ChatRequest,
    JurySession,
    NoteRequest,
    OpenJuryRequest,
    PhaseRequest,
    TalkRequest,
    UnseenJury,
    VerdictReadMessage,
    VerdictView,
)
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import (
    AttemptMade,
    Ended,
    EvidenceItem,
    EvidenceRead,
    GameAborted,
    Language,
    PhaseChanged,
    PhaseName,
    ToolsProbed,
    TurnFailed,
    TurnStarted,
    VerdictName,
    VerdictRead,
    VoteView,
)
from typing_extensions import override

from playmolt_jury import (
    bodies,
    commands,
    dialogue,
    effects,
    panel_rules,
    recovery,
    replies,
    turn_events,
    views,
    vote_rules,
)
from playmolt_jury.codes import (
    invalid,
    locked,
    no_item,
    no_juror,
    no_witness,
    pack_unavailable,
    refused,
    unknown_session,
    wrong_phase,
)
from playmolt_jury.content import pack
from playmolt_jury.content.cases import KEPT, PackLibrary
from playmolt_jury.content.material import EndingEntry, Material, Witness
from playmolt_jury.content.pack import Pack
from playmolt_jury.dialogue import Talk
from playmolt_jury.events import EVENTS, JuryOpened
from playmolt_jury.state import FOLDS, FailedCall, State, Turn
from playmolt_jury.vote_rules import DETAIL_CHARS

MOVES: Final[frozenset[tuple[PhaseName, PhaseName]]] = frozenset(
    (
        ("prologue", "investigation"),
        ("investigation", "persuasion"),
        ("persuasion", "investigation"),
        ("persuasion", "deliberation"),
    )
)
"""The phase changes that the overseer may request."""
_EVIDENCE_PHASES: Final[frozenset[PhaseName]] = frozenset(("prologue", "investigation", "persuasion", "deliberation"))
"""Later reads are not logged: the last record before the vote is the phase change."""


class ViewSettings(Protocol):
    """The settings that views show; `JurySettings` has them."""

    @property
    def jury_show_stances(self) -> bool: ...

    @property
    def evm_explorer(self) -> str: ...


class DefaultView(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults of `ViewSettings`: stances are shown as bands, and values of the chain are not linked."""

    jury_show_stances: bool = False
    evm_explorer: str = ""


DEFAULT_VIEW: Final = DefaultView()


class Jury(Game[State]):
    """The decider of the AI jury. Its events do not depend on `shown`."""

    game = "jury"
    rules_version = 2
    needed = 1
    events = EVENTS
    folds = FOLDS
    opening = frozenset((commands.OpenJury, commands.OpenPanelJury))
    unknown = unknown_session()
    from_content = frozenset(("jury_opened", "witness_talked", "evidence_unlocked", "ended"))
    foreign = Refused(
        Code.INVALID_REQUEST, "A jury session is not a bot game. Use the routes under /api/jury/sessions."
    )

    def __init__(self, cases: PackLibrary, content_version: str, shown: ViewSettings = DEFAULT_VIEW) -> None:
        self.content_version = content_version
        self.shown = shown
        self.explorer = shown.evm_explorer.rstrip("/") or UNSET
        self.cases = cases
        super().__init__(
            {
                commands.OpenJury: self._open,
                commands.OpenPanelJury: self._open_of_panel,
                commands.GoOn: lambda state, command: panel_rules.go_on(state, self._ending_of(state), command),
                commands.ChangePhase: _change_phase,
                commands.ReadEvidence: _read,
                commands.TalkTo: self._talk,
                commands.Chat: _chat,
                commands.Present: _present,
                commands.NextRound: _next_round,
                commands.SendNote: _note,
                commands.CallVote: vote_rules.call_vote,
                commands.Retry: vote_rules.retry,
                commands.Attempted: _attempted,
                commands.ToolsAnswered: _probed,
                commands.JurorTurn: _turned,
                commands.TurnLost: _lost,
                commands.CaseOpened: vote_rules.deployed,
                commands.VoteMined: vote_rules.mined,
                commands.ChainLost: vote_rules.chain_lost,
                commands.VerdictFound: self._verdict,
                EndGame: _end,
            }
        )

    def material(self, state: State) -> Material:
        """The content in the session's language; LookupError when this process does not have the session's pack."""
        return self.cases.material(state.pack_digest, state.language)

    def pack(self, state: State) -> Pack:
        """LookupError as `material`."""
        pack = self.cases.of(state.pack_digest)
        if pack is None:
            raise LookupError(f"no pack {state.pack_digest}")
        return pack

    def witness(self, state: State, witness_id: str) -> Witness | None:
        return next((each for each in self.material(state).witnesses if each.id == witness_id), None)

    @override
    def initial(self, game_id: str) -> State:
        return State(game_id=game_id)

    @override
    def decide(self, state: State, command: Command, at: datetime) -> Decision:
        """Only the owner may command a session. Repeating a call that was already accepted changes nothing."""
        if state.version and isinstance(command, commands.OwnerCommand):
            if command.agent_id != state.owner:
                return self.unknown
            if self.cases.of(state.pack_digest) is None:
                return pack_unavailable(state.pack_digest)
            if state.script:
                return _read_of_panel(state, command)
            if _already_taken(state, command.call):
                return Accepted()
        return super().decide(state, command, at)

    @override
    def follow(self, state: State, command: Command) -> Event | None:
        return panel_rules.follow(state, command, self._ending_of(state))

    @override
    def public(self, event: Event, viewer: Viewer, state: State | None = None) -> FeedMessage | None:
        """A message for the session's owner; None for anyone else."""
        if state is None or not owns(state, viewer.agent_id):
            return None
        message = views.public(event, self.material(state), show_stances=self.shows_stances(state))
        return replace(message, explorer=self.explorer) if isinstance(message, VerdictReadMessage) else message

    @override
    def view(self, state: State, viewer: Viewer) -> JurySession | UnseenJury:
        """The session as its owner sees it; anyone else gets UnseenJury."""
        if not owns(state, viewer.agent_id):
            return UnseenJury()
        return views.session(state, self.pack(state), show_stances=self.shows_stances(state))

    def shown_verdict(self, state: State) -> VerdictView | None:
        """The verdict with the address of the block explorer; None before the verdict."""
        return replace(state.verdict, explorer=self.explorer) if state.verdict else None

    def shows_stances(self, state: State) -> bool:
        """Whether stances are shown as numbers: after the verdict, or if the settings say so."""
        return self.shown.jury_show_stances or state.verdict is not None

    @override
    def operator_view(self, state: State) -> Mapping[str, object]:
        """Metadata only; what was said in the session is visible to its owner alone."""
        return {"language": state.language, "model": state.model, "seed": state.seed}

    @override
    def summary(self, state: State) -> GameSummary:
        return GameSummary(phase=state.phase, round=state.round, seated=1, needed=1, over=state.over)

    @override
    def participants(self, state: State) -> Mapping[str, str]:
        return {state.owner: state.name} if state.version else {}

    @override
    def effects(self, state: State) -> Sequence[Effect[Turn | effects.ToolProbe | effects.ChainTask]]:
        return effects.effects(state)

    @override
    def recovered(self, state: State, events: Sequence[Event], at: datetime) -> Iterable[Command]:
        return recovery.recovered(state, events)

    @override
    def pinned(self, decided: Event, stored: Event) -> Event:
        return recovery.pinned(decided, stored)

    def _open(self, state: State, command: commands.OpenJury) -> Decision:
        if state.version:
            return Refused(Code.ALREADY_STARTED, "This session already exists. Open another one.")
        uploaded = {each.id: each for each in command.uploaded}
        cases = {pack.id: tuple(pack.materials) for pack in self.cases.offered()}
        cases |= {each.id: each.languages for each in command.uploaded}
        request = bodies.read_opening(command.body, command.aliases, cases, self.cases.shipped.id)
        if not isinstance(request, OpenJuryRequest):
            return invalid(request)
        named = uploaded.get(request.case or "")
        pack = (self.cases.of(named.digest) if named else None) or self.cases.named(request.case or "")
        if pack is None:
            return pack_unavailable(named.digest if named else "")
        opened = self._opened(pack, request.language, command.agent_id, command.name, command.seed, request.model)
        return Accepted((opened,))

    def _open_of_panel(self, state: State, command: commands.OpenPanelJury) -> Decision:
        """The steps that need no model follow at once."""
        if state.version:
            return Accepted()
        pack = self.cases.of(command.pack_digest)
        if pack is None or command.language not in pack.materials:
            return pack_unavailable(command.pack_digest)
        models = list(dict.fromkeys(command.script.models.values()))
        opened = self._opened(
            pack, command.language, command.owner, command.name, str(command.place.seed), ", ".join(models)
        )
        rules = replace(opened.rules, deliberation=command.deliberation)
        return Accepted((replace(opened, rules=rules, panel=command.place, script=command.script),))

    def _opened(self, pack: Pack, language: Language, owner: str, name: str, seed: str, model: str) -> JuryOpened:
        material = pack.materials[language]
        return JuryOpened(
            owner=owner,
            name=name,
            seed=seed,
            rules_version=self.rules_version,
            content_version=self.content_version if pack is self.cases.shipped else pack.digest[:16],
            language=language,
            model=model,
            jurors=material.jurors,
            evidence=tuple(EvidenceItem(id=e.id, locked=e.locked, topics=e.topics) for e in material.evidence),
            topics=tuple(topic.id for topic in material.topics),
            case=pack.id,
            pack_digest=pack.digest,
            rules=material.rules,
        )

    def _talk(self, state: State, command: commands.TalkTo) -> Decision:
        witness = self.witness(state, command.witness_id)
        if witness is None:
            return no_witness()
        if state.phase != "investigation":
            return wrong_phase(state.phase, "You can question witnesses in the phase investigation only")
        request = bodies.read_talk(command.body)
        if not isinstance(request, TalkRequest):
            return invalid(request)
        if request.evidence_id is not None:
            return _show(state, witness, request.evidence_id)
        return Accepted() if request.choice is None else _say(state, witness, request.choice)

    def _verdict(self, state: State, command: commands.VerdictFound) -> Decision:
        if not effects.is_pending(state, command.effect_id, "verdict"):
            return Accepted()
        votes_read = {vote.juror_id: vote for vote in command.votes}
        votes = tuple(
            VoteView(
                juror_id=juror,
                guilty=votes_read[juror].guilty,
                stance=state.juror_states[juror].stance,
                tx_hash=votes_read[juror].tx_hash,
                address=votes_read[juror].address,
            )
            for juror in state.juror_ids
        )
        verdict: VerdictName = "guilty" if command.guilty else "not_guilty"
        read = VerdictRead(
            verdict=verdict,
            guilty=command.guilty_votes,
            not_guilty=command.not_guilty_votes,
            votes=votes,
            contract=command.contract,
            chain_id=command.chain_id,
            log_hash=command.log_hash,
        )
        ending = self._ending(state, verdict)
        return Accepted(
            (
                *vote_rules.cast_again(state, votes),
                read,
                PhaseChanged(from_=state.phase, to="ended"),
                Ended(ending=ending.id),
            )
        )

    def _ending_of(self, state: State) -> Callable[[VerdictName], str]:
        return lambda verdict: self._ending(state, verdict).id

    def _ending(self, state: State, verdict: VerdictName) -> EndingEntry:
        endings = self.material(state).endings
        return next(each for each in endings if each.verdict == verdict and each.when == state.found)


def jury(packs: Iterable[Pack] = (), shown: ViewSettings = DEFAULT_VIEW, *, kept: int = KEPT) -> Jury:
    """The jury with all content loaded; raises ValueError naming every fault of it. `kept` as in `PackLibrary`."""
    cases = PackLibrary(pack.shipped(), packs, kept=kept)
    return Jury(cases, pack.content_version(), shown)


def owns(state: State, agent_id: str | None) -> bool:
    return bool(state.version) and agent_id == state.owner


def evidence_refusal(state: State, evidence_id: str) -> Refused | None:
    """The refusal for an item that does not exist or is locked; None when it is available."""
    if state.item(evidence_id) is None:
        return no_item()
    return locked() if evidence_id in state.still_locked else None


def _read_of_panel(state: State, command: commands.OwnerCommand) -> Decision:
    """A person only reads a jury that its panel plays; reading an item leaves no trace that could change the ending."""
    if isinstance(command, commands.ReadEvidence):
        return evidence_refusal(state, command.evidence_id) or Accepted()
    return refused(Code.SESSION_PHASE, "A panel plays this jury by its plan, so you can only read it.")


def _already_taken(state: State, call: str) -> bool:
    known = state.outcomes.get(call)
    if isinstance(known, FailedCall):
        # A failed call may be retried, even while other jurors still have turns of it to take.
        return False
    return known is not None or any(turn.call == call for turn in state.turns)


def _busy() -> Refused:
    return refused(Code.BUSY, "A juror is still thinking. Wait for its answer in the event stream, then retry.")


def _change_phase(state: State, command: commands.ChangePhase) -> Decision:
    request = bodies.read_phase(command.body)
    if not isinstance(request, PhaseRequest):
        return invalid(request)
    if request.to == state.phase:
        return Accepted()
    if (state.phase, request.to) not in MOVES:
        return wrong_phase(state.phase, f"You cannot move to {request.to} now")
    if state.turns:
        return _busy()
    return Accepted((PhaseChanged(from_=state.phase, to=request.to),))


def _show(state: State, witness: Witness, evidence_id: str) -> Decision:
    if state.item(evidence_id) is None:
        return invalid(faults({"evidence_id": "does not exist; GET …/evidence lists the items"}))
    if evidence_id in state.still_locked:
        return locked()
    return Accepted(dialogue.show(witness, state.talks.get(witness.id, Talk()), evidence_id, state.still_locked))


def _say(state: State, witness: Witness, choice_id: str) -> Decision:
    talk = state.talks.get(witness.id, Talk())
    offered = dialogue.offered(witness, talk, read=state.read, cracked=state.cracked)
    choice = next((each for each in offered if each.id == choice_id), None)
    if choice is None:
        known = ", ".join(each.id for each in offered) or "none"
        return invalid(faults({"choice": f"is not available; choose one of: {known}"}))
    return Accepted(dialogue.say(witness, talk, choice, state.still_locked))


def _read(state: State, command: commands.ReadEvidence) -> Decision:
    if refusal := evidence_refusal(state, command.evidence_id):
        return refusal
    if command.evidence_id in state.read or state.phase not in _EVIDENCE_PHASES:
        return Accepted()
    return Accepted((EvidenceRead(evidence_id=command.evidence_id),))


def _chat(state: State, command: commands.Chat) -> Decision:
    if command.juror_id not in state.juror_states:
        return no_juror()
    if state.phase != "persuasion":
        return wrong_phase(state.phase, "You can talk to jurors in the phase persuasion only")
    request = bodies.read_chat(command.body)
    if not isinstance(request, ChatRequest):
        return invalid(request)
    return _with_juror(state, TurnStarted(call=command.call, turn="chat", juror_id=command.juror_id, text=request.text))


def _present(state: State, command: commands.Present) -> Decision:
    if command.juror_id not in state.juror_states:
        return no_juror()
    if refusal := evidence_refusal(state, command.evidence_id):
        return refusal
    if state.phase != "persuasion":
        return wrong_phase(state.phase, "You can present evidence to jurors in the phase persuasion only")
    if errors := bodies.empty_faults(command.body):
        return invalid(errors)
    started = TurnStarted(call=command.call, turn="present", juror_id=command.juror_id, evidence_id=command.evidence_id)
    return _with_juror(state, started)


def _with_juror(state: State, started: TurnStarted) -> Decision:
    # Turns in progress count too: otherwise many concurrent calls would exceed the limit.
    if state.juror_states[started.juror_id].rounds_left <= len(state.pending(started.juror_id)):
        return refused(Code.NO_ROUNDS_LEFT, "You have used all rounds with this juror. Talk to another juror.")
    return Accepted((started,))


def _next_round(state: State, command: commands.NextRound) -> Decision:
    if state.phase != "deliberation":
        return wrong_phase(state.phase, "The jurors debate in the phase deliberation only")
    if errors := bodies.empty_faults(command.body):
        return invalid(errors)
    if state.turns:
        return _busy()
    debate = state.debate
    if debate and debate.next_speaker:
        return Accepted((turn_events.speech_started(debate.next_speaker, debate.round, command.call),))
    started = panel_rules.round_started(state)
    return Accepted((started, turn_events.speech_started(started.leader, started.round, command.call)))


def _note(state: State, command: commands.SendNote) -> Decision:
    if state.phase != "deliberation":
        return wrong_phase(state.phase, "You can send notes in the phase deliberation only, before its last round ends")
    request = bodies.read_note(command.body, state.juror_ids)
    if not isinstance(request, NoteRequest):
        return invalid(request)
    if any(turn.kind == "speech" for turn in state.turns):
        return _busy()
    if state.notes_left <= 0:
        return refused(Code.NO_NOTES_LEFT, "You have used all notes of this deliberation.")
    return Accepted((TurnStarted(call=command.call, turn="note", juror_id=request.juror_id, text=request.text),))


def _attempted(state: State, command: commands.Attempted) -> Decision:
    if state.over:
        return Accepted()
    return Accepted((AttemptMade(turn=command.turn, kind=command.kind, attempt=command.attempt),))


def _probed(state: State, command: commands.ToolsAnswered) -> Decision:
    if state.over or state.probed:
        return Accepted()
    return Accepted((ToolsProbed(calls_tools=command.calls_tools),))


def _turned(state: State, command: commands.JurorTurn) -> Decision:
    turn = effects.pending_turn(state, command.effect_id)
    if turn is None:
        return Accepted()
    if turn.kind in ("chat", "present", "speech"):
        try:
            replies.read_text(command.text)
        except replies.InvalidReply as error:
            return Refused(
                Code.INVALID_REQUEST,
                f"The model's reply is invalid: {error}. Ask the model again.",
                faults({"text": str(error)}),
            )
    return Accepted(turn_events.events_of(state, turn, command))


def _lost(state: State, command: commands.TurnLost) -> Decision:
    turn = effects.pending_turn(state, command.effect_id)
    if turn is None:
        return Accepted()
    tools = turn_events.tools(turn, command.tools)
    failed = TurnFailed(
        call=turn.call,
        turn=turn.kind,
        juror_id=turn.juror_id,
        code=command.code,
        detail=command.detail[:DETAIL_CHARS],
        attempts=command.attempts,
    )
    return Accepted((*tools, failed))


def _end(state: State, command: EndGame) -> Decision:
    if state.over:
        return Refused(Code.GAME_OVER, "This session is over.")
    return ended(command, GameAborted)


__all__ = ["Jury", "evidence_refusal", "owns"]
