"""Given a stream with a pending effect, when its worker runs, then these events: without process, bus and database."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Self, TypeVar, cast

from playmolt_core.effects.leased_effect import Worker
from playmolt_core.effects.leases import MemoryLeases
from playmolt_core.effects.runner import EffectRunner
from playmolt_core.game.decider import Accepted, Command, Decider, Refused
from playmolt_core.game.fold import Snapshot
from playmolt_core.log.port import GameIndex
from playmolt_schemas.records import ZERO_HASH

from core.tests.scenario import Scenario

S = TypeVar("S")
_PATIENCE_SECONDS = 60.0
"""A worker that reads long texts may need more time than a runner grants when its service stops."""


class EffectScenario(Scenario[S]):
    """Carries out the effects of its one stream under leases. As in the log, a command id is decided only once."""

    def __init__(self, decider: Decider[S], stream: str = "") -> None:
        self.stream = stream or f"{decider.game}-1"
        super().__init__(decider, self.stream)
        self.leases = MemoryLeases()
        self.submitted: dict[str, Accepted | Refused] = {}

    async def carried_out(self, **workers: Worker) -> Self:
        """Let a new runner carry out and finish all due effects."""
        runner = EffectRunner(
            self.decider, cast("GameIndex", self), self, self.submit, workers=workers, leases=self.leases
        )
        await runner.poll(self.now)
        await runner.stop(_PATIENCE_SECONDS)
        return self

    async def submit(self, stream: str, command: Command, command_id: str) -> Accepted | Refused:
        """See `effects.leased_effect.Submit`."""
        assert stream == self.stream
        if command_id not in self.submitted:
            self.submitted[command_id] = self.when(command).decision
        return self.submitted[command_id]

    def present(self, stream: str) -> Snapshot | None:
        """See `effects.leased_effect.CommittedStreams`."""
        return Snapshot(self.state, len(self.log), ZERO_HASH, self.now, self.decider.summary(self.state))

    async def snapshot(self, stream: str) -> Snapshot | None:
        """See `effects.leased_effect.CommittedStreams`."""
        return self.present(stream)

    async def due(self, game: str, now: datetime, limit: int) -> Sequence[str]:
        """See `GameIndex`: the only call of a runner to the log."""
        due: list[Any] = [effect for effect in self.decider.effects(self.state) if effect.due <= now]
        return [self.stream] if due else []


async def no_long_texts(texts: Iterable[str]) -> None:
    """For a worker whose models give only texts that fit into a record."""
    raise AssertionError(f"too long for a record: {list(texts)}")
