"""Client for the operator's experiment routes."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

import httpx
import msgspec
from playmolt.calls import Query
from playmolt.client import Client
from playmolt.errors import Refused, Unavailable, UnexpectedAnswer
from playmolt.retries import Retry
from playmolt_schemas.agora.coding import Codings, JudgeRequest, JudgeStopRequest, SheetRequest
from playmolt_schemas.agora.plan import (
    EXAMINING,
    ExperimentRuns,
    Experiments,
    ExperimentState,
    ResumeRequest,
    StopRequest,
)
from playmolt_schemas.codes import Code
from playmolt_schemas.routes import agora as routes
from playmolt_schemas.routes import platform
from playmolt_schemas.routes.agora import ForkRequest, ScheduledFork
from playmolt_schemas.routes.route import Route
from playmolt_schemas.stored.agora.plan import Budget

from playmolt_cli.local.stack import operator_platform
from playmolt_cli.terminal.failures import Failure, pause
from playmolt_cli.terminal.options import read_settings

T = TypeVar("T")
_RETRY: Final = Retry(attempts=1000, seconds=60.0, base=0.5, cap=0.5)
"""Waits for a platform that is restarting."""
_LOOK_SECONDS: Final = 0.5


class ExperimentsClient:
    """Calls one platform with the operator key. Also a context manager.

    Calls raise Refused, and Failure if the platform is unavailable for a minute.
    """

    def __init__(
        self, url: str, key: str, *, transport: httpx.BaseTransport | None = None, look: float = _LOOK_SECONDS
    ) -> None:
        self._look = look
        try:
            self._client = Client(url, key, retry=_RETRY, transport=transport)
        except ValueError as error:
            raise Failure(str(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.__exit__(kind, error, trace)

    def reconnect(self) -> None:
        """As `Client.reconnect`: to be called after an interrupt."""
        self._client.reconnect()

    def open(self, plan: object, key: str) -> ExperimentState:
        """Lock a plan; idempotent by `key`. Waits while the platform examines it."""
        found = msgspec.to_builtins(self._call(routes.OPEN, body=plan, key=key))
        while found.get("status") == EXAMINING:
            pause(self._look)
            found = msgspec.to_builtins(self._call(routes.PLAN, found["plan"]))
        return self.experiment(found["experiment"])

    def put_file(self, text: str) -> str:
        """Upload a file of a plan's folder; returns its hash."""
        named = hashlib.sha256(text.encode()).hexdigest()
        self._call(routes.PUT_FILE, named, body=text)
        return named

    def experiments(self) -> Experiments:
        return self._call(routes.LIST)

    def experiment(self, experiment: str) -> ExperimentState:
        return self._call(routes.READ, experiment)

    def runs(self, experiment: str) -> ExperimentRuns:
        return self._call(routes.RUNS, experiment)

    def stop(self, experiment: str, reason: str) -> ExperimentState:
        """Stop starting new turns."""
        return self._call(routes.STOP, experiment, body=StopRequest(reason=reason))

    def resume(self, experiment: str, budget: Budget | None = None, reason: str = "") -> ExperimentState:
        """Resume, with a new budget if given."""
        body = None if budget is None else ResumeRequest(budget=budget, reason=reason)
        return self._call(routes.RESUME, experiment, body=body)

    def look(self, experiment: str) -> ExperimentState:
        """Read the interim PCS; the look is logged."""
        return self._call(routes.LOOK, experiment)

    def codings(self, experiment: str) -> Codings:
        return self._call(routes.CODINGS, experiment)

    def judge(self, experiment: str, request: JudgeRequest) -> Codings:
        """Start or resume a model's coding of thoughts."""
        return self._call(routes.JUDGE, experiment, body=request)

    def stop_judge(self, experiment: str, model: str) -> Codings:
        return self._call(routes.JUDGE_STOP, experiment, body=JudgeStopRequest(model=model))

    def take_sheet(self, experiment: str, request: SheetRequest) -> Codings:
        """Import a coder's sheet."""
        return self._call(routes.SHEET, experiment, body=request)

    def fork(self, run: str, request: ForkRequest, key: str) -> ScheduledFork:
        """Fork a run; idempotent by `key`."""
        return self._call(routes.FORK, run, body=request, key=key)

    def paused(self, runs: frozenset[str]) -> tuple[str, ...]:
        """The paused runs among these, within the newest hundred."""
        lines = self._call(routes.LIST_RUNS, query={"limit": 100}).runs
        return tuple(line.game_id for line in lines if line.game_id in runs and line.phase == "paused")

    def why_paused(self, run: str) -> tuple[str, str]:
        """Code and detail of a run's pause; both empty if it is not paused."""
        pause = self._call(platform.ADMIN_GAME, run).config.get("pause") or {}
        return str(pause.get("code", "")), str(pause.get("detail", ""))

    def _call(
        self, route: Route[T], *values: str, query: Query | None = None, body: object = None, key: str | None = None
    ) -> T:
        try:
            return self._client.call(route, *values, query=query, body=body, idempotency_key=key)
        except (Unavailable, UnexpectedAnswer) as error:
            raise Failure(f"{error}. Run `playmolt doctor`.") from error


@contextmanager
def experiments_client(url: str | None, key: str | None, data: Path | None) -> Iterator[ExperimentsClient]:
    """A client for the platform at a URL or on a data folder; starts a temporary platform if none is running.

    Raises Failure and NotReadyError; refusals become Failure.
    """
    settings = read_settings()
    folder = data or Path(settings.data)
    with (
        operator_platform(url, key, folder, settings.operator_key, engine="agora-runner") as (where, operator_key),
        ExperimentsClient(where, operator_key) as client,
    ):
        try:
            yield client
        except Refused as refusal:
            if refusal.code in (Code.UNAUTHORIZED.wire, Code.OPERATOR_ONLY.wire):
                hint = f"{where} refused this key. Set the operator key with --key or PLAYMOLT_OPERATOR_KEY."
                raise Failure(hint) from refusal
            raise Failure(f"{refusal.detail} ({refusal.code})") from refusal
