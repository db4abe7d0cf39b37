"""Recovers the commands that caused the stored events of a game with seats."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import UNSET
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.seats import (
    AgentJoined,
    AgentLeft,
    GameAborted,
    GameCreated,
    PhaseExtended,
    SeatAway,
    SeatBack,
    SeatedEvent,
    SeatResigned,
    Submitted,
)
from playmolt_schemas.stored.values import Fault, Identity, identity_of

from playmolt_core.game.decider import (
    Absent,
    Act,
    Appear,
    Command,
    Create,
    DeadlinePassed,
    Effect,
    EndGame,
    Forfeit,
    Join,
    Leave,
    Resign,
)
from playmolt_core.game.seats.ledger import Faults


def commands_of(event: Event, effects: Sequence[Effect], action_of: Callable[[Any], Any]) -> Iterator[Command]:
    """The commands that may have caused this event first, likeliest first; `effects` are those of the state before."""
    match event:
        case GameCreated():
            yield Create(seed=event.seed, config=msgspec.to_builtins(event.config))
        case AgentJoined():
            identity = Identity(**identity_of(event))
            yield Join(agent_id=event.agent_id, name=event.name, identity=identity, one_address=bool(event.one_address))
        case AgentLeft():
            yield Leave(agent_id=event.agent_id)
        case SeatResigned():
            yield Resign(agent_id=event.agent_id)
        case GameAborted():
            yield EndGame(reason=event.reason)
        case SeatAway():
            yield Absent(agent_id=event.agent_id)
        case SeatBack():  # after a sign of life, or an action that was refused or changed nothing; neither is stored
            yield Appear(agent_id=event.agent_id)
            yield Act(agent_id=event.agent_id, action=None)
        case PhaseExtended():
            yield from (DeadlinePassed(effect_id=effect.id, lost_ms=event.extended_ms) for effect in effects)
        case Submitted(forfeit=False):
            yield Act(agent_id=event.agent_id, action=action_of(event))
        case Submitted():
            yield from (DeadlinePassed(effect_id=effect.id) for effect in effects)
            yield from _forfeits(event)


def _forfeits(event: Submitted) -> Iterator[Command]:
    for fault in event.counted or ():
        if fault.agent_id == event.agent_id and fault.kind in ("bot", "provider"):
            yield Forfeit(agent_id=event.agent_id, kind=fault.kind, what=fault.what)


def gathered(stored: Event, decided: Event) -> Faults:
    """The faults that a stored event counts in addition to those of its command: earlier refusals."""
    if not isinstance(stored, SeatedEvent) or not isinstance(decided, SeatedEvent) or stored.counted is UNSET:
        return ()
    own = {_key(fault): fault.count for fault in decided.counted or ()}
    left = [msgspec.structs.replace(fault, count=fault.count - own.get(_key(fault), 0)) for fault in stored.counted]
    return tuple(fault for fault in left if fault.count > 0)


def _key(fault: Fault) -> tuple[str, str, str]:
    return fault.agent_id, fault.kind, fault.what
