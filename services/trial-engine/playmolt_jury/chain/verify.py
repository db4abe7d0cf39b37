"""Whether a session's log and its case on the chain agree (`playmolt verify-verdict`). Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, TypeVar

import msgspec
from playmolt_core.log.chain import recomputed
from playmolt_schemas.records import ZERO_HASH, OpenedRecord, Record
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import (
    ContractDeployed,
    Ended,
    EvidenceRead,
    EvidenceUnlocked,
    PhaseChanged,
    VerdictName,
    VerdictRead,
    VoteCast,
    VoteView,
)

from playmolt_jury.chain.port import MinedVote, Verdict
from playmolt_jury.content.material import Found
from playmolt_jury.events import JuryOpened, StanceChanged
from playmolt_jury.persuasion import stance
from playmolt_jury.state import State

E = TypeVar("E", bound=Event)
Endings = Mapping[tuple[str, str], tuple[VerdictName, Found]]
"""The verdict and the `when` of each ending, by the digest of its pack and its id."""
_NO_ENDINGS: Final[Endings] = {}


class NoVerdict(ValueError):
    """The session has no verdict to compare."""


def contract_of(records: Sequence[Record]) -> str:
    """The address that the log says the session voted at; "" of one that voted without a chain.

    NoVerdict when it has not read a verdict yet.
    """
    return _verdict(records).contract or ""


def without_chain(records: Iterable[Record]) -> bool:
    """Whether the session has a verdict of the rule: it voted without a chain."""
    return any(record.type == VerdictRead.type and _read(record).contract is None for record in records)


def compare(records: Sequence[Record], chain: Verdict, endings: Endings = _NO_ENDINGS) -> list[str]:
    """The differences between a session's complete log and its case on the chain; empty when they agree.

    NoVerdict when the session has not read its verdict yet. An ending that is not in `endings` is not checked: it is of
    another pack, or the case has been rewritten since.
    """
    said = _verdict(records)
    return [
        *_broken(records),
        *_contract(records, said, chain),
        *_votes(records, said, chain),
        *_jurors(records, said, chain),
        *_outcome(said, chain),
        *_ending(records, said, endings),
    ]


def _verdict(records: Sequence[Record]) -> VerdictRead:
    for record in records:
        if record.type == "verdict_read":
            return _read(record)
    raise NoVerdict("the log of the session has no verdict_read: compare it after the verdict")


def _read(record: Record) -> VerdictRead:
    return msgspec.json.decode(record.data, type=VerdictRead)


def _broken(records: Sequence[Record]) -> Iterator[str]:
    before = ZERO_HASH
    for version, record in enumerate(records, 1):
        whole = _unprovable(record) or recomputed(record) == record.hash
        if record.version != version or record.prev_hash != before or not whole:
            yield f"log: record {version} was changed: the hash chain breaks there"
            return
        before = record.hash


def _unprovable(record: Record) -> bool:
    """Whether the hash cannot be recomputed. It always can for a sealed record, whatever its data omits."""
    return isinstance(record, OpenedRecord) and record.partial


def withheld(records: Iterable[Record]) -> int:
    """The number of records of a shared log whose hash or opened data cannot be checked."""
    return sum(map(_as_given, records))


def _as_given(record: Record) -> bool:
    """The opened data of a sealed record can be checked only with its key."""
    keyless = isinstance(record, OpenedRecord) and bool(record.sealed) and not record.seal_key
    return keyless or _unprovable(record)


def _contract(records: Sequence[Record], said: VerdictRead, chain: Verdict) -> Iterator[str]:
    if ((said.contract or "").lower(), said.chain_id) != (chain.contract, chain.chain_id):
        yield f"the log names {said.contract} on chain {said.chain_id}, read was {chain.contract} on {chain.chain_id}"
    begun = [record for record in records if record.type == "phase_changed" and _to_vote(record)]
    if not begun:
        yield "log: no phase_changed to vote"
    elif "0x" + begun[-1].hash != chain.log_hash:
        yield f"the chain holds log hash {chain.log_hash}, the log had {'0x' + begun[-1].hash} when the vote began"
    if said.log_hash != chain.log_hash:
        yield f"the log says the chain holds log hash {said.log_hash}, it holds {chain.log_hash}"


def _to_vote(record: Record) -> bool:
    return msgspec.json.decode(record.data, type=PhaseChanged).to == "vote"


def _events(records: Iterable[Record], kind: type[E]) -> Iterator[E]:
    return (msgspec.json.decode(record.data, type=kind) for record in records if record.type == kind.type)


def _votes(records: Sequence[Record], said: VerdictRead, chain: Verdict) -> Iterator[str]:
    casts = _casts(records)
    named = {vote.juror_id: vote for vote in said.votes if vote.guilty is not None}
    mined = {vote.address: vote for vote in chain.votes if vote.guilty is not None}
    for cast in casts:
        read = named.pop(cast.juror_id, None)
        if read is None:
            yield f"log: the verdict does not name the vote of {cast.juror_id}"
            continue
        if (read.guilty, read.tx_hash) != (cast.guilty, cast.tx_hash):
            yield f"log: {cast.juror_id}'s vote is {_vote(cast)} when cast and {_vote(read)} in the verdict"
        found = mined.pop((read.address or "").lower(), None)
        if found is None:
            yield f"the log has {cast.juror_id}'s vote {_vote(cast)}, the chain has none of {read.address}"
        elif found.guilty != cast.guilty or found.tx_hash not in ("", cast.tx_hash.lower()):
            yield f"{cast.juror_id}'s vote is {_vote(cast)} in the log and {_vote(found)} on the chain"
    yield from (f"log: the verdict names a vote of {juror} that was never cast" for juror in named)
    yield from (f"the chain has a vote of {vote.address} that is missing in the log" for vote in mined.values())


def _casts(records: Sequence[Record]) -> list[VoteCast]:
    """Each juror's latest vote in the latest contract: votes may have been cast again after the chain lost them."""
    opened = max((index for index, record in enumerate(records) if record.type == ContractDeployed.type), default=0)
    return list({cast.juror_id: cast for cast in _events(records[opened:], VoteCast)}.values())


