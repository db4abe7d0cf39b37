"""What a user would write instead: a FastAPI handler that does one asyncpg INSERT."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import asyncpg
from fastapi import FastAPI
from pydantic import BaseModel


class Action(BaseModel):
    type: Literal["first_choice", "switch"]
    choice: Literal["O", "X"] | None = None
    use_switch: bool | None = None
    comment: str = ""


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.pool = await asyncpg.create_pool(os.environ["BENCH_DATABASE_URL"], min_size=8, max_size=16)
    async with app.state.pool.acquire() as connection:
        await connection.execute(
            "SELECT pg_advisory_xact_lock(1);"  # if two workers created the table at the same time, one would fail
            " CREATE TABLE IF NOT EXISTS naive"
            " (id bigserial PRIMARY KEY, game text, agent text, body json, at timestamptz DEFAULT now())"
        )
    yield
    await app.state.pool.close()


app = FastAPI(lifespan=lifespan)


@app.post("/api/games/{game_id}/actions")
async def act(game_id: str, action: Action) -> dict[str, object]:
    async with app.state.pool.acquire() as connection:
        row = await connection.fetchval(
            "INSERT INTO naive (game, agent, body) VALUES ($1, $2, $3) RETURNING id",
            game_id,
            "agent",
            action.model_dump_json(),
        )
    return {"status": "accepted", "version": row}
