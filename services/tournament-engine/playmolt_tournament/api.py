"""The routes of a tournament: which command a call becomes, and how it is answered.

The gateway has checked the forms of bodies and who calls: it passes an agent's identity, an owner's id or the operator.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from playmolt_core.game.api import ApiReply, ApiRequest, Entry, GameApi
from playmolt_core.game.decider import PUBLIC, Command, Decider, EndGame, Refused
from playmolt_schemas.api import ErasedSession
from playmolt_schemas.codes import Code
from playmolt_schemas.registry import games
from playmolt_schemas.routes import tournaments as routes
from playmolt_schemas.stored.tournament import BoardRow
from playmolt_schemas.stored.values import Identity
from typing_extensions import override

from playmolt_tournament import commands
from playmolt_tournament.state import State

NO_TOURNAMENT: Final = Refused(
    Code.NOT_FOUND, "This tournament does not exist. List tournaments with GET /api/tournaments."
)
JOIN: Final = routes.JOIN_TOURNAMENT.name
LIST: Final = routes.LIST_TOURNAMENTS.name
OPEN: Final = routes.OPEN_TOURNAMENT.name
CHANGE: Final = routes.CHANGE_TOURNAMENT.name
END: Final = routes.END_TOURNAMENT.name
_READ: Final = routes.READ_TOURNAMENT.name
_EMPTY: Final = ApiReply(b"{}")


def _by(asked: ApiRequest) -> str:
    return commands.OPERATOR if asked.operator else asked.agent_id


def _created(asked: ApiRequest) -> commands.CreateTournament:
    terms = dict(asked.body)
    seed, game = terms.pop("seed", None), games()[terms["game_type"]]
    return commands.CreateTournament(
        terms=terms, seats=game.seats, roles=game.roles, by=_by(asked), seed=seed or asked.seed
    )


def _joined(asked: ApiRequest) -> commands.JoinTournament:
    return commands.JoinTournament(
        agent_id=asked.agent_id,
        name=asked.name,
        identity=msgspec.convert(asked.body["identity"], Identity),
    )


def _paused(asked: ApiRequest) -> Command:
    kind = commands.PauseEntrant if asked.body["paused"] else commands.ResumeEntrant
    return kind(agent_id=asked.agent_id)


def _ended(asked: ApiRequest) -> Command:
    """`SeasonCloser` adds the board of a season that is running."""
    reason, board = asked.body["reason"], asked.body.get("board")
    if board is None:
        return EndGame(reason=reason)
    return commands.CloseSeason(board=msgspec.convert(board, tuple[BoardRow, ...]), reason=reason)


def _takes_part(state: State, agent_id: str) -> bool:
    entrant = state.entrant_of(agent_id)
    return entrant is not None and entrant.state != "left"


_COMMANDS: Final[Mapping[str, Callable[[ApiRequest], Command]]] = {
    OPEN: _created,
    CHANGE: lambda asked: commands.ChangeTournament(terms=asked.body, by=_by(asked)),
    routes.CANCEL_TOURNAMENT.name: lambda asked: commands.CancelTournament(by=_by(asked)),
    routes.START_TOURNAMENT.name: lambda asked: commands.StartTournament(by=_by(asked)),
    JOIN: _joined,
    routes.LEAVE_TOURNAMENT.name: lambda asked: commands.LeaveTournament(agent_id=asked.agent_id),
    routes.PAUSE_TOURNAMENT.name: _paused,
    END: _ended,
}


class TournamentApi(GameApi[State]):
    """Answers a change with an empty document: the gateway reads the state after it."""

    opens = frozenset((OPEN,))
    writes = frozenset(_COMMANDS)
    unbound = frozenset((LIST,))

    def __init__(self, rules: Decider[State]) -> None:
        self._rules = rules

    @override
    def command(self, state: State, request: ApiRequest) -> Command | Refused | None:
        if not state.version and request.route != OPEN:
            return NO_TOURNAMENT
        return _COMMANDS[request.route](request)

    @override
    def entry(self, before: State, after: State) -> Entry | None:
        if after.staying <= before.staying:
            return None
        (entrant,) = (each for each in after.entrants if each.state != "left" and not _takes_part(before, each.id))
        return Entry(entrant.id, after.terms.game_type)

    @override
    def elsewhere(self, other: State, entry: Entry) -> Refused | None:
        if other.over or not _takes_part(other, entry.agent_id):
            return None
        return Refused(
            Code.ALREADY_JOINED,
            f"You take part in {other.game_id}, another tournament of this game type. Leave it first.",
        )

    @override
    def answer(self, state: State, request: ApiRequest) -> ApiReply | Refused:
        if not state.version:
            return NO_TOURNAMENT
        if request.route == _READ:
            return ApiReply(self._rules.view(state, PUBLIC))
        return _EMPTY

    @override
    def many(self, states: Sequence[State | ErasedSession], request: ApiRequest) -> ApiReply | Refused:
        return NO_TOURNAMENT
