"""The list of tournaments, from their states."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta
from playmolt_core.engine.committed_reads import CommittedReads
from playmolt_core.engine.engine import Engine
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.game.seats.views import time_of
from playmolt_core.log.port import GameIndex
from playmolt_schemas.games.tournament import TournamentState
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.limits import PAGE_MAX
from playmolt_schemas.routes.tournaments import TournamentRow

from playmolt_tournament.state import State


class _Query(msgspec.Struct, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=PAGE_MAX)]
    state: TournamentState | None = None
    before: tuple[str, str] | None = None


class TournamentList:
    """Fetches `list_tournaments`. The engine is there by the time it is first asked."""

    def __init__(self, log: GameIndex, engines: Mapping[str, Engine]) -> None:
        self._log = log
        self._engines = engines

    async def __call__(self, _: State | None, request: ApiRequest) -> ApiReply | Refused:
        query = msgspec.convert(request.query, _Query)
        before = (datetime.fromisoformat(query.before[0]), query.before[1]) if query.before else None
        limit = query.limit + 1
        found = await self._log.games("tournament", phase=query.state, before=before, limit=limit)
        streams: CommittedReads[State] = self._engines["tournament"].committed
        rows = []
        for listed in found[: query.limit]:
            snapshot = await streams.snapshot(listed.stream)
            if snapshot is not None:
                rows.append(row_of(snapshot.state, rfc3339(listed.created_at)))
        return ApiReply({"tournaments": rows, "more": len(found) > query.limit})


def row_of(state: State, created_at: str) -> TournamentRow:
    """A tournament's row; `created_at` is its place in the list."""
    terms = state.terms
    return TournamentRow(
        id=state.game_id,
        name=terms.name,
        state=state.phase,
        game_type=terms.game_type,
        format=terms.format,
        starts_at=time_of(state.started_at or state.starts_at),
        ends_at=time_of(state.ends_at),
        created_at=created_at,
        entrants=state.staying,
        max_entrants=terms.max_entrants or None,
        round=len(state.rounds),
        rounds_planned=state.rounds_announced,
    )
