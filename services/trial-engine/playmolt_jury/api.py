"""The routes of the jury: which command a request becomes, and how a state answers it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from playmolt_core.game.api import ApiReply, ApiRequest, GameApi
from playmolt_core.game.decider import Command, Refused, Viewer
from playmolt_schemas.api import ErasedSession
from playmolt_schemas.codes import Code
from playmolt_schemas.games.jury import FailedVote, JurySession, JurySessions
from playmolt_schemas.routes import sharing
from typing_extensions import override

from playmolt_jury import bodies, commands, views
from playmolt_jury.codes import invalid, no_witness, pack_unavailable, unknown_session
from playmolt_jury.rules import Jury, evidence_refusal, owns
from playmolt_jury.state import OPERATOR, FailedCall, State

ApiAnswer = ApiReply | Refused


OPEN: Final = "jury_open"
LIST: Final = "jury_list"
CASES: Final = "jury_cases"
BRING_CASE: Final = "jury_bring_case"
DROP_CASE: Final = "jury_drop_case"


class OpeningBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a request that opens a session, and the uploaded cases that its caller may name."""

    body: Any
    uploaded: tuple[commands.NamedCase, ...]


class JuryApi(GameApi[State]):
    """Serves the routes `jury_*`; their path parts are `juror_id`, `witness_id` and `evidence_id`.

    `aliases` are the models that a session may name.
    """

    opens = frozenset((OPEN,))
    writes = frozenset(
        (
            OPEN, "jury_phase", "jury_evidence", "jury_talk", "jury_chat", "jury_present", "jury_next",
            "jury_notes", "jury_vote", "jury_retry",
        )
    )  # fmt: skip
    lists = frozenset((LIST,))
    unbound = frozenset((CASES, BRING_CASE, DROP_CASE))

    def __init__(self, jury: Jury, aliases: tuple[str, ...] = ("scripted",)) -> None:
        self._jury = jury
        self._aliases = aliases
        self._commands: Mapping[str, Callable[[ApiRequest], Command]] = {
            OPEN: self._open,
            "jury_phase": _phase,
            "jury_evidence": _evidence,
            "jury_talk": _talk,
            "jury_chat": _chat,
            "jury_present": _present,
            "jury_next": _next,
            "jury_notes": _notes,
            "jury_vote": _vote,
            "jury_retry": _retry,
        }
        self._answers: Mapping[str, Callable[[State, ApiRequest], ApiAnswer]] = {
            OPEN: self._opened,
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
            "jury_retry": self._session,
            "jury_verdict": self._verdict,
            "jury_ending": self._ending,
            "jury_transcript": _when_over,
            sharing.ASK: _shareable,
            sharing.TAKE_BACK: _granted,
            sharing.PICTURE: _granted,
            sharing.PAGE: _when_over,
            sharing.LOG: _when_over,
        }

    @override
    def command(self, state: State, request: ApiRequest) -> Command | Refused:
        """Anyone but the owner is refused as if the session did not exist."""
        if request.route not in self.opens and not owns(state, asker_of(request)):
            return unknown_session()
        return self._commands[request.route](request)

    @override
    def answer(self, state: State, request: ApiRequest) -> ApiAnswer:
        """202 while models or the chain are at work."""
        if not owns(state, asker_of(request)):
            return unknown_session()
        if self._jury.cases.of(state.pack_digest) is None:
            return pack_unavailable(state.pack_digest)
        return self._answers[request.route](state, request)

    @override
    def many(self, states: Sequence[State | ErasedSession], request: ApiRequest) -> ApiAnswer:
        rows = (state if isinstance(state, ErasedSession) else self._row(state, request) for state in states)
        return ApiReply(JurySessions(tuple(row for row in rows if row is not None)))

    def _row(self, state: State, request: ApiRequest) -> JurySession | None:
        shown = owns(state, asker_of(request)) and self._jury.cases.of(state.pack_digest) is not None
        return self._view(state) if shown else None

    def _view(self, state: State) -> JurySession:
        view = self._jury.view(state, Viewer(state.owner))
        if not isinstance(view, JurySession):
            raise TypeError("the owner always gets a JurySession")
        return view

    def _open(self, request: ApiRequest) -> Command:
        body, uploaded = request.body, ()
        if isinstance(body, OpeningBody):
            body, uploaded = body.body, body.uploaded
        return commands.OpenJury(
            agent_id=request.agent_id, name=request.name, seed=request.seed, body=body, aliases=self._aliases,
            uploaded=uploaded,
        )  # fmt: skip

    def _opened(self, state: State, _: ApiRequest) -> ApiAnswer:
        return ApiReply(self._view(state), status=201)

    def _session(self, state: State, _: ApiRequest) -> ApiAnswer:
        return ApiReply(self._view(state))

    def _dossier(self, state: State, _: ApiRequest) -> ApiAnswer:
        return ApiReply(views.dossier(self._jury.material(state)))

    def _evidence_list(self, state: State, _: ApiRequest) -> ApiAnswer:
        return ApiReply(views.evidence_list(state, self._jury.material(state)))

    def _evidence(self, state: State, request: ApiRequest) -> ApiAnswer:
        # Checked here too, since a read may come without its command: a locked item must never be shown.
        refusal = evidence_refusal(state, request.params["evidence_id"])
        return refusal or ApiReply(views.evidence(self._jury.material(state), request.params["evidence_id"]))

    def _witnesses(self, state: State, _: ApiRequest) -> ApiAnswer:
        return ApiReply(views.witnesses(state, self._jury.material(state)))

    def _talked(self, state: State, request: ApiRequest) -> ApiAnswer:
        witness = self._jury.witness(state, request.params["witness_id"])
        if witness is None:
            return no_witness()
        step = isinstance(request.body, dict) and any(value is not None for value in request.body.values())
        return ApiReply(views.talk(state, witness, step=step))

    def _outcome(self, state: State, request: ApiRequest) -> ApiAnswer:
        outcome = state.outcomes.get(request.command_id)
        if isinstance(outcome, FailedCall):
            return _unavailable(outcome)
        if outcome is not None:
            return ApiReply(outcome)
        return _aborted() if state.over else ApiReply(self._view(state), status=202)

    def _voted(self, state: State, request: ApiRequest) -> ApiAnswer:
        if verdict := self._jury.shown_verdict(state):
            return ApiReply(verdict)
        if state.failed:
            return _chain_changed(state.failed)
        if failed := _failed_vote(state, request.command_id):
            return _unavailable(failed)
        return _aborted() if state.over else ApiReply(self._view(state), status=202)

    def _verdict(self, state: State, _: ApiRequest) -> ApiAnswer:
        if verdict := self._jury.shown_verdict(state):
            return ApiReply(verdict)
        return Refused(Code.NOT_FINISHED, f"The verdict is pending; the session is in the phase {state.phase}.")

    def _ending(self, state: State, _: ApiRequest) -> ApiAnswer:
        ending = views.ending(state, self._jury.material(state))
        if ending is None:
            return Refused(Code.NOT_FINISHED, f"The ending is pending; the session is in the phase {state.phase}.")
        return ApiReply(ending)


