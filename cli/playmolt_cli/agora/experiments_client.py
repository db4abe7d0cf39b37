"""The operator's calls about experiments, over HTTP."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import httpx
import msgspec
from playmolt_schemas.agora.plan import Budget, ExperimentRuns, Experiments, ExperimentState
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.routes.agora import Forked, ForkRequest, RunLines

from playmolt_cli.local.folder import Folder
from playmolt_cli.local.stack import Stack
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import read_settings

S = TypeVar("S")
_EXPERIMENTS: Final = "/api/agora/experiments"
_RUNS: Final = "/api/agora/runs"
_ANSWER_SECONDS: Final = 30.0
_PATIENCE_SECONDS: Final = 60.0
"""How long a platform that restarts is waited for."""
_PAUSE_SECONDS: Final = 0.5
_AWAY: Final = (429, 502, 503, 504)


class Declined(Exception):
    """The platform refused a call; `code` says why, `detail` what to do next."""

    def __init__(self, status: int, code: str, detail: str, errors: tuple[FieldFault, ...] = ()) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors


class _Problem(msgspec.Struct):
    code: str = ""
    detail: str = ""
    errors: tuple[FieldFault, ...] = ()


class Office:
    """One platform, called with its operator's key. Also a context manager.

    Calls raise Declined when they are refused, Failure when the platform stays away for a minute.
    """

    def __init__(self, url: str, key: str) -> None:
        if not url.startswith(("http://", "https://")):
            raise Failure(f"{url!r} is no server's URL; give one such as http://127.0.0.1:8080")
        self.url = url.rstrip("/")
        self._http = httpx.Client(
            base_url=self.url, timeout=_ANSWER_SECONDS, headers={"Authorization": f"Bearer {key}"}
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def open(self, plan: Any, key: str) -> ExperimentState:
        """Lock a plan; under the same key the same plan is locked once."""
        opened = self._send("POST", _EXPERIMENTS, ExperimentState, body=plan, key=key)
        return self.experiment(opened.experiment)

    def experiments(self) -> Experiments:
        """List them, newest first."""
        return self._send("GET", _EXPERIMENTS, Experiments)

    def experiment(self, experiment: str) -> ExperimentState:
        """Give one as it stands."""
        return self._send("GET", f"{_EXPERIMENTS}/{experiment}", ExperimentState)

    def runs(self, experiment: str) -> ExperimentRuns:
        """Give the runs of one."""
        return self._send("GET", f"{_EXPERIMENTS}/{experiment}/runs", ExperimentRuns)

    def stop(self, experiment: str, reason: str) -> ExperimentState:
        """Begin no further turn."""
        return self._send("POST", f"{_EXPERIMENTS}/{experiment}/stop", ExperimentState, body={"reason": reason})

    def resume(self, experiment: str, budget: Budget | None = None, reason: str = "") -> ExperimentState:
        """Go on, with another budget where one is given."""
        body = {} if budget is None else {"budget": budget, "reason": reason}
        return self._send("POST", f"{_EXPERIMENTS}/{experiment}/resume", ExperimentState, body=body)

    def look(self, experiment: str) -> ExperimentState:
        """Look at PCS so far, which is logged."""
        return self._send("POST", f"{_EXPERIMENTS}/{experiment}/look", ExperimentState, body={})

    def fork(self, run: str, request: ForkRequest, key: str) -> Forked:
        """Branch a run off; under the same key once."""
        return self._send("POST", f"{_RUNS}/{run}/fork", Forked, body=request, key=key)

    def paused(self, runs: frozenset[str]) -> tuple[str, ...]:
        """Give those of the runs, among the newest hundred, that pause."""
        lines = self._send("GET", f"{_RUNS}?limit=100", RunLines).runs
        return tuple(line.game_id for line in lines if line.game_id in runs and line.phase == "paused")

    def why_paused(self, run: str) -> str:
        """Give the code of a run's pause; empty when it goes on again."""
        return str(self._send("GET", f"/api/games/{run}/state", dict[str, Any]).get("paused") or "")

    def _send(self, method: str, path: str, kind: type[S], *, body: Any = None, key: str = "") -> S:
        headers = {"Idempotency-Key": key} if key else {}
        content = None
        if method == "POST":
            content, headers["Content-Type"] = msgspec.json.encode(body), "application/json"
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                answer = self._http.request(method, path, content=content, headers=headers)
            except httpx.TransportError as error:
                if time.monotonic() > until:
                    raise Failure(f"{self.url} does not answer ({error}): see `playmolt doctor`") from error
            else:
                if answer.status_code < 300:
                    return msgspec.json.decode(answer.content, type=kind)
                declined = _declined(answer)
                if answer.status_code not in _AWAY:
                    raise declined
                if time.monotonic() > until:
                    raise Failure(f"{self.url}: {declined.detail} See `playmolt doctor`")
            time.sleep(_PAUSE_SECONDS)


def _declined(answer: httpx.Response) -> Declined:
    try:
        problem = msgspec.json.decode(answer.content, type=_Problem)
    except msgspec.MsgspecError:
        problem = _Problem(detail=answer.text[:200])
    return Declined(answer.status_code, problem.code, problem.detail, problem.errors)


@contextmanager
def office(url: str | None, key: str | None, data: Path | None) -> Iterator[Office]:
    """Give the platform at a URL, or the one on a data folder; where none runs there, one of its own for the time.

    Raises Failure and NotReadyError; turns what is refused for want of the operator's key into Failure.
    """
    with _place(url, key, data) as (where, operator_key), Office(where, operator_key) as calls:
        try:
            yield calls
        except Declined as declined:
            if declined.code in (Code.UNAUTHORIZED.wire, Code.OPERATOR_ONLY.wire):
                hint = f"{where} does not take this key: give the operator's with --key or PLAYMOLT_OPERATOR_KEY"
                raise Failure(hint) from declined
            raise Failure(f"{declined.detail} ({declined.code})") from declined


@contextmanager
def _place(url: str | None, key: str | None, data: Path | None) -> Iterator[tuple[str, str]]:
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
