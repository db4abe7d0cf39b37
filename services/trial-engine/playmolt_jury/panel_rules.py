"""A jury of a panel plays itself: what its overseer does next follows from the state, in the same step as what came
before. A turn that failed waits until the panel lets the jury go on.
"""

from collections.abc import Callable
from typing import Final

from playmolt_core.game.decider import Accepted, Command, Decision
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import (
    Ended,
    PhaseChanged,
    PhaseName,
    RoundStarted,
    TurnStarted,
    VerdictName,
    VoteCalled,
    VoteRetried,
)
from playmolt_schemas.stored.panels import JuryScript

from playmolt_jury import commands, turn_events, vote_rules
from playmolt_jury.persuasion import stance
from playmolt_jury.state import State

_AFTER: Final[dict[PhaseName, PhaseName]] = {"prologue": "investigation", "investigation": "persuasion"}


def follow(state: State, command: Command, ending_of: Callable[[VerdictName], str]) -> Event | None:
    """The next event of a jury that plays itself; None if it waits for a model, for the chain or for its panel."""
    script = state.script
    if script is None or state.ending or state.phase == "aborted" or isinstance(command, commands.TurnLost):
        return None
    if state.verdict and state.phase == "ended":
        return Ended(ending=ending_of(state.verdict.verdict))
    if state.phase == "vote":
        return _vote(state, script)
    if state.turns:
        return None
    if state.phase == "deliberation":
        return _deliberation(state)
    return _persuasion(state, script) if state.phase == "persuasion" else _to(state, _AFTER[state.phase])


def go_on(state: State, ending_of: Callable[[VerdictName], str], command: commands.GoOn) -> Decision:
    """Take the next step again; nothing if the jury waits for nothing of its panel's."""
    event = VoteRetried(call="") if state.failed else follow(state, command, ending_of)
    return Accepted(() if event is None else (event,))


def _persuasion(state: State, script: JuryScript) -> Event:
    played = sum(len(current.exchanges) for current in state.juror_states.values())
    if played >= len(script.steps):
        return _to(state, "deliberation")
    step = script.steps[played]
    if step.evidence:
        return TurnStarted(call="", turn="present", juror_id=step.juror, evidence_id=step.evidence)
    return TurnStarted(call="", turn="chat", juror_id=step.juror, text=step.text)


def _deliberation(state: State) -> Event:
    if (debate := state.debate) and debate.next_speaker:
        return turn_events.speech_started(debate.next_speaker, debate.round, "")
    # The last speech of the last round leads to the vote itself.
    return round_started(state) if state.round < state.rules.deliberation else _to(state, "vote")


def round_started(state: State) -> RoundStarted:
    """The next round of deliberation."""
    led = {juror: current.led for juror, current in state.juror_states.items()}
    leader = stance.leader(state.juror_ids, state.stances, led)
    responders = stance.responders(state.juror_ids, state.stances, leader)
    return RoundStarted(round=state.round + 1, leader=leader, responders=responders)


def _vote(state: State, script: JuryScript) -> Event | None:
    if not state.voting:
        return VoteCalled(call="")
    undecided = (juror for juror in state.juror_ids if juror not in state.ballots and not state.pending(juror))
    if juror := next(undecided, None):
        return TurnStarted(call="", turn="vote", juror_id=juror)
    if state.turns or script.chain:
        return None
    return _to(state, "ended") if state.verdict else vote_rules.rule_verdict(state)


def _to(state: State, phase: PhaseName) -> PhaseChanged:
    return PhaseChanged(from_=state.phase, to=phase)
