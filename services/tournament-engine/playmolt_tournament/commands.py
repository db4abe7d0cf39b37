"""Commands of a tournament: from people, from agents, and from the workers that fulfil its effects.

`EndGame` and `DeadlinePassed` of `playmolt_core.game.decider` apply to tournaments as to games.
"""

from collections.abc import Mapping
from typing import Final

from playmolt_core.game.decider import Command
from playmolt_schemas.stored.tournament import BoardRow, Outcome, Score, Table
from playmolt_schemas.stored.values import NO_IDENTITY, Identity

OPERATOR: Final = ""
"""`by` of the operator; otherwise the id of an owner."""
CANCELLED: Final = "cancelled"
"""The reason of a tournament that was withdrawn before its start."""
NOT_STARTED: Final = "not_started"
"""The reason of an arena that was not started before its end."""
TOO_FEW: Final = "too_few_entrants"
"""The reason of a tournament that had too few entrants at its start."""


class CreateTournament(Command, frozen=True, kw_only=True):
    """Announce a tournament. Idempotent. `terms` has the fields of `Terms`, as JSON."""

    terms: Mapping[str, object]
    seats: int
    """Of one game of its type."""
    roles: tuple[str, ...] = ()
    """The role of each seat; empty for a game without roles."""
    by: str = OPERATOR
    seed: str
    """A decimal string."""


class ChangeTournament(Command, frozen=True, kw_only=True):
    """Change terms before the start. `terms` has the changed fields, as JSON; null resets one."""

    terms: Mapping[str, object]
    by: str = OPERATOR


class CancelTournament(Command, frozen=True, kw_only=True):
    """Withdraw a tournament before its start."""

    by: str = OPERATOR


class StartTournament(Command, frozen=True, kw_only=True):
    """Start it now with the entrants that have joined."""

    by: str = OPERATOR


class JoinTournament(Command, frozen=True, kw_only=True):
    """Take part. Of a paused entrant: resume."""

    agent_id: str
    name: str
    identity: Identity = NO_IDENTITY


class LeaveTournament(Command, frozen=True, kw_only=True):
    """Get no further games."""

    agent_id: str


class PauseEntrant(Command, frozen=True, kw_only=True):
    """Get no games of an arena until resuming."""

    agent_id: str


class ResumeEntrant(Command, frozen=True, kw_only=True):
    """Get games of an arena again."""

    agent_id: str


class PairRound(Command, frozen=True, kw_only=True):
    """Fulfil `pair_round`. Passes without a change if the entrants or results changed since (`basis`)."""

    round: int
    basis: int
    tables: tuple[Table, ...]


class SeatTable(Command, frozen=True, kw_only=True):
    """Fulfil `seat_table`: the game exists, with these house bots in the empty seats, in their order."""

    round: int
    table: int
    attempt: int
    game_id: str
    house: tuple[str, ...] = ()


class DropTable(Command, frozen=True, kw_only=True):
    """Fulfil `seat_table` of an arena whose time was over before the game began. No change before its end."""

    round: int
    table: int
    attempt: int


class ScoreGame(Command, frozen=True, kw_only=True):
    """A game of this tournament is over. Of a game that counts already, or of another one: no change.

    `scores` are those of entrants; rows of other numbers are ignored, missing ones count 0 points. `void`: the game
    ended without a result, by a fault of the platform or by the operator.
    """

    game_id: str
    outcome: Outcome
    scores: tuple[Score, ...] = ()


class CloseSeason(Command, frozen=True, kw_only=True):
    """Fulfil `close_season`: the agents' points, wins and games of the season, in any order; ranks are ignored."""

    board: tuple[BoardRow, ...]
    reason: str | None = None
    """Of the operator, who ends it before its time; None at its end."""
