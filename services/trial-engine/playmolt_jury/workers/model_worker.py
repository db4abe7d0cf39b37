"""The model worker of jurors: sends the requests of a turn to the model until the turn ends."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from msgspec.structs import replace
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.effects.recording import KeepTexts, logged_replies, recorder
from playmolt_core.game.decider import Command
from playmolt_core.llm.conversation import tool_probe
from playmolt_core.llm.port import Failed, Model, ModelRequest, Reply, TurnHeader
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import StreamReader
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import AttemptMade, RequestKind, TurnStarted

from playmolt_jury import commands
from playmolt_jury.effects import ToolProbe
from playmolt_jury.jurors import react
from playmolt_jury.jurors.react import CLASSIFY
from playmolt_jury.rules import Jury
from playmolt_jury.state import State, Turn


class ModelsByAlias(Protocol):
    """`Models`, or those of a panel, which its budget limits."""

    def get(self, alias: str) -> Model | None: ...


class ModelWorker:
    """Executes effects of kind `llm_turn`. Every request is stored before the next one is sent.

    `begun` is called at the start of each turn. What a turn's model had answered before its worker was lost is in `log`
    and not asked again.
    """

    def __init__(
        self,
        jury: Jury,
        models: ModelsByAlias,
        keep: KeepTexts,
        begun: Callable[[], None] = lambda: None,
        log: StreamReader | None = None,
    ) -> None:
        self._jury = jury
        self._models = models
        self._keep = keep
        self._begun = begun
        self._log = log

    async def __call__(self, leased: LeasedEffect[Turn, State], events: Sequence[Event] = ()) -> None:
        """Plays a turn and submits JurorTurn, or TurnLost if the model gave no usable answer.

        `events` are those of the jury, for a worker without a `log`.
        """
        self._begun()
        await leased.submit(await self._played(leased, leased.payload, events))

    async def _logged(self, leased: LeasedEffect[Turn, State], alias: str) -> Sequence[Event]:
        stored = await self._log.facts(leased.stream) if self._log and not is_scripted(alias) else None
        return [event for event, _ in facts_of(self._jury, stored)] if stored else ()

    async def _played(self, leased: LeasedEffect[Turn, State], turn: Turn, events: Sequence[Event]) -> Command:
        state = leased.snapshot.state
        alias = state.model_of(turn.juror_id)
        model = self._models.get(alias)
        if model is None:
            detail = f"the model {alias!r} is no longer available; ask the operator"
            return commands.TurnLost(effect_id=turn.id, code="model_unavailable", detail=detail, attempts=0)
        material = self._jury.material(state)
        record = recorder(leased, self._keep, lambda *sent: _requested(turn.id, *sent))
        replies: list[react.ModelReply] = [*answered(turn, events or await self._logged(leased, alias))]
        while isinstance(step := react.next_request(state, turn, material, replies), ModelRequest):
            replies.append(await model.ask(replace(step, payer=state.payer), record))
        return step


def answered(turn: Turn, events: Sequence[Event]) -> list[Reply]:
    """The replies that a turn had before its worker was lost, in order."""
    started = max(
        (at for at, event in enumerate(events) if isinstance(event, TurnStarted) and _starts(event, turn)), default=None
    )
    if started is None:
        return []
    names = (turn.name, CLASSIFY) if turn.kind == "chat" else (turn.name,)
    requests = (event for event in events[started:] if isinstance(event, AttemptMade) and event.turn in names)
    return logged_replies(event.attempt for event in requests)


def _starts(event: TurnStarted, turn: Turn) -> bool:
    return (event.turn, event.juror_id, event.round) == (turn.kind, turn.juror_id, turn.round)


class ToolProbeWorker:
    """Executes effects of kind `tool_probe`: asks a session's model once whether it calls tools."""

    def __init__(self, models: ModelsByAlias, keep: KeepTexts) -> None:
        self._models = models
        self._keep = keep

    async def __call__(self, leased: LeasedEffect[ToolProbe, State]) -> None:
        await leased.submit(commands.ToolsAnswered(calls_tools=await self._asked(leased, leased.payload.alias)))

    async def _asked(self, leased: LeasedEffect[ToolProbe, State], alias: str) -> bool | None:
        model, state = self._models.get(alias), leased.snapshot.state
        if model is None:
            return None
        record = recorder(leased, self._keep, lambda *sent: _requested(leased.effect.id, *sent))
        request = replace(tool_probe(alias), turn=TurnHeader(state.game_id, "tools", "probe"), payer=state.payer)
        answer = await model.ask(request, record)
        if isinstance(answer, Failed):
            return False if answer.code == "invalid_reply" else None
        return True


def _requested(effect_id: str, name: str, kind: str, attempt: dict[str, Any]) -> Command:
    return commands.Attempted(effect_id=effect_id, turn=name, kind=cast("RequestKind", kind), attempt=attempt)
