"""Match plans, read from TOML or from command-line words. All errors are reported at once, each with its key."""

import copy
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import msgspec
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match
from playmolt.bots import MIXED, policies
from playmolt_core.db.ledger import Account
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import SamplingParameters
from playmolt_schemas.match_plan import ByGame, MatchPlan, PlannedGames, PlannedPlayer, PlannedSamplingSettings
from playmolt_schemas.text import decimal_text

from playmolt_cli.match.entrants import policy_fault
from playmolt_cli.match.python_file import BotLoadError, python_file
from playmolt_cli.model_seats.requests import InvalidPrompt, Prompt, of_file, shipped

_KINDS: Final = ("house", "python", "model", "url")
_ACCOUNT: Final = "match"


class InvalidPlan(ValueError):
    """A plan that cannot be played; the message has one line per error."""


class Plan(NamedTuple):
    """A plan, and the folder its paths are relative to."""

    document: MatchPlan
    base: Path

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(games.game for games in self.document.games)

    @property
    def account(self) -> Account:
        """The account that pays for model calls, with the limits of the budget."""
        budget = self.document.budget
        if budget is None:
            return Account(name=_ACCOUNT)
        money = None if budget.money is None else Decimal(str(budget.money))
        return Account(name=_ACCOUNT, money=money, tokens=budget.tokens, calls=budget.calls)

    def prompts(self, player: PlannedPlayer) -> Mapping[str, Prompt]:
        """A model's prompt for each game of the plan; raises InvalidPrompt."""
        own = {game: for_game(player.prompt, game) for game in self.types}
        return {
            game: of_file(self.base / path) if path is not None else shipped(game, self.document.language)
            for game, path in own.items()
        }


def read_plan(path: Path, catalogue: Catalogue, models: Models) -> Plan:
    """Read a plan from a file; raises InvalidPlan."""
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        _refuse([f"{path}: {error.strerror or error}"])
    except (ValueError, RecursionError) as error:
        _refuse([f"{path}: not valid TOML: {error}"])
    if errors := list(Draft202012Validator(msgspec.json.schema(MatchPlan)).iter_errors(document)):
        rest = _without(document, errors)
        others = faults_of(Plan(rest, path.parent), catalogue, models) if rest else ()
        _refuse([*_form_faults(errors), *others])
    plan = Plan(msgspec.convert(document, MatchPlan), path.parent)
    check(plan, catalogue, models)
    return plan


def check(plan: Plan, catalogue: Catalogue, models: Models) -> None:
    """Check a well-formed plan; raises InvalidPlan with all errors."""
    if faults := list(faults_of(plan, catalogue, models)):
        _refuse(faults)


def plan_of_words(words: Iterable[str], game: str, count: int, seed: str) -> Plan:
    """The plan for command-line words, which also name the players."""
    seen: Counter[str] = Counter()
    players = []
    for word in words:
        seen[word] += 1
        name = word if seen[word] == 1 else f"{word}-{seen[word]}"
        players.append(PlannedPlayer(name=name, **_kind_of(word)))
    document = MatchPlan(name="match", seed=seed, games=[PlannedGames(game=game, n=count)], players=players)
    return Plan(document, Path())


def faults_of(plan: Plan, catalogue: Catalogue, models: Models) -> Iterator[str]:
    """The errors of a well-formed plan."""
    document = plan.document
    for game, times in Counter(plan.types).items():
        if times > 1:
            yield f"games: {game} is listed {times} times; list each game once"
    for name, times in Counter(player.name for player in document.players).items():
        if times > 1:
            yield f"players: {times} players are named {name!r}; names must be unique"
    for game in plan.types:
        if fault := policy_fault(game, document.fill):
            yield f"fill: {fault}"
    money = document.budget is not None and document.budget.money is not None
    for place, player in enumerate(document.players):
        for key, fault in _player_faults(plan, player, catalogue, models, money=money):
            yield f"players[{place}]{key}: {fault}"


def for_game(value: ByGame | None, game: str) -> str | None:
    return value.get(game) if isinstance(value, dict) else value


def sampling_of(sampling: PlannedSamplingSettings | None) -> SamplingParameters:
    """Sampling parameters as decimal strings."""
    if sampling is None:
        return SamplingParameters()
    return SamplingParameters(_decimal(sampling.temperature), _decimal(sampling.top_p), sampling.seed)


