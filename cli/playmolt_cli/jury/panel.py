"""`playmolt jury panel`: plays a case many times, and writes what moved whom."""

import fcntl
import os
import time
import tomllib
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from playmolt.client import Client
from playmolt.errors import PlayMoltError, Refused
from playmolt.retries import Retry
from playmolt_schemas.codes import Code
from playmolt_schemas.games.jury_panels import OpenPanelRequest, PanelPreview, PanelView, ResumePanelRequest
from playmolt_schemas.routes import panels as routes
from rich.console import Console

from playmolt_cli.local.stack import operator_platform
from playmolt_cli.terminal.failures import Failure, pause, stopping
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.options import data_option, echo_json, json_option, read_settings
from playmolt_cli.terminal.terminal_text import console

_RETRY: Final = Retry(attempts=1000, seconds=60.0, base=0.5, cap=0.5)
"""Waits for a platform that is restarting."""
_POLL_SECONDS: Final = 0.5
_LINE_SECONDS: Final = 5.0
_SETTLE_SECONDS: Final = 60.0
"""How long the report of a stopped panel waits for the turns in progress, whose calls it counts."""
_PLAN: Final = "plan.toml"
_RUN: Final = "run.json"
_LOCK: Final = ".lock"
_FILES: Final[Mapping[str, str]] = {"panel.json": "json", "stances.parquet": "parquet", "report.html": "html"}
_MAKING: Final = b'{"status":"making"'
_NEXT: Final = {
    "finished": "Finished.",
    "stopped": "Run the same command to continue; raise the budget in the plan first if it is spent.",
    "aborted": "The operator ended this panel for good.",
}


class PanelRun(msgspec.Struct, frozen=True):
    """`run.json` of an output folder: the key under which its panel is opened, and the panel once it is."""

    key: str
    panel: str = ""


@click.group()
def panel() -> None:
    """Play a case many times with model jurors, and report how verdicts are distributed and what moved whom.

    Example: playmolt jury panel run plan.toml --out panel
    """


@panel.command("list")
@click.option("--key", metavar="K", help="Key whose panels are listed. Default: the operator's, for every panel.")
@click.option("--url", metavar="U", help="Gateway of a running platform, instead of --data.")
@data_option
@json_option
def list_(key: str | None, url: str | None, data: Path | None, as_json: bool) -> None:
    """List panels, newest first: state, juries played, cost.

    Example: playmolt jury panel list
    """
    with stopping(), _client(url, key, data) as client:
        found = client.call(routes.LIST_PANELS)
    if as_json:
        echo_json(found)
        return
    for view in found.panels:
        click.echo(f"{view.id}  {view.state}  {printable(view.case)}  {_line(view)}")
    if not found.panels:
        click.echo("No panels. Play one with `playmolt jury panel run plan.toml --out DIR`.")


@panel.command()
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Output folder.")
@click.option("--dry", is_flag=True, help="Only check the plan and preview calls, tokens, cost, hours and power.")
@click.option("--key", metavar="K", help="Key that opens the panel. Default: the operator's of that platform.")
@click.option("--url", metavar="U", help="Gateway of a running platform, instead of --data.")
@data_option
@json_option
def run(
    plan: Path, out: Path | None, dry: bool, key: str | None, url: str | None, data: Path | None, as_json: bool
) -> None:
    """Play a plan to its end and write panel.json, stances.parquet and report.html into DIR.

    Uses the `up` on the data folder, or starts a platform without other games for the duration. The same command
    continues after a stop, a crash or a raised budget, and asks no model again what it has answered; nothing but the
    budget of the plan may change. Exit status 1 if the panel stopped before its end; panel.json says why, on the juries
    so far.

    Example: playmolt jury panel run plan.toml --out panel
    """
    text = _text(plan)
    if out is None and not dry:
        raise click.UsageError("Name the output folder with --out DIR, or preview the plan with --dry.")
    show = console(err=as_json)
    with stopping(pauses=True), _client(url, key, data) as client:
        if out is None or dry:
            _show(_preview(client, plan, text), as_json=as_json)
            return
        with _locked(out):
            view = _played(client, plan, text, out, show)
            _write_files(client, view.id, out)
    if as_json:
        echo_json({"out": str(out), "panel": view})
    else:
        show.print(f"{_line(view)}. {_NEXT.get(view.state, '')} {out}/report.html", highlight=False)
    if view.state != "finished":
        raise SystemExit(1)


