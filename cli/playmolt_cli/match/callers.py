"""Players over the network: models by alias, bots by URL."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from playmolt_core.effects.callbacks.client import CallbackClient
from playmolt_core.effects.callbacks.faults import CallbackFailure
from playmolt_schemas.match_plan import PlannedPlayer

from playmolt_cli.match.callback import CallbackBot
from playmolt_cli.match.entrants import Deal, Entrant, Player
from playmolt_cli.match.folder import MatchFolder
from playmolt_cli.match.plan import Plan, sampling_of
from playmolt_cli.match.table import LocatedForfeit, TableTurn
from playmolt_cli.model_seats.calls import FinishedCall
from playmolt_cli.model_seats.requests import MAX_TOKENS, ModelProfile, Prompt, TurnRequest
from playmolt_cli.model_seats.seat import ModelSeat, NoModelAction, SeatContext

_PAUSES: Final = (0.5, 1.0)
"""Seconds before each retry of a call without an action."""


def model(
    plan: Plan, player: PlannedPlayer, prompts: Mapping[str, Prompt], bench: SeatContext, folder: MatchFolder | None
) -> Entrant:
    """A model as an entrant."""
    alias, sampling = player.model or "", player.sampling
    entry = bench.catalogue.models.get(alias)

    def sit(deal: Deal, seat: int) -> Player:
        prompt = prompts[deal.game]
        voice = ModelProfile(
            alias=alias,
            system=prompt.filled(player.name, plan.document.language),
            language=plan.document.language,
            session=plan.document.name,
            sampling=sampling_of(sampling),
            max_tokens=(sampling and sampling.max_tokens) or MAX_TOKENS,
        )
        transcript = folder.transcript(deal) if folder else None

        def on_finished(asked: TurnRequest, call: FinishedCall) -> None:
            if transcript is not None:
                transcript.add(asked, call, player.name, entry.model if entry else alias, prompt.sha256)

        return _asking(ModelSeat(bench, voice, player.name, on_finished), f"{deal.number}:{seat}")

    shas = {game: prompt.sha256 for game, prompt in prompts.items()}
    return Entrant(player.name, "model", sit, model=alias, prompts=shas)


def _asking(seat: ModelSeat, name: str) -> Player:
    async def ask(turn: TableTurn) -> Any:
        refused = turn.refused.detail if turn.refused else None
        answer = await seat.action(f"{name}:{turn.version}", turn.state, turn.actions, refused)
        return LocatedForfeit(answer.what, answer.kind) if isinstance(answer, NoModelAction) else answer

    return ask


def url(player: PlannedPlayer, client: CallbackClient) -> Entrant:
    """A bot behind a URL as an entrant; calls are signed with a random secret."""

    def sit(_: Deal, __: int) -> Player:
        callback = CallbackBot(player.url or "", client)

        async def ask(turn: TableTurn) -> Any:
            answer = await callback.ask(turn)
            for repeats, pause in enumerate(_PAUSES, 1):
                if not isinstance(answer, CallbackFailure):
                    break
                await asyncio.sleep(pause)
                answer = await callback.ask(turn, repeats)
            return LocatedForfeit(answer.what) if isinstance(answer, CallbackFailure) else answer

        return ask

    return Entrant(player.name, "url", sit)
