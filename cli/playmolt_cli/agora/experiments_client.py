"""The operator's calls about experiments."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import httpx
import msgspec
from playmolt.calls import Query
from playmolt.client import Client
from playmolt.errors import Refused, Unavailable, UnexpectedAnswer
from playmolt.retries import Retry
from playmolt_schemas.agora.coding import Codings, JudgeRequest, JudgeStopRequest, SheetRequest
from playmolt_schemas.agora.plan import Budget, ExperimentRuns, Experiments, ExperimentState, ResumeRequest, StopRequest
from playmolt_schemas.codes import Code
from playmolt_schemas.routes import agora as routes
from playmolt_schemas.routes import platform
from playmolt_schemas.routes.agora import Forked, ForkRequest
from playmolt_schemas.routes.route import Route

from playmolt_cli.local.folder import Folder
from playmolt_cli.local.stack import Stack
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import read_settings

T = TypeVar("T")
_RETRY: Final = Retry(attempts=1000, seconds=60.0, base=0.5, cap=0.5)
"""A platform that restarts is waited for."""


class ExperimentsClient:
    """One platform, called with its operator's key. Also a context manager.

    Calls raise Refused, and Failure when the platform stays away for a minute.
    """

    def __init__(self, url: str, key: str, *, transport: httpx.BaseTransport | None = None) -> None:
        try:
            self._client = Client(url, key, retry=_RETRY, transport=transport)
        except ValueError as error:
            raise Failure(str(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def open(self, plan: Any, key: str) -> ExperimentState:
        """Lock a plan; under the same key the same plan is locked once."""
        open_experiment = msgspec.to_builtins(self._call(routes.OPEN, body=plan, key=key))
        return self.experiment(open_experiment["experiment"])

    def put_file(self, text: str) -> str:
        """Keep a file of a plan's folder; gives its hash."""
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
        """Begin no further turn."""
        return self._call(routes.STOP, experiment, body=StopRequest(reason=reason))

    def resume(self, experiment: str, budget: Budget | None = None, reason: str = "") -> ExperimentState:
        """Go on, with another budget where one is given."""
        body = None if budget is None else ResumeRequest(budget=budget, reason=reason)
        return self._call(routes.RESUME, experiment, body=body)

    def look(self, experiment: str) -> ExperimentState:
        """Look at PCS so far, which is logged."""
        return self._call(routes.LOOK, experiment)

    def codings(self, experiment: str) -> Codings:
        return self._call(routes.CODINGS, experiment)

    def judge(self, experiment: str, request: JudgeRequest) -> Codings:
        """Have a model code thoughts, or go on with it."""
        return self._call(routes.JUDGE, experiment, body=request)

    def stop_judge(self, experiment: str, model: str) -> Codings:
        return self._call(routes.JUDGE_STOP, experiment, body=JudgeStopRequest(model=model))

    def take_sheet(self, experiment: str, request: SheetRequest) -> Codings:
        """Take what a person coded."""
        return self._call(routes.SHEET, experiment, body=request)

    def fork(self, run: str, request: ForkRequest, key: str) -> Forked:
        """Branch a run off; under the same key once."""
        return self._call(routes.FORK, run, body=request, key=key)

    def paused(self, runs: frozenset[str]) -> tuple[str, ...]:
        """Those of the runs, among the newest hundred, that pause."""
        lines = self._call(routes.LIST_RUNS, query={"limit": 100}).runs
        return tuple(line.game_id for line in lines if line.game_id in runs and line.phase == "paused")

    def why_paused(self, run: str) -> tuple[str, str]:
        """The code of a run's pause and what is known of it; both empty when it goes on again."""
        pause = self._call(platform.ADMIN_GAME, run).config.get("pause") or {}
        return str(pause.get("code", "")), str(pause.get("detail", ""))

    def _call(
        self, route: Route[T], *values: str, query: Query | None = None, body: Any = None, key: str | None = None
    ) -> T:
        try:
            return self._client.call(route, *values, query=query, body=body, idempotency_key=key)
        except (Unavailable, UnexpectedAnswer) as error:
            raise Failure(f"{error}: see `playmolt doctor`") from error


@contextmanager
def experiments_client(url: str | None, key: str | None, data: Path | None) -> Iterator[ExperimentsClient]:
    """The platform at a URL, or the one on a data folder; where none runs there, one of its own for the time.

    Raises Failure and NotReadyError; turns what is refused for want of the operator's key into Failure.
    """
    with _platform(url, key, data) as (where, operator_key), ExperimentsClient(where, operator_key) as client:
        try:
            yield client
        except Refused as refusal:
            if refusal.code in (Code.UNAUTHORIZED.wire, Code.OPERATOR_ONLY.wire):
                hint = f"{where} does not take this key: give the operator's with --key or PLAYMOLT_OPERATOR_KEY"
                raise Failure(hint) from refusal
            raise Failure(f"{refusal.detail} ({refusal.code})") from refusal


@contextmanager
def _platform(url: str | None, key: str | None, data: Path | None) -> Iterator[tuple[str, str]]:
    settings = read_settings()
    if url is not None:
        key = key or settings.operator_key
        if not key:
            raise Failure("give the operator's key of that platform with --key or PLAYMOLT_OPERATOR_KEY")
        yield url, key
        return
    folder = data or Path(settings.data)
    run = Folder(folder).run()
    if run is not None:
        yield run.gateway, key or run.operator_key
        return
    with Stack(folder) as stack:
        yield stack.run.gateway, stack.run.operator_key
