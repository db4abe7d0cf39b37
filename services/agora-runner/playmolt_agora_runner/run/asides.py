"""The scene of a question asked aside: what the agent would see at its next turn as the first to act."""

from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace
from playmolt_schemas.stored.agora.run import AgentDied
from playmolt_schemas.stored.event import Event

from playmolt_agora_runner.run.fold import evolve
from playmolt_agora_runner.turn import scenes
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.world import epoch
from playmolt_agora_runner.world.state import RunState

_AT: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""No scene depends on the time."""


def scene(state: RunState, agent: str) -> Scene:
    """An agent's scene in the next epoch as it begins, also after the last one; the run itself stays as it is.

    An agent that would die before it acts sees what it would see until then. LookupError for an unknown agent.
    """
    at = replace(state, stage="opening")
    event: Event | None = epoch.begun(at)
    while event is not None and not (isinstance(event, AgentDied) and event.agent == agent):
        at = evolve(at, event, _AT)
        event = epoch.next_event(at) if at.stage in ("crisis", "morning") else None
    return scenes.scene(at, agent)
