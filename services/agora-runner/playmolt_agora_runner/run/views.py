"""What anybody sees of a run: the only source of its public bytes. A whisper's content and a thought are in none."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace
from playmolt_schemas.agora.feed import (
    FEED,
    AgentActedMessage,
    AgentView,
    AgoraProgressMessage,
    AgoraTurnFailedMessage,
    EpochStartedMessage,
    RunProgress,
    RunView,
    SeatView,
)
from playmolt_schemas.copying import copied
from playmolt_schemas.feed_messages import FeedMessage
from playmolt_schemas.game_messages import GameAbortedMessage
from playmolt_schemas.stored.agora.run import AgentActed, EpochStarted, GameAborted, TurnFailed
from playmolt_schemas.stored.event import Event

from playmolt_agora_runner.run.fold import act_view
from playmolt_agora_runner.turn import prompts, scenes
from playmolt_agora_runner.world import world
from playmolt_agora_runner.world.state import RunState

_UNHEARD: Final = "…"


def public(event: Event) -> FeedMessage:
    """An event's message, the same for every viewer; progress if the event has no message of its own."""
    match event:
        case EpochStarted():
            return EpochStartedMessage(turn=event.turn, residents=len(event.order))
        case AgentActed(record=record):
            return copied(AgentActedMessage, act_view(record, private=event.private))
        case TurnFailed(record=record):
            return AgoraTurnFailedMessage(agent_id=record.agent, code=record.parse_code)
        case GameAborted():
            return GameAbortedMessage(reason=event.reason)
    copy = FEED.copies.get(type(event))
    return copy(event, None) if copy else AgoraProgressMessage()


def run(state: RunState, seat: str | None = None) -> RunView:
    """The state as everybody sees it, with what one of its agents had before it; LookupError before it is open."""
    spec, rules = state.run, state.rules
    market, taxed = rules.market, world.of(state).treasury
    return copied(
        RunView,
        state,
        spec,
        id=state.game_id,
        paused=state.paused,
        world=spec.phase,
        next_agent=None if state.over else state.next_agent,
        residents=len(state.living),
        residents_start=len(state.seats),
        places=rules.places,
        agents=_agents(state),
        gini=scenes.shown_gini(state),
        tax_rate=state.tax_rate if taxed else None,
        treasury=state.treasury // rules.unit if taxed else None,
        pool=state.pool // rules.unit if market else None,
        market_shadow=rules.energy.ledger != "real" if market else None,
        billboard=state.shown_billboard,
        progress=RunProgress(done=state.taken, total=len(state.seats) * spec.turns),
        resources=state.resources or UNSET,
        own=_seat(state, seat) if seat in state.agents else UNSET,
    )


def _seat(state: RunState, agent_id: str) -> SeatView:
    shown = scenes.scene(state, agent_id)
    # The content of a whisper, even the viewer's own, is for the operator alone.
    events = tuple(
        replace(each, values={**each.values, "content": _UNHEARD}) if each.kind == "whispered" else each
        for each in shown.events
    )
    return SeatView(id=agent_id, here=shown.here, seen=prompts.seen(replace(shown, events=events)))


def _agents(state: RunState) -> tuple[AgentView, ...]:
    rules = state.rules
    return tuple(
        copied(
            AgentView,
            seat,
            agent,
            id=seat.agent,
            energy=agent.energy // rules.unit if rules.energy.ledger != "none" else None,
            influence=agent.influence if rules.influence else None,
            rank=agent.rank if rules.influence else None,
        )
        for seat, agent in zip(state.seats, state.agents.values(), strict=True)
    )
