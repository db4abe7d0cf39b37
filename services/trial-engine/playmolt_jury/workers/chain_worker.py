"""The chain worker: deploys the contract, casts the votes and reads the verdict; it always reads the chain first."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.game.decider import Command
from playmolt_core.log.port import StreamReader
from playmolt_core.ops.telemetry import log
from playmolt_schemas.stored.jury import PhaseChanged

from playmolt_jury import commands
from playmolt_jury.chain import Case, Chain, ChainFault, ChainUnavailable, MissingCase
from playmolt_jury.effects import ChainTask

_log = log("chain_worker")
_UNAVAILABLE_SECONDS: Final = 600.0
"""How long a worker waits for an unavailable chain before it returns the lease, so that another can continue."""
_PAUSE_MOST: Final = 15.0
_MISSING_SECONDS: Final = 10.0
"""How long a case must be missing before the chain counts as changed: a node may lag behind another."""
_MISSING_PAUSE_MOST: Final = 2.0


class ChainWorker:
    """Executes effects of kind `chain`; retries while the chain is unavailable."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Chain]],
        event_log: StreamReader,
        *,
        missing_seconds: float = _MISSING_SECONDS,
    ) -> None:
        self._missing_seconds = missing_seconds
        self._connect = connect
        self._log = event_log
        self._chain: Chain | None = None

    async def __call__(self, leased: LeasedEffect[ChainTask]) -> None:
        """Does the task and submits the resulting state of the chain."""
        task = leased.payload
        hashed = task.log_hash or await self._log_hash(leased.stream)
        case = Case(session=leased.stream, log_hash=hashed, jurors=task.jurors, chain_id=task.chain_id)
        clock = asyncio.get_running_loop().time
        end, pause, missing = clock() + _UNAVAILABLE_SECONDS, 0.5, _MissingCaseClock(clock, self._missing_seconds)
        while not leased.stopping and clock() < end:
            try:
                found = await self._done(leased.effect.id, task, case)
            except (ChainUnavailable, ChainFault) as fault:
                event = "chain_away" if isinstance(fault, ChainUnavailable) else "chain_refused"
                _log.warning(event, stream=leased.stream, work=task.work, detail=str(fault))
                if missing.is_final(fault):
                    await leased.submit(
                        commands.ChainLost(effect_id=leased.effect.id, detail=str(fault), looks=missing.looks)
                    )
                    return
            else:
                await leased.submit(found)
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, _MISSING_PAUSE_MOST if missing.looks else _PAUSE_MOST)

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
        """The hash of the last record before the first vote: the phase change to `vote`."""
        stored = await self._log.load(stream)
        begun = [
            record.hash
            for record in (stored.records if stored else ())
            if record.type == PhaseChanged.type and msgspec.json.decode(record.data, type=PhaseChanged).to == "vote"
        ]
        return begun[-1]


class _MissingCaseClock:
    """Decides when a missing case is lost: it was missing in every read for some time."""

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._since = 0.0
        self.looks = 0

    def is_final(self, fault: Exception) -> bool:
        if not isinstance(fault, MissingCase):
            self.looks = 0
            return False
        self.looks += 1
        if self.looks == 1:
            self._since = self._clock()
        return self._clock() - self._since >= self._seconds


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
    present = {vote.juror_id for vote in verdict.votes if vote.guilty is not None}
    lost = [(juror, guilty) for juror, guilty in cast if juror not in present]
    if lost and verdict.guilty is None:
        # A reorganisation dropped them. The same keys cast them again, so that each counts once.
        for juror, guilty in lost:
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