def _text(plan: Path) -> str:
    try:
        return plan.read_text("utf-8-sig")
    except OSError as error:
        raise Failure(f"{plan}: {error.strerror or error}. Name the TOML file of a plan.") from error
    except UnicodeDecodeError as error:
        raise Failure(f"{plan}: byte {error.start + 1} is not UTF-8. Name the TOML file of a plan.") from error


@contextmanager
def _client(url: str | None, key: str | None, data: Path | None) -> Iterator[Client]:
    settings = read_settings()
    folder = data or Path(settings.data)
    with operator_platform(url, key, folder, settings.operator_key, engine="trial-engine") as (where, operator_key):
        try:
            with Client(where, operator_key, retry=_RETRY) as client:
                yield client
        except Refused as refusal:
            raise Failure(printable(f"{refusal.detail} ({refusal.code})")) from refusal
        except (PlayMoltError, ValueError) as error:
            raise Failure(f"{where}: {error}. Run `playmolt doctor`.") from error


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Hold the output folder, so that two runs never write into one."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Failure(f"Another run is writing into {out}. Wait for its end, or choose another --out.") from error
        yield


def _played(client: Client, plan: Path, text: str, out: Path, show: Console) -> PanelView:
    """The panel of the output folder, played until it is over or stops."""
    view = _opened(client, plan, text, out)
    show.print(f"{view.id}: {view.n} juries of {view.case}", highlight=False)
    try:
        return _followed(client, view, show)
    except KeyboardInterrupt:
        show.print("stopping: turns in progress finish, no new ones start")
        client.reconnect()
        client.call(routes.STOP_PANEL, view.id)
        raise


def _opened(client: Client, plan: Path, text: str, out: Path) -> PanelView:
    """Open the panel of an output folder, or resume it with the budget of the plan."""
    _refuse_change(plan, text, out)
    found = _read_run(out)
    if found is not None and found.panel:
        view = client.call(routes.READ_PANEL, found.panel)
        if view.state in ("finished", "aborted"):
            return view
        with _faults_of(plan):
            view = client.call(routes.RESUME_PANEL, found.panel, body=ResumePanelRequest(plan=text))
        _write(out / _PLAN, text.encode())
        return view
    key = found.key if found else uuid.uuid4().hex
    # Under this key, a repeat after a crash finds the panel that was opened before it.
    _write(out / _RUN, msgspec.json.encode(PanelRun(key)))
    with _faults_of(plan):
        opened = client.call(routes.OPEN_PANEL, body=OpenPanelRequest(plan=text), idempotency_key=key)
    if isinstance(opened, PanelPreview):
        raise Failure("The platform previewed the plan instead of opening it. Run `playmolt doctor`.")
    _write(out / _PLAN, text.encode())
    _write(out / _RUN, msgspec.json.encode(PanelRun(key, opened.id)))
    return client.call(routes.READ_PANEL, opened.id)


def _read_run(out: Path) -> PanelRun | None:
    try:
        return msgspec.json.decode((out / _RUN).read_bytes(), type=PanelRun)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise Failure(f"{out / _RUN} is damaged ({error}). Choose another --out.") from error


def _refuse_change(plan: Path, text: str, out: Path) -> None:
    """Only the budget may differ from the plan that the folder's panel was opened with."""
    try:
        former = tomllib.loads((out / _PLAN).read_text("utf-8"))
        present = tomllib.loads(text)
    except (FileNotFoundError, ValueError, RecursionError):
        return  # nothing to compare, or the platform names the fault
    changed = [name for name in sorted({*former, *present} - {"budget"}) if former.get(name) != present.get(name)]
    if changed:
        raise Failure(
            f"{plan} differs from the plan of the panel in {out}: {printable(', '.join(changed))}. Only the budget may"
            " change; choose another --out for another panel."
        )


