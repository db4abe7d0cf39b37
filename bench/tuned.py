"""A tuned version of the naive handler: Starlette, msgspec, one prepared statement, a pool of fixed size."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import asyncpg
import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


class Action(msgspec.Struct):
    type: Literal["first_choice", "switch"]
    choice: Literal["O", "X"] | None = None
    use_switch: bool | None = None
    comment: str = ""


_read = msgspec.json.Decoder(Action).decode


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    app.state.pool = await asyncpg.create_pool(os.environ["BENCH_DATABASE_URL"], min_size=16, max_size=16)
    await app.state.pool.execute(
        "SELECT pg_advisory_xact_lock(1);"  # as in `naive`
        " CREATE TABLE IF NOT EXISTS naive"
        " (id bigserial PRIMARY KEY, game text, agent text, body json, at timestamptz DEFAULT now())"
    )
    yield
    await app.state.pool.close()


async def act(request: Request) -> Response:
    body = await request.body()
    _read(body)
    row = await request.app.state.pool.fetchval(
        "INSERT INTO naive (game, agent, body) VALUES ($1, $2, $3) RETURNING id",
        request.path_params["game_id"], "agent", body.decode(),
    )  # fmt: skip
    return Response(b'{"status":"accepted","version":%d}' % row, media_type="application/json")


async def ready(_: Request) -> Response:
    return Response(b"")


app = Starlette(
    lifespan=lifespan,
    routes=[Route("/docs", ready), Route("/api/games/{game_id}/actions", act, methods=["POST"])],
)
