"""`playmolt moderate`: the reports to the operator, and decisions about them."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, cast, get_args

import click
import msgspec
from playmolt.client import Client
from playmolt.errors import Refused
from playmolt_schemas import limits
from playmolt_schemas.routes import moderation as routes
from playmolt_schemas.routes.platform import READ_AGENT, READ_EVENTS
from playmolt_schemas.routes.tournaments import READ_TOURNAMENT

from playmolt_cli.terminal.failures import CommandGroup, Failure
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.options import echo_json
from playmolt_cli.tournament.commands import operator_client, operator_options

_REASON_CHARS: Final = 60


@click.group(cls=CommandGroup)
def moderate() -> None:
    """List reports of names, speeches, agents and owners, and decide them.

    Example: playmolt moderate list
    """


@moderate.command("list")
@click.option(
    "--state", type=click.Choice(get_args(routes.ReportState)), default="open", show_default=True, help="Which reports."
)
@click.option(
    "--limit", type=click.IntRange(1, limits.PAGE_MAX), default=limits.PAGE_DEFAULT, show_default=True,
    help="Maximum number of reports.",
)  # fmt: skip
@operator_options
def list_(
    state: routes.ReportState, limit: int, url: str | None, key: str | None, data: Path | None, as_json: bool
) -> None:
    """List reports, newest first.

    Example: playmolt moderate list --state decided
    """
    with operator_client(url, key, data) as client:
        found = client.call(routes.LIST_REPORTS, query={"state": state, "limit": limit}).reports
    if as_json:
        echo_json(found)
        return
    for row in found:
        reason = row.reason if len(row.reason) <= _REASON_CHARS else f"{row.reason[:_REASON_CHARS]}…"
        decision = row.decision or f"{row.count}×"
        click.echo(f"{row.id}  {row.kind:<6} {decision:<7}  {_subject(row)}  {printable(reason)}")
    if not found:
        click.echo(f"No {state} reports.")


@moderate.command()
@click.argument("report")
@operator_options
def show(report: str, url: str | None, key: str | None, data: Path | None, as_json: bool) -> None:
    """Show a report with the speech or name that it is about, as it is shown now.

    Example: playmolt moderate show report-…
    """
    with operator_client(url, key, data) as client:
        row = next((one for one in _reports(client) if one.id == report), None)
        if row is None:
            raise Failure(f"{report} does not exist. List reports with playmolt moderate list.")
        shown = _shown(client, row)
    if as_json:
        echo_json(msgspec.to_builtins(row) | {"shown": shown})
        return
    _print(row)
    if shown:
        click.echo(f"shown now: {printable(shown)}")


@moderate.command()
@click.argument("report")
@click.argument("decision", type=click.Choice(get_args(routes.ReportDecision)))
@click.option("--note", required=True, help="Why. The agent or owner concerned reads it as a notice.")
@click.option("--until", help="End of a ban, RFC 3339. Default: for good.")
@operator_options
def decide(
    report: str, decision: str, note: str, until: str | None, url: str | None, key: str | None, data: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Dismiss a report, hide a speech or name, rename an agent, ban an agent or owner, or restore what was decided.

    Example: playmolt moderate decide report-… ban --note "three slurs" --until 2027-01-31T00:00:00Z
    """
    body = routes.DecisionRequest(decision=cast("routes.ReportDecision", decision), note=note, until=until)
    with operator_client(url, key, data) as client:
        row = client.call(routes.DECIDE_REPORT, report, body=body)
    if as_json:
        echo_json(row)
    else:
        _print(row)


def _reports(client: Client) -> Iterator[routes.ReportRow]:
    """All reports, page by page."""
    cursor = None
    while True:
        page = client.call(routes.LIST_REPORTS, query={"limit": limits.PAGE_MAX, "cursor": cursor})
        yield from page.reports
        cursor = page.next_cursor
        if cursor is None:
            return


def _subject(row: routes.ReportRow) -> str:
    if row.kind == "speech":
        return f"{row.game_id} event {row.version}"
    return row.agent_id or row.owner_id or row.game_id or ""


def _shown(client: Client, row: routes.ReportRow) -> str:
    """What is reported, as everybody sees it; "" if it cannot be read any more."""
    with suppress(Refused):
        if row.kind == "speech" and row.game_id and row.version:
            events = client.call(READ_EVENTS, row.game_id, query={"after": row.version - 1, "limit": 1}).events
            return msgspec.json.encode(events[0]).decode() if events else ""
        if row.agent_id:
            return client.call(READ_AGENT, row.agent_id).name
        if row.game_id and not row.owner_id:
            return client.call(READ_TOURNAMENT, row.game_id).name
    return ""


def _print(row: routes.ReportRow) -> None:
    decided = f"{row.decision}: {row.note}" if row.decision else "open"
    click.echo(f"{row.id}  {row.kind}  {_subject(row)}")
    click.echo(f"reported {row.count} times since {row.at}: {printable(row.reason)}")
    click.echo(printable(decided) + (f" (until {row.until})" if row.until else ""))
