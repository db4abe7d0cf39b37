"""The stream of an agent's owners: who claimed it and who let it go, by the owners' ids alone."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Final

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.stored.event import Event, stored_types
from typing_extensions import override

from playmolt_core.game.decider import Accepted, Command, Decision, Refused, Viewer
from playmolt_core.game.game import Changes, Fold, Game

GAME: Final = "ownership"


def stream_of(agent_id: str) -> str:
    """The stream of an agent's owners."""
    return f"{GAME}-{agent_id.partition('-')[2]}"


class AgentClaimed(Event, frozen=True, kw_only=True):
    """An owner claimed an agent, or registered it."""

    type: ClassVar[str] = "agent_claimed"
    rests: ClassVar[bool] = True
    agent_id: str
    owner_id: str


class AgentReleased(Event, frozen=True, kw_only=True):
    """An owner let an agent go, or was erased."""

    type: ClassVar[str] = "agent_released"
    rests: ClassVar[bool] = True
    agent_id: str
    owner_id: str


class Claim(Command, frozen=True, kw_only=True):
    """Become the owner of an agent that has none."""

    agent_id: str
    owner_id: str


class Release(Command, frozen=True, kw_only=True):
    """Let an agent go."""

    agent_id: str
    owner_id: str


class Ownership(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """`owner_id` is the agent's present owner, "" for none."""

    version: int = 0
    owner_id: str = ""


CLAIMED: Final = Refused(
    Code.ALREADY_CLAIMED,
    "This agent has an owner. The owner has to let it go first: DELETE /api/owners/me/agents/{id}.",
)
NOT_OWNED: Final = Refused(Code.NOT_FOUND, "You have no agent with this id. List your agents with GET /api/owners/me.")


def _claim(state: Ownership, command: Claim) -> Decision:
    if state.owner_id:
        return CLAIMED
    return Accepted((AgentClaimed(agent_id=command.agent_id, owner_id=command.owner_id),))


def _release(state: Ownership, command: Release) -> Decision:
    if state.owner_id != command.owner_id:
        return NOT_OWNED
    return Accepted((AgentReleased(agent_id=command.agent_id, owner_id=command.owner_id),))


def _claimed(_: Ownership, event: AgentClaimed, __: datetime) -> Changes:
    return {"owner_id": event.owner_id}


def _released(_: Ownership, __: AgentReleased, ___: datetime) -> Changes:
    return {"owner_id": ""}


class OwnershipRules(Game[Ownership]):
    """The rules of a stream of owners. The gateway's accounts follow it in the transaction that appends."""

    game = GAME
    rules_version = 1
    content_version = ""
    needed = 0
    events = stored_types(AgentClaimed, AgentReleased)
    folds: Mapping[type[Event], Fold] = {AgentClaimed: _claimed, AgentReleased: _released}
    opening = frozenset((Claim,))
    unknown = NOT_OWNED

    def __init__(self) -> None:
        super().__init__({Claim: _claim, Release: _release})

    @override
    def initial(self, game_id: str) -> Ownership:
        return Ownership()

    @override
    def view(self, state: Ownership, viewer: Viewer) -> msgspec.Struct:
        return self.summary(state)

    @override
    def operator_view(self, state: Ownership) -> Mapping[str, object]:
        return {"owner_id": state.owner_id}

    @override
    def summary(self, state: Ownership) -> GameSummary:
        return GameSummary("ownership", 0, 0, 0)

    @override
    def hashes_state(self, version: int, *, closes: bool) -> bool:
        return True
