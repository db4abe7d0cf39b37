"""Where an export reads from: the platform's HTTP API with the reader's key, or a bundle of an experiment."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
import msgspec
from playmolt.client import Client
from playmolt.errors import PlayMoltError, Refused, Unavailable
from playmolt_schemas import api
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import GAME_TYPES, RUN_TYPES, type_of
from playmolt_schemas.records import OpenedRecord
from playmolt_schemas.routes import agora, jury, legal, platform
from playmolt_schemas.routes.route import Route
from playmolt_schemas.skill import PageLanguage

from playmolt_cli.inspect.experiments import Bundle, NoBundle, experiment_log, run_samples, runs_of
from playmolt_cli.inspect.games import game_log, game_sample
from playmolt_cli.inspect.sample import Data, LogContent
from playmolt_cli.inspect.sessions import session_log
from playmolt_cli.local.folder import Folder
from playmolt_cli.local.session_key import RETRY, Game, session_server
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.options import read_settings

_LOGS: Final[Mapping[Game, Route[list[OpenedRecord]]]] = {"legal": legal.READ_LOG, "jury": jury.LOG}
_SESSIONS: Final[Mapping[str, Game]] = {"legal": "legal", "jury": "jury"}
_EXPERIMENT: Final = "experiment"
_BUNDLE_SECONDS: Final = 600.0
_LOOK_SECONDS: Final = 0.5


class Fetched(msgspec.Struct, frozen=True):
    """The content of a log, and what the reader should know about it."""

    content: LogContent
    notes: Sequence[str] = ()


class SourceRefused(Failure):
    """One source cannot be exported; others may."""


class LogSource(msgspec.Struct, frozen=True):
    """An id, or the path of a bundle."""

    given: str
    kind: str
    """A type of the platform, or "bundle"."""

    def fetch(self, url: str | None, key: str | None, data: Path | None, language: PageLanguage) -> Fetched:
        """Read it; raises Failure."""
        if self.kind == "bundle":
            return _of_bundle(Path(self.given))
        if self.kind in _SESSIONS:
            return self._session(_SESSIONS[self.kind], url, key, data)
        where, operator = _server(url, data)
        with _client(where, key or (operator if self.kind == _EXPERIMENT else ""), self.given) as client:
            if self.kind == _EXPERIMENT:
                return _experiment(client, self.given, language)
            route = agora.READ_RUN_EVENTS if self.kind in RUN_TYPES else platform.READ_EVENTS
            return Fetched(game_log(_messages(client, route, self.given), language))

    def _session(self, game: Game, url: str | None, key: str | None, data: Path | None) -> Fetched:
        server = session_server(url, data, game)
        key = key or server.key_file.read()
        if not key:
            text = f"{self.given} needs its owner's key, and {server.key_file.path} does not exist. Use --key."
            raise SourceRefused(text)
        with _client(server.url, key, self.given) as client:
            return Fetched(session_log(client.call(_LOGS[game], self.given), game))


def checked_source(given: str) -> LogSource:
    """What an argument names; raises UsageError."""
    kind = type_of(given)
    if kind in (*GAME_TYPES, *RUN_TYPES, *_SESSIONS, _EXPERIMENT):
        return LogSource(given, str(kind))
    if Path(given).exists():
        return LogSource(given, "bundle")
    raise click.UsageError(f"{given!r} is neither the id of a game, session or experiment nor a bundle.")


def _server(url: str | None, data: Path | None) -> tuple[str, str]:
    """The gateway, and the operator's key if it is known here."""
    settings = read_settings()
    run = Folder(data or settings.data).run()
    if url is None and run is not None:
        return run.gateway, settings.operator_key or run.operator_key
    return url or f"http://{settings.host}:{settings.port}", settings.operator_key


@contextmanager
def _client(url: str, key: str, given: str) -> Iterator[Client]:
    try:
        with Client(url, key, retry=RETRY) as client:
            yield client
    except Refused as refusal:
        raise SourceRefused(printable(f"{given}: {refusal.detail} ({refusal.code})")) from refusal
    except Unavailable as error:
        raise Failure(f"{url} is unavailable. Start it with `playmolt up`, or use --url. ({error})") from error
    except PlayMoltError as error:
        raise Failure(f"{url}: {error}") from error
    except ValueError as error:  # a URL without http, or a key that no header can hold
        raise Failure(str(error)) from error


def _messages(client: Client, route: Route[api.Events], given: str) -> list[Data]:
    """The public messages so far. A private game shows them to its own agents alone."""
    found: list[Data] = []
    after = 0
    while True:
        page = client.call(route, given, query={"after": after})
        found += [msgspec.json.decode(msgspec.json.encode(one)) for one in page.events]
        if not page.events:
            return found
        after = page.next_after


def _experiment(client: Client, given: str, language: PageLanguage) -> Fetched:
    """Finished runs from the bundle; the others, and all of an experiment without one, from their public messages."""
    state = client.call(agora.READ, given)
    bundle = None if state.status == "running" else _bundle(client, given)
    rows = client.call(agora.RUNS, given).runs
    opened = [row.run for row in rows]
    experiment = bundle.experiment() if bundle else ()
    samples = run_samples(bundle, experiment) if bundle else {}
    watched = [run for run in opened if run not in samples]
    shown = {run: _messages(client, agora.READ_RUN_EVENTS, run) for run in watched}
    samples |= {run: game_sample(messages, language) for run, messages in shown.items() if messages}
    ordered = [samples[run] for run in (runs_of(experiment) or opened) if run in samples]
    ordered += [sample for sample in samples.values() if sample not in ordered]
    notes = [f"{given}: {len(shown)} runs as spectators see them, because they are not over"] if shown else []
    if bundle:
        return Fetched(experiment_log(experiment, ordered), notes)
    created = min([sample.started for sample in ordered], default=None)
    if created is None:
        raise Failure(f"{given} has no runs yet.")
    content = LogContent(
        id=given, task=_EXPERIMENT, title=f"experiment: {state.name}", status="started", created=created, ended=None,
        samples=ordered, about={"name": state.name, "view": "spectator"},
    )  # fmt: skip
    return Fetched(content, notes)


def _bundle(client: Client, given: str) -> Bundle | None:
    """The bundle, which the platform makes on request; None while the experiment runs."""
    until = time.monotonic() + _BUNDLE_SECONDS
    noted = False
    while True:
        try:
            answer = client.call(agora.BUNDLE, given)
        except Refused as refusal:
            if refusal.code == Code.NOT_FINISHED.wire:
                return None
            raise
        if isinstance(answer, bytes):
            return Bundle(answer)
        if time.monotonic() > until:
            raise Failure(f"The bundle of {given} is not ready after {_BUNDLE_SECONDS:.0f} s. Run the command again.")
        if not noted:
            click.echo(f"{given}: waiting for its bundle; the platform analyzes the experiment first", err=True)
            noted = True
        time.sleep(_LOOK_SECONDS)


def _of_bundle(path: Path) -> Fetched:
    try:
        bundle = Bundle(path)
        experiment = bundle.experiment()
        samples = run_samples(bundle, experiment)
    except (NoBundle, msgspec.DecodeError, KeyError) as error:
        raise SourceRefused(f"{path} is not a bundle of an experiment: {error}.") from error
    left = len(runs_of(experiment)) - len(samples)
    notes = [f"{path}: left out {left} runs that were not over"] if left else []
    return Fetched(experiment_log(experiment, list(samples.values())), notes)
