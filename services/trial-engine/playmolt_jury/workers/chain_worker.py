"""The worker of the chain: it opens the case, casts the votes and reads the verdict, asking the chain first."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.game.decider import Command
from playmolt_core.log.port import EventLog
from playmolt_core.ops.telemetry import log

from playmolt_jury import commands
from playmolt_jury.chain import Case, CaseMissing, Chain, ChainFault, ChainUnavailable
from playmolt_jury.effects import ChainTask
from playmolt_jury.events import PhaseChanged

_log = log("chain_worker")
_AWAY_SECONDS: Final = 600.0
"""How long a worker waits for a chain that is away; then the lease goes back, and whoever takes it tries on."""
_PAUSE_MOST: Final = 15.0
_GONE_SECONDS: Final = 10.0
"""How long a case is missed before its chain counts as another: a node may be behind the one that was asked before."""
_GONE_PAUSE_MOST: Final = 2.0


class ChainWorker:
    """Carries out effects of kind `chain`. While the chain is away it tries again; nothing is ever made up."""

    def __init__(self, connect: Callable[[], Awaitable[Chain]], event_log: EventLog) -> None:
        self._connect = connect
        self._log = event_log
        self._chain: Chain | None = None

    async def __call__(self, leased: LeasedEffect) -> None:
        """Do the task and submit what stands on the chain then."""
        task: ChainTask = leased.payload
        hashed = task.log_hash or await self._log_hash(leased.stream)
        case = Case(session=leased.stream, log_hash=hashed, jurors=task.jurors, chain_id=task.chain_id)
        clock = asyncio.get_running_loop().time
        end, pause, gone = clock() + _AWAY_SECONDS, 0.5, _MissingCaseClock(clock)
        while not leased.stopping and clock() < end:
            try:
                found = await self._done(leased.effect.id, task, case)
            except (ChainUnavailable, ChainFault) as away:
                event = "chain_away" if isinstance(away, ChainUnavailable) else "chain_refused"
                _log.warning(event, stream=leased.stream, work=task.work, detail=str(away))
                if gone.for_good(away):
                    await leased.submit(
                        commands.ChainLost(effect_id=leased.effect.id, detail=str(away), looks=gone.looks)
                    )
                    return
            else:
                await leased.submit(found)
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, _GONE_PAUSE_MOST if gone.looks else _PAUSE_MOST)

    async def _done(self, effect_id: str, task: ChainTask, case: Case) -> Command:
        if self._chain is None:
            self._chain = await self._connect()
        match task.work:
            case "deploy":
                return await _opened(self._chain, effect_id, case)
            case "vote":
                voted = await self._chain.vote(case, task.juror_id, task.guilty)
                return commands.VoteMined(
                    effect_id=effect_id, juror_id=task.juror_id, guilty=voted.guilty, tx_hash=voted.tx_hash
                )
            case "verdict":
                return await _found(self._chain, effect_id, case, task.cast)

    async def _log_hash(self, stream: str) -> str:
        """The hash of the last record before the first vote: the one that began the vote."""
        stored = await self._log.load(stream)
        begun = [
            record.hash
            for record in (stored.records if stored else ())
            if record.type == PhaseChanged.type and msgspec.json.decode(record.data, type=PhaseChanged).to == "vote"
        ]
        return begun[-1]


class _MissingCaseClock:
    """Whether a case is missed for good: at every look for some time, with nothing else in between."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since = 0.0
        self.looks = 0

    def for_good(self, fault: Exception) -> bool:
        if not isinstance(fault, CaseMissing):
            self.looks = 0
            return False
        self.looks += 1
        if self.looks == 1:
            self._since = self._clock()
        return self._clock() - self._since >= _GONE_SECONDS


async def _opened(chain: Chain, effect_id: str, case: Case) -> Command:
    deployed = await chain.deploy(case)
    return commands.CaseOpened(
        effect_id=effect_id,
        address=deployed.address,
        chain_id=deployed.chain_id,
        tx_hash=deployed.tx_hash,
        log_hash=f"0x{case.log_hash.removeprefix('0x')}",
    )


async def _found(chain: Chain, effect_id: str, case: Case, cast: Sequence[tuple[str, bool]]) -> Command:
    verdict = await chain.verdict(case)
    standing = {vote.juror_id for vote in verdict.votes if vote.guilty is not None}
    gone = [(juror, guilty) for juror, guilty in cast if juror not in standing]
    if gone and verdict.guilty is None:
        # The chain went back behind them. The same keys cast them again, so that each counts once.
        for juror, guilty in gone:
            await chain.vote(case, juror, guilty)
        verdict = await chain.verdict(case)
    if verdict.guilty is None:
        raise ChainUnavailable(f"the case at {verdict.contract} is still open on the chain")
    votes = tuple(
        commands.VoteRead(juror_id=vote.juror_id, address=vote.address, guilty=vote.guilty, tx_hash=vote.tx_hash)
        for vote in verdict.votes
    )
    return commands.VerdictFound(
        effect_id=effect_id,
        guilty=verdict.guilty,
        guilty_votes=verdict.guilty_votes,
        not_guilty_votes=verdict.not_guilty_votes,
        votes=votes,
        contract=verdict.contract,
        chain_id=verdict.chain_id,
        log_hash=verdict.log_hash,
    )
