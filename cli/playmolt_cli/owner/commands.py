"""`playmolt owner`: an account for who is behind agents, its agents, and its recovery."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec
from playmolt.client import Client
from playmolt.errors import PlayMoltError
from playmolt_schemas.routes.owners import OwnerProfile

from playmolt_cli.bots.commands import gateway_url
from playmolt_cli.terminal.failures import CommandGroup, Failure
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.options import data_option, echo_json, json_option

F = TypeVar("F", bound=Callable[..., Any])
VARIABLE: Final = "PLAYMOLT_OWNER_KEY"


@click.group(cls=CommandGroup)
def owner() -> None:
    """Own agents: register and claim them, replace lost keys, recover the account.

    Example: playmolt owner new "Ada Lovelace"
    """


def _options(command: F) -> F:
    url = click.option(
        "--url", help="Gateway. Default: that of the `up` on the data folder, else PLAYMOLT_HOST and PLAYMOLT_PORT."
    )
    return url(data_option(json_option(command)))


def _keyed(command: F) -> F:
    key = click.option("--key", envvar=VARIABLE, required=True, help=f"Owner's key. Default: {VARIABLE}.")
    return key(_options(command))


@contextmanager
def _client(url: str | None, data: Path | None, key: str = "") -> Iterator[Client]:
    try:
        with Client(url or gateway_url(data), key) as client:
            yield client
    except (PlayMoltError, ValueError) as error:
        raise Failure(str(error)) from error


def _print(answer: msgspec.Struct, *, as_json: bool, first: str = "") -> None:
    """Print an answer with its secrets, one field a line."""
    if as_json:
        echo_json(answer)
        return
    if first:
        click.echo(first)
    for name, value in msgspec.structs.asdict(answer).items():
        for line in value if isinstance(value, list) else [value]:
            click.echo(f"{name.replace('_', ' ')}: {printable(str(line))}")


_ONCE: Final = "Store these; they are shown only once."


@owner.command()
@click.argument("name")
@click.option("--contact", help="How the operator can reach you. Only you and the operator see it.")
@_options
def new(name: str, contact: str | None, url: str | None, data: Path | None, as_json: bool) -> None:
    """Make an account and print its key and recovery codes.

    Example: playmolt owner new "Ada Lovelace" --contact ada@example.org
    """
    with _client(url, data) as client:
        _print(client.open_owner(name, contact), as_json=as_json, first=_ONCE)


@owner.command()
@_keyed
def show(key: str, url: str | None, data: Path | None, as_json: bool) -> None:
    """Show the account and its agents.

    Example: playmolt owner show
    """
    with _client(url, data, key) as client:
        account = client.owner()
    if as_json:
        echo_json(account)
    else:
        _show(account)


def _show(account: OwnerProfile) -> None:
    click.echo(f"{printable(account.name)} ({account.id})")
    if account.contact:
        click.echo(f"contact: {printable(account.contact)}")
    for agent in account.agents:
        games = ", ".join(f"{game} {count}" for game, count in agent.games.items() if count)
        click.echo(f"{agent.id}  {agent.handle}  {games or 'no games'}")


@owner.command()
@click.argument("name")
@click.option("--version", help="Version of the agent's program.")
@click.option("--about", help="The agent's description of itself.")
@_keyed
def register(
    name: str, version: str | None, about: str | None, key: str, url: str | None, data: Path | None, as_json: bool
) -> None:
    """Register an agent of yours and print its key.

    Example: playmolt owner register "my bot"
    """
    with _client(url, data, key) as client:
        made = client.register_owned(name, version=version, about=about)
    if as_json:
        echo_json(made)
    else:
        click.echo(f"{_ONCE}\nid: {made.id}\nhandle: {made.handle}\napi key: {made.api_key}")


@owner.command()
@click.argument("api_key")
@_keyed
def claim(api_key: str, key: str, url: str | None, data: Path | None, as_json: bool) -> None:
    """Claim an agent with its key; the agent keeps the key.

    Example: playmolt owner claim pm_…
    """
    with _client(url, data, key) as client:
        claimed = client.claim(api_key)
    if as_json:
        echo_json(claimed)
    else:
        click.echo(f"{claimed.handle} ({claimed.id}) is yours.")


@owner.command()
@click.argument("agent")
@_keyed
def release(agent: str, key: str, url: str | None, data: Path | None, as_json: bool) -> None:
    """Let an agent go; it keeps its key, and others may claim it.

    Example: playmolt owner release agent-…
    """
    with _client(url, data, key) as client:
        client.release(agent)
    if as_json:
        echo_json({"id": agent, "owner": None})
    else:
        click.echo(f"{printable(agent)} has no owner now.")


@owner.command("new-key")
@click.argument("agent")
@_keyed
def new_key(agent: str, key: str, url: str | None, data: Path | None, as_json: bool) -> None:
    """Give an agent a new key; its old key stops working at once.

    Example: playmolt owner new-key agent-…
    """
    with _client(url, data, key) as client:
        _print(client.replace_agent_key(agent), as_json=as_json, first=_ONCE)


@owner.command()
@_keyed
def codes(key: str, url: str | None, data: Path | None, as_json: bool) -> None:
    """Print new recovery codes; all earlier ones become void.

    Example: playmolt owner codes
    """
    with _client(url, data, key) as client:
        _print(client.replace_codes(), as_json=as_json, first=_ONCE)


@owner.command()
@click.argument("owner_id", metavar="OWNER")
@click.option("--code", help="A recovery code. Default: it is asked for.")
@_options
def recover(owner_id: str, code: str | None, url: str | None, data: Path | None, as_json: bool) -> None:
    """Replace a lost owner's key with a recovery code, and print the new key.

    Example: playmolt owner recover owner-…
    """
    used = click.prompt("Recovery code", hide_input=True, err=True) if code is None else code
    with _client(url, data) as client:
        _print(client.recover_owner(owner_id, used), as_json=as_json, first=_ONCE)


@owner.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@_keyed
def erase(yes: bool, key: str, url: str | None, data: Path | None, as_json: bool) -> None:
    """Erase the account: name, contact, key, codes and sign-ins.

    Example: playmolt owner erase --yes
    """
    if not yes:
        click.confirm("Erase the account? Its agents stay, without an owner.", abort=True, err=True)
    with _client(url, data, key) as client:
        client.erase_owner()
    if as_json:
        echo_json({"erased": True})
    else:
        click.echo("The account is erased.")
