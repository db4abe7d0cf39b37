"""`playmolt doctor`: checks a deployment and advises on each fault."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import click
import msgspec
from msgspec.structs import replace
from playmolt_core.bus.client import NatsBus, connect
from playmolt_core.bus.connection import UnsuitableServer, check_server
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.errors import LogUnavailable, PasswordRefused, ReadOnly
from playmolt_core.db.migrate import MigrationRefused, UnsuitableDatabase, pending
from playmolt_core.db.pool import PASSWORD, NotPermitted, Pool, close, open_pool
from playmolt_core.db.pool import connect as connect_database
from playmolt_core.llm.catalogue import InvalidCatalogue, load
from playmolt_core.llm.port import PROMPT_CUT
from playmolt_core.log.postgres import log_places
from playmolt_core.ops import telemetry
from playmolt_core.server_urls import split_database_url
from playmolt_core.settings import Settings
from playmolt_schemas import process_limits
from playmolt_schemas.identifiers import ENGINES
from playmolt_schemas.shards import Places, streams

from playmolt_cli.local import probe
from playmolt_cli.local.embedded import ServerError, binaries
from playmolt_cli.local.folder import Folder, Run
from playmolt_cli.model_check import check_models
from playmolt_cli.terminal.options import data_option, echo_json, json_option, read_settings

_PYTHON = (3, 11)
_MIGRATES = """
SELECT coalesce((SELECT pg_has_role(current_user, oid, 'MEMBER') FROM pg_roles WHERE rolname = 'playmolt_owner'), true)
"""
_ROLES = ("playmolt_engine", "playmolt_relay", "playmolt_gateway", "playmolt_reader")
_LAG = 10_000
"""Maximum lag of NATS behind the log, in events; a relay copies that many in well under a second."""
_BUS_SECONDS = 8.0
_ROSTER_SECONDS = 1.5
"""Time for three discovery requests."""


class Finding(msgspec.Struct, frozen=True):
    """Result of one check. `seen` is false if this login lacks the permission; `advice` applies then and on a fault."""

    name: str
    well: bool
    detail: str
    advice: str = ""
    seen: bool = True


@click.command()
@data_option
@json_option
@click.option(
    "--models", is_flag=True, help="Ask each model of PLAYMOLT_MODELS two short questions, which cost tokens."
)
def doctor(data: Path | None, as_json: bool, models: bool) -> None:
    """Check everything a deployment needs and advise on each fault. Exit status 1 if there is a fault.

    Checks the `up` on the data folder if one is running, else the servers in DATABASE_URL, NATS_URL, PLAYMOLT_HOST and
    PLAYMOLT_PORT.

    Example: playmolt doctor --json
    """
    telemetry.configure("doctor", "error")
    settings = read_settings()
    run = Folder(data or settings.data).run()
    findings = [*_programs(settings, run), *asyncio.run(_services(_effective_settings(settings, run), run))]
    if models:
        findings += _models(settings)
    well = all(finding.well for finding in findings)
    if as_json:
        echo_json({"well": well, "findings": msgspec.to_builtins(findings)})
    else:
        for finding in findings:
            mark = ("ok" if finding.well else "FAULT") if finding.seen else "?"
            click.echo(f"{mark:<5}  {finding.name:<18} {finding.detail}")
            if not (finding.well and finding.seen):
                click.echo(f"       {'':<18} → {finding.advice}")
    if not well:
        raise SystemExit(1)


def _effective_settings(settings: Settings, run: Run | None) -> Settings:
    if run is None:
        return settings
    return replace(
        settings,
        database_url=run.database_url,
        nats_url=run.nats_url,
        nats_user=run.nats_user,
        nats_password=run.nats_password,
    )


def _programs(settings: Settings, run: Run | None) -> Iterator[Finding]:
    version = sys.version.split()[0]
    yield Finding("python", sys.version_info[:2] >= _PYTHON, version, "install Python 3.11 or newer")
    yield _limits(process_limits.missing_here())
    if not settings.database_url:
        yield _found("postgres program", binaries.postgres_bin)
    if not settings.nats_url:
        yield _found("nats program", binaries.nats_server)
    where = f"process {run.pid}, {'ready' if run.ready else 'starting'}" if run else "not running on the data folder"
    if run and len(run.engines) < len(ENGINES):
        where += f", started by a command that needs only {', '.join(run.engines)}"
    outside = bool(settings.database_url and settings.nats_url)
    yield Finding(
        "up", run is not None or outside, where, "start one with `playmolt up`, or set DATABASE_URL and NATS_URL"
    )


def _models(settings: Settings) -> Iterator[Finding]:
    try:
        catalogue = load(settings.models, os.environ)
    except InvalidCatalogue as error:
        yield Finding("models", False, str(error), "correct the file in PLAYMOLT_MODELS")
        return
    for found in asyncio.run(check_models(catalogue)):
        # Legal sessions and Agora need no tools, so a model without any may do.
        yield Finding(
            f"model {found.alias}", found.answers, found.detail,
            "jurors need a model that calls tools; start llama.cpp with --jinja, vLLM with --enable-auto-tool-choice"
            if found.answers else "is its server running, and are base_url, model and key right?",
            seen=found.calls is not False,
        )  # fmt: skip


def _limits(missing: Sequence[str]) -> Finding:
    """A system that lacks a limit can still be used; memory is then watched by the process itself."""
    names = ", ".join(f"{process_limits.NAMES[limit]} ({limit})" for limit in missing)
    return Finding(
        "process limits", True, f"this system does not hold: {names}" if missing else "all held",
        "PDFs and a researcher's own measures run without it here: run on Linux what strangers may send",
        seen=not missing,
    )  # fmt: skip


def _found(name: str, find: Callable[[], Path]) -> Finding:
    try:
        return Finding(name, True, str(find()))
    except ServerError as error:
        return Finding(name, False, "not installed", str(error))


async def _services(settings: Settings, run: Run | None) -> list[Finding]:
    ends: Places | None = None
    findings: list[Finding] = []
    if settings.database_url:
        database, ends = await _database(settings.database_url)
        findings += database
    if settings.nats_url:
        findings += await _nats(settings, ends)
    health = run.health if run else {"gateway": f"http://{settings.host}:{settings.port}/readyz"}
    findings += [_readyz(name, url) for name, url in health.items()]
    return findings


def _readyz(name: str, url: str) -> Finding:
    answer = probe.ready(url)
    detail = "ready" if answer.ready else f"not ready: {answer.missing}"
    advice = "see its log; a dependency is missing or still starting"
    if answer.missing.endswith(f"({PASSWORD})"):
        advice = _password_advice(re.sub(r"-\d+$", "", name))
    return Finding(name, answer.ready, f"{url} {detail}", advice)


def _password_advice(role: str, file: str = "") -> str:
    """What to do about a refused password. In a cluster the Secret is named after the role."""
    where = f"the file {file} (DATABASE_PASSWORD_FILE)" if file else "DATABASE_URL or DATABASE_PASSWORD_FILE"
    return (
        f"the role {role} has another password in Postgres, perhaps since a promotion or a restore: set it to that of"
        f" the Secret {role}-credentials (ALTER ROLE), or correct the Secret; elsewhere correct {where}"
    )


async def _database(url: str) -> tuple[list[Finding], Places | None]:
    try:
        migrations = await _migrations(url)
        await _takes_writes(url)
    except LogUnavailable as error:
        return [_database_fault(error, url)], None
    except UnsuitableDatabase as error:
        return [Finding("database", False, str(error), "point DATABASE_URL to a database of PlayMolt's own")], None
    except MigrationRefused as error:
        return [Finding("migrations", False, str(error), "run the version of the code that wrote this database")], None
    findings = [Finding("database", True, f"answers at {urlsplit(url).hostname}:{urlsplit(url).port}"), migrations]
    if not migrations.well:
        return findings, None
    pool = await open_pool(url)
    try:
        roles = (
            await _roles(pool)
            if await pool.value(_MIGRATES)
            else _unchecked("roles", "this login does not run migrations, so it holds few roles")
        )
        log, ends = await _log(pool)
    except LogUnavailable as error:
        return [_database_fault(error, url)], None
    else:
        return [*findings, roles, log], ends
    finally:
        await pool.close()


def _database_fault(error: LogUnavailable, url: str) -> Finding:
    detail, advice = str(error), "is Postgres running, and is DATABASE_URL right?"
    if isinstance(error, ReadOnly):
        detail = "postgres: read-only"
        advice = (
            "this is a standby, perhaps after a failover: point DATABASE_URL to the primary, or promote this server"
        )
    elif isinstance(error, PasswordRefused):
        plain, file = split_database_url(url)
        role = urlsplit(plain).username or "postgres"
        detail, advice = f"postgres: {PASSWORD} of role {role}: {error}", _password_advice(role, file)
    elif re.search("dropped the settings|unsupported startup parameter", detail):
        advice = "set up the pooler as docs/operating.md says (Postgres), or connect to Postgres directly"
    return Finding("database", False, detail, advice)


async def _takes_writes(url: str) -> None:
    await close(await connect_database(url, writes=True))


async def _migrations(url: str) -> Finding:
    try:
        missing = await pending(url)
    except NotPermitted as error:
        return _unchecked("migrations", str(error))
    return Finding("migrations", not missing, ", ".join(missing) or "all applied", "run `playmolt migrate`")


async def _log(pool: Pool) -> tuple[Finding, Places | None]:
    try:
        ends = await log_places(pool)
    except NotPermitted as error:
        return _unchecked("log", str(error)), None
    shards = f" in {len(ends)} shards" if len(ends) > 1 else ""
    return Finding("log", True, f"{sum(ends)} events{shards}"), ends


def _unchecked(name: str, reason: str) -> Finding:
    return Finding(name, True, reason, "not checked: use the login that runs migrations", seen=False)


async def _roles(pool: Pool) -> Finding:
    rows = await pool.fetch(
        "SELECT rolname FROM pg_roles WHERE rolname = ANY($1) AND pg_has_role(current_user, oid, 'USAGE')",
        list(_ROLES),
    )
    missing = sorted(set(_ROLES) - {row[0] for row in rows})
    return Finding(
        "roles",
        not missing,
        f"not usable: {', '.join(missing)}" if missing else "all present",
        "run `playmolt migrate`, and grant them to the services' users",
    )


async def _nats(settings: Settings, ends: Places | None) -> list[Finding]:
    urls = [url.strip() for url in settings.nats_url.split(",")]
    names = ["nats"] if len(urls) == 1 else [f"nats {urlsplit(url).netloc.rpartition('@')[2]}" for url in urls]
    each = [replace(settings, nats_url=url) for url in urls]
    probes = await asyncio.gather(*map(_server, names, each))
    all_services = frozenset[str]().union(*(found.reachable for found in probes))
    findings = [_cut_off(found, all_services - found.reachable) for found in probes]
    findings += map(_cut_prompts, sorted(frozenset[tuple[str, str]]().union(*(found.cut for found in probes))))
    reached = next((one for one, found in zip(each, probes, strict=True) if found.finding.well), None)
    if reached is None:
        return findings
    bus = await connect(reached, "doctor")
    try:
        return findings + [
            finding
            async for finding in _streams(bus, ends or (0,) * (settings.log_shards or 1), known=ends is not None)
        ]
    finally:
        await bus.close()


class _ServerProbe(msgspec.Struct, frozen=True):
    finding: Finding
    reachable: frozenset[str] = frozenset()
    """Services reachable through this server."""
    cut: frozenset[tuple[str, str]] = frozenset()
    """(service, model) pairs whose prompts were truncated."""


def _cut_off(probe: _ServerProbe, missing: frozenset[str]) -> Finding:
    if not probe.finding.well or not missing:
        return probe.finding
    return Finding(
        probe.finding.name, False, f"cannot reach {', '.join(sorted(missing))}, which other servers reach",
        "it lost its routes to the other servers: check the network between them, or restart it",
    )  # fmt: skip


def _cut_prompts(seen: tuple[str, str]) -> Finding:
    service, model = seen
    return Finding(
        f"model {model}", False, f"{PROMPT_CUT}: its server truncated prompts from {service}",
        f"increase the model's context length, or use another model; then restart {service}",
    )  # fmt: skip


async def _server(name: str, settings: Settings) -> _ServerProbe:
    where = urlsplit(settings.nats_url)
    address = (where.hostname or "127.0.0.1", where.port or 4222)
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(*address), 2)
        writer.close()
    except OSError as error:
        advice = "is NATS running, and is NATS_URL right?"
        return _ServerProbe(Finding(name, False, f"{address[0]}:{address[1]} {error}", advice))
    try:
        async with asyncio.timeout(_BUS_SECONDS):
            await check_server(settings)
            bus = await connect(settings, "doctor")
    except UnsuitableServer as error:
        return _ServerProbe(Finding(name, False, str(error), "install a supported nats-server and enable JetStream"))
    except (BusUnavailable, TimeoutError) as error:
        advice = "is the server stalled, or are PLAYMOLT_NATS_USER and PLAYMOLT_NATS_PASSWORD wrong?"
        detail = str(error) or f"no connection within {_BUS_SECONDS:g} s"
        return _ServerProbe(Finding(name, False, detail, advice))
    try:
        await asyncio.sleep(_ROSTER_SECONDS)
        return _ServerProbe(
            Finding(name, True, f"answers at {address[0]}:{address[1]}"), bus.services(), bus.cut_prompts()
        )
    finally:
        await bus.close()


async def _streams(bus: NatsBus, ends: Places, *, known: bool) -> AsyncIterator[Finding]:
    for place, stream in enumerate(streams(len(ends))):
        name = f"stream {stream}"
        try:
            info = json.loads(await bus.request(f"$JS.API.STREAM.INFO.{stream}"))
        except BusUnavailable as error:
            yield Finding(name, False, str(error), "is JetStream enabled, and may this user read stream info?")
            continue
        if "error" in info:
            yield Finding(
                name, False, info["error"]["description"], "the relay creates this stream; is the relay running?"
            )
            continue
        last = int(info["state"]["last_seq"])
        lag = ends[place % len(ends)] - last if known else 0
        detail = f"{info['state']['messages']} messages, {lag} behind the log"
        yield Finding(name, lag <= _LAG, detail, "the relay falls behind; see its log")
