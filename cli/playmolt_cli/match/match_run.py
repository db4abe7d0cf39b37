"""Runs a plan: creates entrants, plays and stores games, makes the report."""

import gc
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec
from playmolt_core.game.decider import Decider
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.canonical import digest

from playmolt_cli.match.entrant_factory import EntrantFactory
from playmolt_cli.match.entrants import Deal, deals, filled
from playmolt_cli.match.folder import MatchFolder
from playmolt_cli.match.plan import Plan
from playmolt_cli.match.playing import Watchdog
from playmolt_cli.match.python_file import python_file
from playmolt_cli.match.reporting.report import MatchInfo, Report, Stopped, report_of, spend_by_player
from playmolt_cli.match.tournament import FinishedGame, Tournament
from playmolt_cli.model_seats.calls import Calls

_GARBAGE: Final = 100_000
"""Threshold of the garbage collector: games leave no cycles, and collecting costs a tenth of the time."""


class MatchRun:
    """A match in progress; it can be reported at any time."""

    def __init__(self, plan: Plan, deciders: Mapping[str, Decider], catalogue: Catalogue, out: Path | None) -> None:
        """Raises InUse and PlanMismatch if `out` cannot be used."""
        document = plan.document
        self._plan = plan
        self._deciders = {game: deciders[game] for game in plan.types}
        self._folder = MatchFolder(out) if out else None
        self._calls: Calls | None = None
        try:
            self._hold()
        except BaseException:
            self.close()
            raise
        self._calls = calls = Calls(self._folder.calls if self._folder else None)
        self._factory = EntrantFactory(plan, catalogue, calls, self._folder)
        needed = max(decider.needed for decider in self._deciders.values())
        self._entrants = filled(self._factory.entrants(), needed, document.fill, document.seed)
        self._played: list[FinishedGame] = []

    async def play(self) -> Report:
        """Play the remaining games; raises GameStuck."""
        watchdog = Watchdog()
        tournament = Tournament(self._deciders, self._entrants, watchdog, self._folder, self._plan.document.language)
        before = gc.get_threshold()
        gc.set_threshold(_GARBAGE)
        try:
            with watchdog.on_guard():
                async for game in tournament.play(self._dealt(), self._plan.document.concurrency):
                    self._played.append(game)
        finally:
            gc.set_threshold(*before)
            await self._factory.close()
        return self.report("budget" if tournament.stopped else None)

    def report(self, stopped: Stopped | None = None) -> Report:
        document = self._plan.document
        about = MatchInfo(
            name=document.name,
            seed=document.seed,
            plan_hash=self.plan_hash,
            versions=self._versions(),
            games_planned=sum(games.n for games in document.games),
            stopped=stopped,
            budget=None if document.budget is None else msgspec.to_builtins(document.budget),
            kept=self._folder is not None,
        )
        return report_of(about, self._entrants, self._played, spend_by_player(self._calls or Calls()))

    @property
    def plan_hash(self) -> str:
        """Hash of the plan without its budget, which may be raised later."""
        plan = msgspec.to_builtins(msgspec.structs.replace(self._plan.document, budget=None))
        return digest(_without_floats(plan))

    def keep(self, name: str, data: bytes) -> None:
        """Write a file into the folder, if there is one."""
        if self._folder is not None:
            self._folder.write(name, data)

    def close(self) -> None:
        if self._calls is not None:
            self._calls.close()
        if self._folder is not None:
            self._folder.close()

    def _hold(self) -> None:
        if self._folder is None:
            return
        document = self._plan.document
        files = {
            player.name: python_file(player.python, self._plan.base).sha256
            for player in document.players
            if player.python is not None
        }
        prompts = {
            player.name: {game: prompt.sha256 for game, prompt in self._plan.prompts(player).items()}
            for player in document.players
            if player.model is not None
        }
        plan = msgspec.to_builtins(document)
        self._folder.hold({"plan": plan, "prompts": prompts, "python": files, "versions": self._versions()})

    def _dealt(self) -> list[Deal]:
        document = self._plan.document
        games = [(games.game, games.n, self._deciders[games.game].needed) for games in document.games]
        return list(deals(document.name, document.seed, games, len(self._entrants)))

    def _versions(self) -> dict[str, object]:
        return {
            "playmolt": version("playmolt-cli"),
            "rules": {game: decider.rules_version for game, decider in self._deciders.items()},
            "content": {game: decider.content_version for game, decider in self._deciders.items()},
        }


def _without_floats(value: object) -> object:
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return {name: _without_floats(part) for name, part in value.items()}
    return [_without_floats(part) for part in value] if isinstance(value, list) else value