def _vote(vote: VoteCast | VoteView | MinedVote) -> str:
    return f"{'guilty' if vote.guilty else 'not guilty'} in {vote.tx_hash}"


def _jurors(records: Sequence[Record], said: VerdictRead, chain: Verdict) -> Iterator[str]:
    """The contract's places are the jurors of event 1, in their order; what each voted follows from its stance."""
    stances = _stances(records)
    there = [(juror, place.address) for juror, place in zip(stances, chain.votes, strict=False)]
    named = [(vote.juror_id, (vote.address or "").lower()) for vote in said.votes]
    for number, (place, vote) in enumerate(zip_longest(there, named), 1):
        if place != vote:
            yield f"place {number} is {_place(place)} by event 1 and the chain, and {_place(vote)} in the verdict"
    casts = _casts(records)
    written = {"when cast": {cast.juror_id: cast.stance for cast in casts}}
    written["in the verdict"] = {vote.juror_id: vote.stance for vote in said.votes}
    for where, stood in written.items():
        for juror, at in stood.items():
            if at != stances.get(juror):
                yield f"log: the stance of {juror} is {at} {where}, but was {stances.get(juror)} when the vote began"
    for cast in casts:
        if cast.guilty != stance.votes_guilty(cast.stance):
            yield f"log: {cast.juror_id}'s vote is {_vote(cast)}, which does not follow from its stance {cast.stance}"


def _stances(records: Sequence[Record]) -> dict[str, int]:
    """The final stances of the log."""
    stances = {juror.id: juror.initial_stance for opened in _events(records, JuryOpened) for juror in opened.jurors}
    return stances | {moved.juror_id: moved.after for moved in _events(records, StanceChanged)}


def _place(place: tuple[str, str] | None) -> str:
    return " at ".join(place) if place else "unassigned"


def _outcome(said: VerdictRead, chain: Verdict) -> Iterator[str]:
    if chain.guilty is None:
        yield "the case is still open on the chain"
    elif said.verdict != ("guilty" if chain.guilty else "not_guilty"):
        yield f"the log says {said.verdict}, the chain says {'guilty' if chain.guilty else 'not_guilty'}"
    if (said.guilty, said.not_guilty) != (chain.guilty_votes, chain.not_guilty_votes):
        yield (
            f"the log counts {said.guilty} guilty and {said.not_guilty} not guilty,"
            f" the chain {chain.guilty_votes} and {chain.not_guilty_votes}"
        )


def _ending(records: Sequence[Record], said: VerdictRead, endings: Endings) -> Iterator[str]:
    found, endings_logged = _found(records), list(_events(records, Ended))
    if not endings_logged:
        yield "log: it stops before the ending; the last records are missing"
    digest = next((opened.pack_digest for opened in _events(records, JuryOpened)), "")
    for ended in endings_logged:
        verdict, when = endings.get((digest, ended.ending), (said.verdict, found))
        if (verdict, when) != (said.verdict, found):
            yield (
                f"log: the ending {ended.ending} is for {verdict} with {when} found out,"
                f" not for {said.verdict} with {found}"
            )


def _found(records: Sequence[Record]) -> Found:
    state = State(
        game_id="",
        evidence=tuple(item for opened in _events(records, JuryOpened) for item in opened.evidence),
        unlocked=tuple(each.evidence_id for each in _events(records, EvidenceUnlocked)),
        read=tuple(each.evidence_id for each in _events(records, EvidenceRead)),
    )
    return state.found
