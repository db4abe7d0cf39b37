"""`playmolt bots replay-test`: asks a bot the turns of stored games."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from playmolt.loop import Forfeit
from playmolt_core.game.decider import Act, Decider, Refused
from playmolt_core.llm.catalogue import Catalogue, load
from playmolt_schemas.api import ActionOffer
from playmolt_schemas.records import Record
from playmolt_schemas.stored.seats import Submitted

from playmolt_cli.log.stored_copies import copy_option
from playmolt_cli.log.stored_game import finished_games, rules_of, seat_of
from playmolt_cli.match.entrant_factory import entrant_factory
from playmolt_cli.match.entrants import Deal, Entrant
from playmolt_cli.match.plan import InvalidPlan
from playmolt_cli.match.playing import Watchdog, answer_of
from playmolt_cli.match.table import TableSeat, TableTurn
from playmolt_cli.practice.decisions import StoredDecision, action_of, action_text, alike, decisions
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import data_option, echo_json, json_option, read_settings

_DIFFERS: Final = 1


class DecisionDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that the bot decides differently. `given` is None if its answer is invalid; `fault` says why."""

    version: int
    agent_id: str
    name: str
    phase: str
    round: int
    stored: Mapping[str, Any] | None
    given: Mapping[str, Any] | None
    fault: str | None


class GameTest(msgspec.Struct, frozen=True, kw_only=True):
    """Result for a stored game; forfeited submissions do not count as decisions."""

    game_id: str
    decisions: int
    same: int
    differs: Sequence[DecisionDifference]


@click.command("replay-test")
@click.argument("bot")
@click.argument("game_ids", metavar="GAME…", nargs=-1, required=True)
@click.option("--seat", metavar="AGENT", help="Only the turns of this agent (id or name). Default: all seats.")
@click.option("--seed", default="replay-test", show_default=True, help="Seed of house bots and scripted models.")
@copy_option
@data_option
@json_option
def replay_test(
    bot: str,
    game_ids: tuple[str, ...],
    seat: str | None,
    seed: str,
    copy: Path | None,
    data: Path | None,
    as_json: bool,
) -> None:
    """Ask a bot the turns of stored games, and list the decisions that differ.

    BOT is as in `playmolt match`: FILE.py[:NAME], house:POLICY, model:ALIAS or a URL. Comments are ignored. Exit
    status 1 if a decision differs.

    Example: playmolt bots replay-test mybot.py ox-0190…
    """
    games = finished_games(game_ids, data, copy)
    catalogue = load(read_settings().models)
    tested = asyncio.run(_tested(bot, games, seat, seed, catalogue))
    total, same = sum(one.decisions for one in tested), sum(one.same for one in tested)
    if as_json:
        echo_json({"bot": bot, "decisions": total, "same": same, "games": tested})
    else:
        for line in _lines(tested):
            click.echo(line)
        click.echo(f"{same} of {total} decisions are the same")
    if same < total:
        raise click.exceptions.Exit(_DIFFERS)


async def _tested(
    bot: str, games: Mapping[str, Sequence[Record]], seat: str | None, seed: str, catalogue: Catalogue
) -> list[GameTest]:
    watchdog = Watchdog()
    with watchdog.on_guard():
        return [
            await _game(bot, number, game_id, records, seat, seed, catalogue, watchdog)
            for number, (game_id, records) in enumerate(games.items(), 1)
        ]


async def _game(
    bot: str, number: int, game_id: str, records: Sequence[Record], seat: str | None, seed: str,
    catalogue: Catalogue, watchdog: Watchdog,
) -> GameTest:  # fmt: skip
    decider = rules_of(game_id)
    only = None if seat is None else seat_of(decider, game_id, records, seat)
    stored = [one for one in decisions(decider, records) if one.action is not None]
    stored = [one for one in stored if only in (None, one.question.agent_id)]
    try:
        making = entrant_factory(bot, decider.game, seed, catalogue)
    except InvalidPlan as error:
        raise Failure(str(error)) from error
    try:
        (entrant,) = making.entrants()
        deal = Deal(number, decider.game, 0, game_id, seed, (), complete=False)
        differs = [one async for one in _differences(decider, entrant, deal, stored, watchdog)]
    finally:
        await making.close()
    return GameTest(game_id=game_id, decisions=len(stored), same=len(stored) - len(differs), differs=differs)


async def _differences(
    decider: Decider, entrant: Entrant, deal: Deal, stored: Iterable[StoredDecision], watchdog: Watchdog
) -> Any:
    players: dict[str, Any] = {}
    for one in stored:
        agent = one.question.agent_id
        names = decider.participants(one.before)
        if agent not in players:
            players[agent] = entrant.sit(deal, 1 + list(names).index(agent))
        offers = [ActionOffer(offer.type, dict(offer.schema)) for offer in decider.allowed_actions(one.before, agent)]
        turn = TableTurn(decider, one.before, TableSeat(agent, names[agent]), offers, None)
        given, fault = _judged(decider, one, await answer_of(players[agent], entrant, turn, watchdog))
        if not alike(given, one.action):
            yield DecisionDifference(
                version=one.version, agent_id=agent, name=names[agent], phase=one.question.phase,
                round=one.question.round, stored=one.action, given=given, fault=fault,
            )  # fmt: skip


def _judged(decider: Decider, one: StoredDecision, answer: object) -> tuple[Mapping[str, object] | None, str | None]:
    """The action as it would be stored, or why it is invalid."""
    if isinstance(answer, Forfeit):
        at = getattr(answer, "at", None)
        return None, f"{answer.what} at {at}" if at else answer.what
    try:
        action = msgspec.json.decode(msgspec.json.encode(answer))
    except (TypeError, ValueError, RecursionError) as error:
        return None, f"not an action: {error}"
    decided = decider.decide(one.before, Act(agent_id=one.question.agent_id, action=action), one.at)
    if isinstance(decided, Refused):
        return None, f"refused: {decided.detail}"
    event = next((event for event in decided.events if isinstance(event, Submitted)), None)
    return (action, None) if event is None else (action_of(decider, event), None)


def _lines(tested: Iterable[GameTest]) -> Iterable[str]:
    for game in tested:
        for one in game.differs:
            given = one.fault or action_text(one.given, one.stored)
            yield (
                f"{game.game_id} event {one.version}, {one.name} in round {one.round}, {one.phase}: "
                f"{action_text(one.stored, one.given)} → {given}"
            )