@contextmanager
def _faults_of(plan: Path) -> Iterator[None]:
    """Print every fault of a refused plan with its line."""
    try:
        yield
    except Refused as refusal:
        if refusal.code == Code.IDEMPOTENCY_MISMATCH.wire:
            raise Failure(f"{plan} differs from the plan of this output folder. Choose another --out.") from refusal
        if refusal.code != Code.INVALID_FORM.wire:
            raise
        lines = [f"{plan} was refused:", *(_fault_line(plan, msgspec.to_builtins(fault)) for fault in refusal.errors)]
        raise Failure("\n".join(map(printable, lines))) from refusal


def _fault_line(plan: Path, fault: Mapping[str, Any]) -> str:
    field = str(fault["field"]).removeprefix("plan").removeprefix(".")
    code = f"{fault['code']}: " if fault.get("code") else ""
    return f"{plan}:{fault.get('line') or 1}: {code}{f'{field} ' if field else ''}{fault['message']}"


def _followed(client: Client, view: PanelView, show: Console) -> PanelView:
    printed, last, settled_by = "", float("-inf"), float("inf")
    while view.state == "running" or (view.settling and time.monotonic() < settled_by):
        pause(_POLL_SECONDS)
        view = client.call(routes.READ_PANEL, view.id)
        line, now = _line(view), time.monotonic()
        if view.state != "running":
            settled_by = min(settled_by, now + _SETTLE_SECONDS)
        if line != printed and now - last >= _LINE_SECONDS:
            show.print(line, highlight=False)
            printed, last = line, now
    if view.settling:
        show.print(f"{view.settling} juries have a turn in progress; its calls are not in this report", highlight=False)
    return view


def _line(view: PanelView) -> str:
    spent, missing = view.spent, f", {view.missing} without a verdict" if view.missing else ""
    money = "unknown cost" if spent.money is None else f"cost {spent.money}"
    stopped = f"; stopped ({view.stopped.by}): {printable(view.stopped.detail)}" if view.stopped else ""
    return f"{view.played} of {view.n} juries{missing}, {spent.calls} calls, {spent.tokens} tokens, {money}{stopped}"


def _write_files(client: Client, panel_id: str, out: Path) -> None:
    for name, form in _FILES.items():
        while (content := client.call(routes.PANEL_REPORT, panel_id, query={"format": form})).startswith(_MAKING):
            pause(_POLL_SECONDS)
        _write(out / name, content)


def _write(path: Path, content: bytes) -> None:
    """Replace a file as a whole: a reader, or a crash, never finds half of it."""
    unfinished = path.with_name(f".{path.name}-{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.replace(path)


def _preview(client: Client, plan: Path, text: str) -> PanelPreview:
    with _faults_of(plan):
        found = client.call(routes.OPEN_PANEL, query={"dry": "1"}, body=OpenPanelRequest(plan=text))
    if not isinstance(found, PanelPreview):
        raise Failure("The platform opened a panel instead of previewing it. Run `playmolt doctor`.")
    return found


def _show(found: PanelPreview, *, as_json: bool) -> None:
    if as_json:
        echo_json(found)
        return
    cost = "unknown" if found.cost is None else found.cost
    click.echo(
        f"{found.juries} juries, about {found.calls} calls, {found.tokens} tokens, cost {cost}, {found.hours:.2f} hours"
    )
    if power := found.power:
        needed = "no difference has power .8" if power.at_80 is None else f"power .8 needs {power.at_80:.1%}"
        click.echo(
            f"comparison of {power.n} pairs: power {power.power:.2f} for a difference of {power.difference:.0%} around"
            f" one half, size {power.size:.3f}, smallest p {power.p_min:.2g}; {needed}"
        )
    for warning in found.warnings:
        click.echo(f"warning: {printable(warning)}")