def _decimal(value: float | None) -> str | None:
    return None if value is None else decimal_text(Decimal(str(value)))


def _kind_of(word: str) -> dict[str, Any]:
    for kind in ("house", "model"):
        if word.startswith(f"{kind}:"):
            return {kind: word.removeprefix(f"{kind}:")}
    return {"url" if "://" in word else "python": word}


def _player_faults(
    plan: Plan, player: PlannedPlayer, catalogue: Catalogue, models: Models, *, money: bool
) -> Iterator[tuple[str, str]]:
    kinds = [kind for kind in _KINDS if getattr(player, kind) is not None]
    if len(kinds) != 1:
        yield "", f"has {' and '.join(kinds) or 'none'} of {', '.join(_KINDS)}; set exactly one"
        return
    if player.model is None:
        for key in ("prompt", "sampling"):
            if getattr(player, key) is not None:
                yield f".{key}", "applies to models only"
    if player.house is not None:
        yield from ((".house", fault) for fault in _house_faults(plan, player.house))
    elif player.python is not None:
        try:
            python_file(player.python, plan.base).make()
        except BotLoadError as error:
            yield ".python", str(error)
    elif player.url is not None:
        if not player.url.startswith(("http://", "https://")):
            yield ".url", f"{player.url!r} is not a URL; use one such as http://127.0.0.1:9000/turn"
    elif player.model is not None:
        yield from _model_faults(plan, player, catalogue, models, money=money)


def _house_faults(plan: Plan, house: ByGame) -> Iterator[str]:
    for game in plan.types:
        if fault := policy_fault(game, for_game(house, game) or MIXED):
            yield fault


def _model_faults(
    plan: Plan, player: PlannedPlayer, catalogue: Catalogue, models: Models, *, money: bool
) -> Iterator[tuple[str, str]]:
    alias = player.model or ""
    if models.get(alias) is None:
        yield ".model", f'no alias "{alias}"; choose from {", ".join(catalogue.aliases)}'
    elif money and alias in catalogue.models and not catalogue.models[alias].priced:
        yield ".model", f"{alias} has no prices, so budget.money cannot be enforced"
    try:
        plan.prompts(player)
    except InvalidPrompt as error:
        yield ".prompt", str(error)


def _without(document: dict[str, Any], errors: Iterable[ValidationError]) -> MatchPlan | None:
    """The document without its malformed parts, so that the rest is checked in the same pass; None if none is left."""
    rest = copy.deepcopy(document)
    for error in errors:
        place = list(error.absolute_path)
        if error.validator == "additionalProperties":
            for key in _at(document, place).keys() - {*_known(error)}:
                _delete(rest, [*place, key])
        elif error.validator != "required":
            _delete(rest, place)
    try:
        players = [{"name": f"player-{place}"} | player for place, player in enumerate(rest.get("players", ()))]
        games = [{"n": 1} | game for game in rest.get("games", ()) if "game" in game]
        return msgspec.convert({"name": "unnamed"} | rest | {"players": players, "games": games}, MatchPlan)
    except (TypeError, msgspec.ValidationError):
        return None


def _known(error: ValidationError) -> list[str]:
    return list(error.schema["properties"]) if isinstance(error.schema, dict) else []


def _at(document: Any, place: Iterable[str | int]) -> Any:
    for part in place:
        document = document[part]
    return document


def _delete(document: object, place: Sequence[str | int]) -> None:
    with suppress(KeyError, IndexError):  # its parent is already deleted
        held = _at(document, place[:-1])
        if place and isinstance(held, dict):
            held.pop(place[-1], None)


def _form_faults(errors: Iterable[ValidationError]) -> list[str]:
    """Schema errors of a document, each with its key."""
    faults = []
    for error in errors:
        best = best_match([error]) or error
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in best.absolute_path)
        where, fault = key.removeprefix("."), best.message
        if best.validator == "additionalProperties":
            fault = f"{fault.partition(' (')[2].rstrip(')') or fault}; allowed keys: {', '.join(_known(best))}"
        elif best.validator == "required":
            where, fault = f"{where}.{fault.split(chr(39))[1]}".removeprefix("."), "missing"
        faults.append(f"{where or 'the plan'}: {fault}")
    return sorted(faults)


def _refuse(faults: list[str]) -> NoReturn:
    raise InvalidPlan("\n".join(faults))


def known_games() -> list[str]:
    return sorted(policies())