def asker_of(request: ApiRequest) -> str:
    """The operator is the owner of its own juries alone."""
    return OPERATOR if request.operator else request.agent_id


def _granted(_: State, __: ApiRequest) -> ApiAnswer:
    """Grants access; the content itself is rendered from the log."""
    return ApiReply(sharing.ShareTerms())


def _when_over(state: State, request: ApiRequest) -> ApiAnswer:
    if not state.over:
        return Refused(Code.NOT_FINISHED, f"The session is not finished; it is in the phase {state.phase}.")
    return _granted(state, request)


def _shareable(state: State, request: ApiRequest) -> ApiAnswer:
    refusal = _when_over(state, request)
    if isinstance(refusal, Refused):
        return refusal
    errors = bodies.empty_faults(request.body)
    return invalid(errors) if errors else refusal


def _failed_vote(state: State, call: str) -> FailedCall | None:
    """The failure of a vote call: its own, or that of another call if nothing is left to wait for."""
    own = state.outcomes.get(call)
    if isinstance(own, FailedCall):
        return own
    if not state.voting or state.over or state.turns or len(state.ballots) == len(state.jurors):
        return None
    return next((each for each in reversed(state.outcomes.values()) if isinstance(each, FailedCall)), None)


def _unavailable(failed: FailedCall) -> Refused:
    return Refused(
        Code.UNAVAILABLE,
        f"The model gave no usable answer: {failed.detail}. No round or note was used; retry the call.",
    )


def _chain_changed(failed: FailedVote) -> Refused:
    detail = f"The chain changed during the vote: {failed.detail}. POST …/retry to cast the same votes again."
    return Refused(Code.UNAVAILABLE, detail)


def _aborted() -> Refused:
    return Refused(Code.GAME_OVER, "The operator ended this session.")


def _phase(request: ApiRequest) -> Command:
    return commands.ChangePhase(agent_id=request.agent_id, call=request.command_id, body=request.body)


def _evidence(request: ApiRequest) -> Command:
    return commands.ReadEvidence(
        agent_id=request.agent_id, call=request.command_id, evidence_id=request.params["evidence_id"]
    )


def _talk(request: ApiRequest) -> Command:
    return commands.TalkTo(
        agent_id=request.agent_id, call=request.command_id, body=request.body, witness_id=request.params["witness_id"]
    )


def _chat(request: ApiRequest) -> Command:
    return commands.Chat(
        agent_id=request.agent_id, call=request.command_id, body=request.body, juror_id=request.params["juror_id"]
    )


def _present(request: ApiRequest) -> Command:
    return commands.Present(
        agent_id=request.agent_id,
        call=request.command_id,
        body=request.body,
        juror_id=request.params["juror_id"],
        evidence_id=request.params["evidence_id"],
    )


def _next(request: ApiRequest) -> Command:
    return commands.NextRound(agent_id=request.agent_id, call=request.command_id, body=request.body)


def _notes(request: ApiRequest) -> Command:
    return commands.SendNote(agent_id=request.agent_id, call=request.command_id, body=request.body)


def _vote(request: ApiRequest) -> Command:
    return commands.CallVote(agent_id=request.agent_id, call=request.command_id, body=request.body)


def _retry(request: ApiRequest) -> Command:
    return commands.Retry(agent_id=request.agent_id, call=request.command_id, body=request.body)
