"""What a page shows of a game before the browser asks anything: its state at a moment, and its picture."""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from playmolt_schemas.identifiers import RUN_TYPES, WATCHED_TYPES, type_of
from playmolt_schemas.registry import games
from playmolt_schemas.skill import PAGE_LANGUAGES, PageLanguage, page_texts

from playmolt_gateway.access.invites import invite_hash
from playmolt_gateway.pictures.scene import Drawing, Picture, Sheet, Words
from playmolt_gateway.ports import AWAY, GatewayBus

SECONDS: Final = 2.0
"""A page is sent without what its engine does not tell in this time."""
_NUMBER: Final = re.compile(r"[0-9]{1,15}", re.ASCII)
State = Mapping[str, Any]
_encode, _decode = msgspec.json.encode, msgspec.json.decode


def moment_of(text: str | None) -> int | None:
    """The moment that an address names; None for none, or for what is no moment of any game."""
    return int(text) if text and _NUMBER.fullmatch(text) and int(text) > 0 else None


def language_of(asked: str | None, accepted: str) -> PageLanguage:
    """The language of an address, else the first of the browser's that the pages have."""
    wanted = [asked or "", *(part.split(";")[0].strip()[:2].lower() for part in accepted.split(","))]
    return next((code for name in wanted for code in PAGE_LANGUAGES if code == name), "en")


async def state_of(
    bus: GatewayBus, game_id: str, at: int | None = None, seat: str = "", invite: str | None = None
) -> State | None:
    """A game's state at a moment, or at its last one; None when there is no such game. Raises what AWAY names."""
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
        raise ConnectionError("no engine answers")
    if answer.status != 200:
        return None
    found: dict[str, Any] = _decode(answer.body)
    if game in RUN_TYPES:
        found["name"] = await _experiment_name(bus, found["experiment"])
    return found


async def _experiment_name(bus: GatewayBus, experiment: str) -> str:
    """What a run's experiment is called; its id while nobody tells."""
    body: dict[str, Any] = {"route": "agora_read", "params": {}, "query": {}, "body": None}
    try:
        answer = await bus.submit(
            experiment.partition("-")[0], "query", experiment, _encode(body), operator=True, deadline=SECONDS
        )
    except AWAY:
        return experiment
    return str(_decode(answer.body)["name"]) if answer.status == 200 else experiment


async def state_if_there(
    bus: GatewayBus, game_id: str, at: int | None = None, invite: str | None = None
) -> State | None:
    """As `state_of`; None also while nobody answers."""
    try:
        return await state_of(bus, game_id, at, invite=invite)
    except AWAY:
        return None


def drawn(state: State, language: PageLanguage, sheet: Sheet) -> Picture | None:
    """The picture of a state; None when its game draws none."""
    module = games().get(state["gameType"])
    if module is None or module.drawing is None:
        return None
    draw: Drawing = module.drawing.load()
    return draw(state, Words(page_texts(language)), sheet)
