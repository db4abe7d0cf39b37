"""`playmolt verify-verdict`: compares the log of a jury session with the chain."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.sealing import is_sealed
from playmolt_core.vault.vault import Erased
from playmolt_jury.chain import (
    ChainFault,
    ChainUnavailable,
    NoVerdict,
    Verdict,
    compare,
    contract_of,
    read_chain,
    withheld,
    without_chain,
)
from playmolt_jury.content import pack
from playmolt_schemas.identifiers import type_of
from playmolt_schemas.records import OpenedRecord, Record
from playmolt_schemas.routes import jury as routes

from playmolt_cli.jury.chain import chain_url
from playmolt_cli.local.session_key import session_client, session_server
from playmolt_cli.log.reading import records_of_kind, with_log
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.options import data_option, echo_json, json_bytes, json_option


class VerdictCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the comparison. `verdict` is that of the chain."""

    session: str
    agrees: bool
    differences: tuple[str, ...]
    records: int
    withheld: int
    """Records of a shared or sealed log with withheld parts, whose hashes cannot be recomputed."""
    verdict: str | None
    guilty: int
    not_guilty: int
    contract: str
    chain_id: int
    log_hash: str
    transactions: tuple[str, ...]
    forgotten: int
    """Votes whose events the node no longer has: the contract's state alone was compared."""

    def summary(self) -> str:
        verdict = (self.verdict or "open").replace("_", " ")
        return (
            f"{'AGREE' if self.agrees else 'DISAGREE'}: {self.records} records of {printable(self.session)} and "
            f"contract {self.contract} on chain {self.chain_id}: "
            f"{verdict}, {self.guilty} to {self.not_guilty}, {len(self.transactions) + self.forgotten} votes"
            + (
                f"; this node no longer has the events of {self.forgotten} votes, and the contract's state was compared"
                if self.forgotten
                else ""
            )
            + (f"; {self.withheld} records have withheld parts and were not fully checked" if self.withheld else "")
        )


@click.command("verify-verdict")
@click.argument("session_id", metavar="SESSION", required=False)
@click.option("--url", help="Read the log from this gateway, with the key of the session's owner.")
@click.option("--key", help="The owner's key. Default: the one that `playmolt jury play` stored in the data folder.")
@click.option(
    "--log", "copy", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
    help="Read the log from a file of JSON lines, from GET …/log, a shared page or `playmolt log export`. SESSION "
    "may be omitted if the file has one session.",
)  # fmt: skip
@click.option(
    "--rpc", metavar="URL", help="JSON-RPC node of the chain. Default: that of the data folder, or EVM_RPC_URL."
)
@data_option
@json_option
def verify_verdict(
    session_id: str | None, url: str | None, key: str | None, copy: Path | None, rpc: str | None, data: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Compare a session's log with the chain: transcript hash, votes, transactions, verdict.

    Works with or without a running `up`. Exit status 0 if they agree, 1 if they differ, 2 if one cannot be read
    or the jury voted without a chain.

    Example: playmolt verify-verdict jury-… --json
    """
    try:
        records = _copied(session_id, copy) if copy else _records(_named(session_id), url, key, data)
    except Erased as erased:
        text = f"ERASED: {erased.stream} can no longer be read; only the chain still has its votes"
        click.echo(json_bytes({"session": erased.stream, "erased": True}) if as_json else printable(text))
        return
    session_id = records[0].stream
    if is_sealed(records[-1]):
        raise Failure(
            f"{printable(session_id)} is sealed. Read its owner's log with --url, or set PLAYMOLT_SEAL_KEYS "
            "to its key file."
        )
    if _voted_without(records, session_id):
        raise Failure(
            f"{printable(session_id)} voted without a chain: its verdict is that of the rule, and there is nothing to"
            " compare it with."
        )
    with chain_url(rpc, data) as node:
        checked = verified(session_id, records, node)
    if as_json:
        echo_json(checked)
    else:
        _print(checked)
    if not checked.agrees:
        raise SystemExit(1)


def _voted_without(records: Sequence[Record], session_id: str) -> bool:
    try:
        return without_chain(records)
    except msgspec.MsgspecError as error:
        raise Failure(f"The log of {session_id} has a record that is not from a jury session: {error}") from error


def verified(session_id: str, records: Sequence[Record], node: str) -> VerdictCheck:
    """Compare a session's records with its case on a node; raises Failure without a verdict or case."""
    try:
        chain = asyncio.run(read_chain(node, contract_of(records)))
        case = pack.shipped()
        endings = {(case.digest, each.id): (each.verdict, each.when) for each in case.structure.endings}
        differences = compare(records, chain, endings)
    except NoVerdict as early:
        raise Failure(f"{session_id}: {early}") from early
    except (ChainUnavailable, ChainFault) as fault:
        raise Failure(f"{fault}. Set the node it voted on with --rpc or EVM_RPC_URL.") from fault
    except msgspec.MsgspecError as error:
        raise Failure(f"The log of {session_id} has a record that is not from a jury session: {error}") from error
    return VerdictCheck(
        session=session_id,
        agrees=not differences,
        differences=tuple(differences),
        records=len(records),
        withheld=withheld(records),
        verdict=_name(chain),
        guilty=chain.guilty_votes,
        not_guilty=chain.not_guilty_votes,
        contract=chain.contract,
        chain_id=chain.chain_id,
        log_hash=chain.log_hash,
        transactions=tuple(vote.tx_hash for vote in chain.votes if vote.tx_hash),
        forgotten=sum(vote.guilty is not None and not vote.tx_hash for vote in chain.votes),
    )


def _name(chain: Verdict) -> str | None:
    if chain.guilty is None:
        return None
    return "guilty" if chain.guilty else "not_guilty"


def _print(checked: VerdictCheck) -> None:
    for difference in checked.differences:
        click.echo(printable(f"DIFFERS  {difference}"))
    click.echo(checked.summary())


def _named(session_id: str | None) -> str:
    if session_id is None:
        raise click.UsageError("Name the SESSION, or a copy of its log with --log.")
    return session_id


def _records(session_id: str, url: str | None, key: str | None, data: Path | None) -> Sequence[Record]:
    server = session_server(url, data, "jury")
    if key or (url and server.key_file.read()):
        with session_client(server, key) as client:
            return client.call(routes.LOG, session_id)
    return with_log(data, lambda event_log: _stored(event_log, session_id), opened=True)


async def _stored(event_log: PostgresLog, session_id: str) -> Sequence[Record]:
    stored = await event_log.load(session_id)
    if stored is None:
        raise Failure(f"No session {printable(session_id)!r} in this log. Choose another folder with --data.")
    return stored.records


def _copied(session_id: str | None, copy: Path) -> Sequence[Record]:
    """The records of the named session, or of the only jury session."""
    records = list(records_of_kind([copy], OpenedRecord))
    juries = {record.stream for record in records if type_of(record.stream) == "jury"}
    if session_id is None and len(juries) != 1:
        raise Failure(f"{copy} has {len(juries)} jury sessions. Name one as SESSION, or use another file.")
    session = session_id or juries.pop()
    mine = [record for record in records if record.stream == session]
    if not mine:
        raise Failure(f"{copy} has no records of {printable(session)!r}.")
    return mine
