"""A game's state at a version, and its picture, for the head of a page and for images."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from playmolt_schemas.codes import Code, code_in
from playmolt_schemas.identifiers import RUN_TYPES, WATCHED_TYPES, type_of
from playmolt_schemas.registry import games
from playmolt_schemas.skill import PageLanguage, language_named, page_texts
from playmolt_schemas.text import WITHHELD

from playmolt_gateway.access.invites import invite_hash
from playmolt_gateway.pictures.picture_store import name_of
from playmolt_gateway.pictures.scene import Drawing, Picture, PictureTexts, Sheet
from playmolt_gateway.ports import UNAVAILABLE_ERRORS, GatewayBus

SECONDS: Final = 2.0
"""Deadline for an engine; after it the page is sent without the state."""
_ACCEPTED: Final = re.compile(r"([A-Za-z0-9*-]+)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?))?\s*(?:,|$)")
_NUMBER: Final = re.compile(r"[0-9]{1,15}", re.ASCII)
State = Mapping[str, Any]
_encode, _decode = msgspec.json.encode, msgspec.json.decode


def version_in(text: str | None) -> int | None:
    """The version in a query value; None if it is missing or invalid."""
    return int(text) if text and _NUMBER.fullmatch(text) and int(text) > 0 else None


def language_of(asked: str | None, accepted: str) -> PageLanguage:
    """The language of the URL, or the supported one that the browser prefers."""
    return next(filter(None, map(language_named, (asked, *_preferred(accepted)))), "en")


def _preferred(accepted: str) -> list[str]:
    """The languages of an Accept-Language header by their weights, which browsers write in falling order anyway."""
    weighed = [(float(found[2] or 1), found[1]) for found in _ACCEPTED.finditer(accepted)]
    return [name for weight, name in sorted(weighed, key=lambda pair: -pair[0]) if weight]


async def state_of(
    bus: GatewayBus, game_id: str, at: int | None = None, seat: str = "", invite: str | None = None
) -> State | None:
    """A game's state at a version or now; None if it does not exist. Raises UNAVAILABLE_ERRORS."""
    game = type_of(game_id)
    if game not in WATCHED_TYPES:
        return None
    body: dict[str, Any] = {}
    if at is not None:
        body["at"] = at
    if seat:
        body["seat"] = seat
    answer = await bus.submit(
        game, "state", game_id, _encode(body), agent="", deadline=SECONDS, invite=invite_hash(invite)
    )
    if answer.status == 404 and at is not None:
        return await state_of(bus, game_id, None, seat, invite)
    if answer.status == 503:
        raise ConnectionError("the engine is unavailable")
    if answer.status != 200:
        return None
    found: dict[str, Any] = _decode(answer.body)
    if game in RUN_TYPES:
        found["name"] = await _experiment_name(bus, found["experiment"])
    return found


async def is_archived(bus: GatewayBus, game_id: str) -> bool:
    """Whether a game without a state was archived. Raises UNAVAILABLE_ERRORS."""
    game = type_of(game_id)
    if game not in WATCHED_TYPES:
        return False
    answer = await bus.submit(game, "state", game_id, b"{}", agent="", deadline=SECONDS)
    return answer.status == Code.ARCHIVED.status and code_in(answer.body) == Code.ARCHIVED.wire


async def _experiment_name(bus: GatewayBus, experiment: str) -> str:
    """The name of a run's experiment, or its id while the engine is unavailable."""
    body: dict[str, Any] = {"route": "agora_read", "params": {}, "query": {}, "body": None}
    try:
        answer = await bus.submit(
            experiment.partition("-")[0], "query", experiment, _encode(body), operator=True, deadline=SECONDS
        )
    except UNAVAILABLE_ERRORS:
        return experiment
    return str(_decode(answer.body)["name"]) if answer.status == 200 else experiment


async def state_if_there(
    bus: GatewayBus, game_id: str, at: int | None = None, invite: str | None = None
) -> State | None:
    """Like `state_of`, but None while the engine is unavailable."""
    try:
        return await state_of(bus, game_id, at, invite=invite)
    except UNAVAILABLE_ERRORS:
        return None


def drawn(state: State, language: PageLanguage, sheet: Sheet) -> Picture | None:
    """The picture of a state; None if its game has none."""
    module = games().get(state["gameType"])
    if module is None or module.drawing is None:
        return None
    draw: Drawing = module.drawing.load()
    words = PictureTexts(page_texts(language))
    shown = _worded(state, words.text("withheld")) if moderation_of(state) else state
    return msgspec.structs.replace(draw(people_marked(shown, words), words, sheet), language=language)


def moderation_of(state: State) -> str:
    """Identifies what moderation changed in a state, for addresses of its pictures: caches keep those. "": nothing."""
    text = _encode({name: value for name, value in state.items() if name != "seconds_left"}, order="deterministic")
    renamed = any(seat["name"] == seat.get("handle") for seat in state.get("participants") or ())
    return name_of(text)[:12] if renamed or _encode(WITHHELD) in text else ""


def _worded(value: Any, word: str) -> Any:
    """A JSON value with the reader's word for what is withheld."""
    match value:
        case dict():
            return {name: _worded(inner, word) for name, inner in value.items()}
        case list():
            return [_worded(inner, word) for inner in value]
    return word if value == WITHHELD else value


def people_marked(state: State, words: PictureTexts) -> State:
    """A state in which the name of each person says so: pictures of every game distinguish people and bots."""
    seats = state.get("participants") or ()
    people = {
        seat["id"]: words.text("person.named", name=seat["name"]) for seat in seats if seat.get("kind") == "person"
    }
    return _renamed(state, people) if people else state


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        name = names.get(value.get("agent_id") or value.get("id") or "")
        cleared = {key: _renamed(one, names) for key, one in value.items()}
        return cleared | {"name": name} if name and "name" in value else cleared
    return [_renamed(one, names) for one in value] if isinstance(value, list) else value
