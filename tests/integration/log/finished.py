"""Finished games as they are in the log, made without playing."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from playmolt_core.log.port import Unit
from playmolt_schemas.canonical import canonical_json

from core.tests.log.log_contract import NOON, OVER, Game, unit

OX_POINTS = (200, 100, 60, 40, 20)
_OX_END = {"winner_id": "", "winner_ids": [], "final_scoreboard": []}
_TRIAL_END = {"verdict": "GUILTY", "winner_team": "PROSECUTOR"}


def ox_results(
    agents: Sequence[str],
    identities: Mapping[str, Mapping[str, Any]] | None = None,
    ranks: Sequence[int] = (1, 2, 3, 4, 5),
) -> list[dict[str, Any]]:
    """Results of an O/X game, the best agent first. `identities` may give an agent's kind and version."""
    return [
        {
            "agent_id": agent, "name": agent, "rank": rank, "points": points, "game_points": 0, "monopolies": 0,
            **(identities or {}).get(agent, {}),
        }
        for agent, rank, points in zip(agents, ranks, OX_POINTS, strict=False)
    ]  # fmt: skip


def trial_results(
    prosecutor: str,
    defender: str,
    others: Sequence[str],
    *,
    guilty: bool,
    identities: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """Results of a trial in which the first of the others judges and each juror voted with the verdict."""
    judge, *jurors = others
    team = "PROSECUTOR" if guilty else "DEFENSE"
    seats = [
        (prosecutor, "PROSECUTOR", "PROSECUTOR", guilty),
        (defender, "DEFENSE", "DEFENSE", not guilty),
        (judge, "JUDGE", None, None),
        *((juror, "JUROR", team, True) for juror in jurors),
    ]
    points = {True: 200, False: 50, None: 100}
    return [
        {"agent_id": agent, "name": agent, "role": role, "team": side, "won": won, "points": points[won]}
        | dict((identities or {}).get(agent, {}))
        for agent, role, side, won in seats
    ]


def ended(game: Game, results: Sequence[Mapping[str, Any]], at: datetime = NOON, content: str = "cases") -> list[Unit]:
    """The units that append the end of a game. `content` is the content version of a trial."""
    rest = _TRIAL_END | {"content_version": content} if game.stream.startswith("trial") else _OX_END
    data = canonical_json({"results": results, "faults": [], **rest})
    return [unit(game.adds(1, kind="game_end", closes=True, data=data, at=at, summary=OVER))]
