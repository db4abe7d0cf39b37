"""The jury's calls: from a route to a command, from a state to an answer. Each session is its owner's alone."""

from collections.abc import Callable, Mapping, Sequence

from playmolt_core.game.api import ApiReply, ApiRequest, GameApi
from playmolt_core.game.decider import Command, Refused, Viewer
from playmolt_schemas.codes import Code
from playmolt_schemas.games.jury import JurySession, JurySessions
from typing_extensions import override

from playmolt_jury import commands, views
from playmolt_jury.codes import no_witness, unknown_session
from playmolt_jury.rules import Jury, closed, owns
from playmolt_jury.state import Lost, State

Answer = ApiReply | Refused


class JuryApi(GameApi[State]):
    """Serves the routes `jury_*`; their path parts are `juror_id`, `witness_id` and `evidence_id`.

    `aliases` are the models that a session may name.
    """

    opens = frozenset(("jury_open",))
    writes = frozenset(
        (
            "jury_open", "jury_phase", "jury_evidence", "jury_talk", "jury_chat", "jury_present", "jury_next",
            "jury_notes", "jury_vote",
        )
    )  # fmt: skip
    lists = frozenset(("jury_list",))

    def __init__(self, jury: Jury, aliases: tuple[str, ...] = ("scripted",)) -> None:
        self._jury = jury
        self._aliases = aliases
        self._commands: Mapping[str, Callable[[ApiRequest], Command]] = {
            "jury_open": self._open,
            "jury_phase": _phase,
            "jury_evidence": _evidence,
            "jury_talk": _talk,
            "jury_chat": _chat,
            "jury_present": _present,
            "jury_next": _next,
            "jury_notes": _notes,
            "jury_vote": _vote,
        }
        self._answers: Mapping[str, Callable[[State, ApiRequest], Answer]] = {
            "jury_open": self._opened,
            "jury_read": self._session,
            "jury_phase": self._session,
            "jury_dossier": self._dossier,
            "jury_evidence_list": self._evidence_list,
            "jury_evidence": self._evidence,
            "jury_witnesses": self._witnesses,
            "jury_talk": self._talked,
            "jury_chat": self._outcome,
            "jury_present": self._outcome,
            "jury_next": self._outcome,
            "jury_notes": self._outcome,
            "jury_vote": self._voted,
            "jury_verdict": self._verdict,
            "jury_ending": self._ending,
        }

    @override
    def command(self, state: State, ask: ApiRequest) -> Command | Refused:
        """To whoever does not own the session, it does not exist."""
        if ask.route not in self.opens and not owns(state, ask.agent_id):
            return unknown_session()
        return self._commands[ask.route](ask)

    @override
    def answer(self, state: State, ask: ApiRequest) -> Answer:
        """202 while models or the chain are at work."""
        if not owns(state, ask.agent_id):
            return unknown_session()
        return self._answers[ask.route](state, ask)

    @override
    def many(self, states: Sequence[State], ask: ApiRequest) -> Answer:
        return ApiReply(JurySessions(tuple(self._view(state) for state in states if owns(state, ask.agent_id))))

    def _view(self, state: State) -> JurySession:
        view = self._jury.view(state, Viewer(state.owner))
        if not isinstance(view, JurySession):
            raise TypeError("an owner sees its session")
        return view

    def _open(self, ask: ApiRequest) -> Command:
        return commands.OpenJury(
            agent_id=ask.agent_id, name=ask.name, seed=ask.seed, body=ask.body, aliases=self._aliases
        )

    def _opened(self, state: State, _: ApiRequest) -> Answer:
        return ApiReply(self._view(state), status=201)

    def _session(self, state: State, _: ApiRequest) -> Answer:
        return ApiReply(self._view(state))

    def _dossier(self, state: State, _: ApiRequest) -> Answer:
        return ApiReply(views.dossier(self._jury.material(state)))

    def _evidence_list(self, state: State, _: ApiRequest) -> Answer:
        return ApiReply(views.evidence_list(state, self._jury.material(state)))

    def _evidence(self, state: State, ask: ApiRequest) -> Answer:
        # Asked without its command before it, too: what is locked must not leave on any way.
        hidden = closed(state, ask.params["evidence_id"])
        return hidden or ApiReply(views.evidence(self._jury.material(state), ask.params["evidence_id"]))

    def _witnesses(self, state: State, _: ApiRequest) -> Answer:
        return ApiReply(views.witnesses(state, self._jury.material(state)))

    def _talked(self, state: State, ask: ApiRequest) -> Answer:
        witness = self._jury.witness(state, ask.params["witness_id"])
        if witness is None:
            return no_witness()
        step = isinstance(ask.body, dict) and any(value is not None for value in ask.body.values())
        return ApiReply(views.talk(state, witness, step=step))

    def _outcome(self, state: State, ask: ApiRequest) -> Answer:
        outcome = state.outcomes.get(ask.command_id)
        if isinstance(outcome, Lost):
            return _unavailable(outcome)
        if outcome is not None:
            return ApiReply(outcome)
        return _aborted() if state.over else ApiReply(self._view(state), status=202)

    def _voted(self, state: State, ask: ApiRequest) -> Answer:
        if state.verdict:
            return ApiReply(state.verdict)
        if lost := _lost_vote(state, ask.command_id):
            return _unavailable(lost)
        return _aborted() if state.over else ApiReply(self._view(state), status=202)

    def _verdict(self, state: State, _: ApiRequest) -> Answer:
        if state.verdict is None:
            return Refused(Code.NOT_FINISHED, f"There is no verdict yet; the session is in the phase {state.phase}.")
        return ApiReply(state.verdict)

    def _ending(self, state: State, _: ApiRequest) -> Answer:
        told = views.ending(state, self._jury.material(state))
        if told is None:
            return Refused(Code.NOT_FINISHED, f"The story is not over; the session is in the phase {state.phase}.")
        return ApiReply(told)


