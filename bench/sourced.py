"""A framework with durable answers: the `eventsourcing` library behind FastAPI, one aggregate per game, in Postgres."""

import os
from typing import Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.domain import Aggregate, event
from fastapi import FastAPI
from pydantic import BaseModel


class Action(BaseModel):
    type: Literal["first_choice", "switch"]
    choice: Literal["O", "X"] | None = None
    use_switch: bool | None = None
    comment: str = ""


class Game(Aggregate):
    @event("Opened")
    def __init__(self, id: UUID) -> None:  # noqa: A002 -- the library's own name
        self._id = id
        self.actions: list[dict[str, Any]] = []

    @event("Acted")
    def act(self, agent_id: str, action: dict[str, Any]) -> None:
        self.actions.append({"agent_id": agent_id, **action})


def _environment() -> dict[str, str]:
    parts = urlsplit(os.environ["BENCH_DATABASE_URL"])
    return {
        "PERSISTENCE_MODULE": "eventsourcing.postgres",
        "POSTGRES_DBNAME": parts.path.lstrip("/"),
        "POSTGRES_HOST": parts.hostname or "",
        "POSTGRES_PORT": str(parts.port),
        "POSTGRES_USER": parts.username or "",
        "POSTGRES_PASSWORD": parts.password or "",
        "POSTGRES_POOL_SIZE": "16",
        "AGGREGATE_CACHE_MAXSIZE": "1000",
    }


games: Application[Any] = Application(env=_environment())
app = FastAPI()


@app.post("/api/games/{game_id}/actions")
def act(game_id: UUID, action: Action) -> dict[str, object]:
    try:
        game: Game = games.repository.get(game_id)
    except AggregateNotFoundError:
        game = Game(id=game_id)
    game.act("agent", action.model_dump())
    games.save(game)
    return {"status": "accepted", "version": game.version}