def _lost_vote(state: State, call: str) -> Lost | None:
    """The failure that a call of the vote met: its own, or another call's that leaves it nothing to wait for."""
    own = state.outcomes.get(call)
    if isinstance(own, Lost):
        return own
    if not state.voting or state.over or state.turns or len(state.ballots) == len(state.files):
        return None
    return next((each for each in reversed(state.outcomes.values()) if isinstance(each, Lost)), None)


def _unavailable(lost: Lost) -> Refused:
    return Refused(
        Code.UNAVAILABLE, f"The model gave no usable answer, and nothing is used up: {lost.detail}. Call again."
    )


def _aborted() -> Refused:
    return Refused(Code.GAME_OVER, "The operator ended this session.")


def _phase(ask: ApiRequest) -> Command:
    return commands.ChangePhase(agent_id=ask.agent_id, call=ask.command_id, body=ask.body)


def _evidence(ask: ApiRequest) -> Command:
    return commands.ReadEvidence(agent_id=ask.agent_id, call=ask.command_id, evidence_id=ask.params["evidence_id"])


def _talk(ask: ApiRequest) -> Command:
    return commands.TalkTo(
        agent_id=ask.agent_id, call=ask.command_id, body=ask.body, witness_id=ask.params["witness_id"]
    )


def _chat(ask: ApiRequest) -> Command:
    return commands.Chat(agent_id=ask.agent_id, call=ask.command_id, body=ask.body, juror_id=ask.params["juror_id"])


def _present(ask: ApiRequest) -> Command:
    return commands.Present(
        agent_id=ask.agent_id,
        call=ask.command_id,
        body=ask.body,
        juror_id=ask.params["juror_id"],
        evidence_id=ask.params["evidence_id"],
    )


def _next(ask: ApiRequest) -> Command:
    return commands.NextRound(agent_id=ask.agent_id, call=ask.command_id, body=ask.body)


def _notes(ask: ApiRequest) -> Command:
    return commands.SendNote(agent_id=ask.agent_id, call=ask.command_id, body=ask.body)


def _vote(ask: ApiRequest) -> Command:
    return commands.CallVote(agent_id=ask.agent_id, call=ask.command_id, body=ask.body)
