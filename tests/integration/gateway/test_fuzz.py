"""Every route of the OpenAPI document under random input: no 500, every answer as the document says."""

import json
import random
from typing import Any
from urllib.parse import quote

import pytest
from playmolt_gateway.pages.assets import version_of_all

from tests.integration.contract import Contract
from tests.integration.gateway.rows import Guest, Json, Platform, Table, accepted, unknown_game

ROUNDS = 8
_ASSETS = f"/assets/{version_of_all()}"
PATHS = {
    "/assets/{version}/{file}": f"{_ASSETS}/lobby.js",
    "/assets/{version}/{folder}/{file}": f"{_ASSETS}/watch/page.js",
    "/assets/{version}/games/{game}/{file}": f"{_ASSETS}/games/ox/watch.js",
    "/watch/{id}/{picture}": "/watch/{id}/picture.png",
    "/api/games/types/{type}": "/api/games/types/trial",
    "/oembed": "/oembed?url=http%3A%2F%2F127.0.0.1%2Fwatch%2F{id}",
}
"""What there is behind routes that name more than a game."""
_WORDS: list[Any] = [
    None, True, False, 0, 1, -1, 3.5, 1e300, -0.0, 2**53, 2**64, 10**30, "", " ", "O", "X", "ox", "trial", "speak",
    "vote", "switch", "first_choice", "GUILTY", "\x00", "\ud800", "é" * 300, "\u202e", "[{" * 99, "1", "true", [], {},
]  # fmt: skip
_NAMES = ["name", "type", "text", "choice", "comment", "use_switch", "verdict", "gameType", "reason", "", "\ud800", "x"]
_QUERIES = [
    "", "0", "1", "-1", "5", "1000", "1001", "99999999999999999999", "9007199254740993", "1.5", "1e5", "nan", "inf",
    "true", "ox", "trial", "waiting", "end", "%00", "%ff", "%ED%A0%80", "a b", "'\";--", "∞", "１", "+1", "junk",
]  # fmt: skip


def any_value(chance: random.Random, depth: int = 0) -> Any:
    match chance.randrange(6 if depth < 4 else 4):
        case 4:
            return [any_value(chance, depth + 1) for _ in range(chance.randrange(4))]
        case 5:
            return {chance.choice(_NAMES): any_value(chance, depth + 1) for _ in range(chance.randrange(5))}
        case _:
            return chance.choice(_WORDS)


def any_body(chance: random.Random) -> bytes:
    likely = {"type": chance.choice(_WORDS), **any_object(chance)}
    raw = json.dumps(likely if chance.random() < 0.7 else any_value(chance)).encode()
    match chance.randrange(8):
        case 0:
            return raw[: chance.randrange(len(raw) + 1)]
        case 1:
            place = chance.randrange(len(raw) + 1)
            return raw[:place] + bytes([chance.randrange(256)]) + raw[place:]
        case 2:
            return b"[" * chance.randrange(3000) + raw
        case _:
            return raw


def any_object(chance: random.Random) -> dict[str, Any]:
    return {chance.choice(_NAMES): any_value(chance, 1) for _ in range(chance.randrange(4))}


@pytest.fixture(scope="module")
def contract(shared_platform: Platform) -> Contract:
    return Contract(accepted(shared_platform.anonymous.get("/openapi.json")))


class Stage:
    """Games in all conditions, and everybody who may ask for them."""

    def __init__(self, platform: Platform) -> None:
        platform.clear()
        self.ended = platform.table("ox")
        self.ended.ox(*["OOOOX"] * 5)
        self.running = platform.table("ox")
        self.trial = platform.table("trial")
        waiting = platform.guest()
        self.games = [
            self.ended.game_id, self.running.game_id, self.trial.game_id, waiting.join("trial"), unknown_game(), "nope",
        ]  # fmt: skip
        self.guests = [
            self.ended[0], self.running[0], self.trial[0], waiting, platform.anonymous, platform.operator,
            Guest(platform.http, "pm_wrong"),
        ]  # fmt: skip

    def path(self, template: str, chance: random.Random) -> str:
        types = ["ox", "trial", "chess", "%2e%2e"]
        if template.startswith("/skills"):
            types.append("..%2fllms")  # elsewhere it is a path of no route
        return template.replace("{id}", chance.choice(self.games)).replace("{game}", chance.choice(types))


@pytest.fixture(scope="module")
def stage(shared_platform: Platform) -> Stage:
    return Stage(shared_platform)


def query_of(operation: Json, chance: random.Random) -> str:
    names = [p["name"] for p in operation["parameters"] if p["in"] == "query"]
    wanted = [*names, "x"] if chance.random() < 0.1 else names
    # A wait is asked for with values that are refused or short: the fuzz must not sit still.
    chosen = [name for name in wanted if chance.random() < 0.4]
    pairs = [(name, chance.choice(["0", "0.01", "-1", "junk"] if name == "wait" else _QUERIES)) for name in chosen]
    return "&".join(f"{name}={value if '%' in value else quote(value)}" for name, value in pairs)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_no_input_breaks_a_route(platform: Platform, contract: Contract, stage: Stage, seed: int) -> None:
    chance = random.Random(seed)
    for method, template, operation in contract.operations():
        if template.endswith("/stream"):
            continue
        guest = chance.choice(stage.guests)
        if template == "/api/agents/me/keys" or (template.endswith("/end") and chance.random() < 0.9):
            guest = platform.anonymous
        path = stage.path(template, chance)
        if query := query_of(operation, chance):
            path += f"?{query}"
        headers = {"Idempotency-Key": chance.choice(["k", f"k{seed}", "a b"])} if chance.random() < 0.3 else {}
        body = {"content": any_body(chance)} if method == "POST" else {}
        contract.judge(operation, guest.ask(method, path, headers=headers, **body))


def test_good_answers_fit_the_document(platform: Platform, contract: Contract, stage: Stage) -> None:
    """Every 2xx there is, once, by those who are meant to ask. Sessions have tests of their own, held to it as well."""
    player = stage.ended[0]
    assert (
        player.ask("PUT", "/api/agents/me/callback", content=b'{"url":"http://127.0.0.1:9/turns"}').status_code == 200
    )
    owner = Guest(platform.http, accepted(platform.anonymous.post("/api/owners", {"name": "Ada"}), 201)["owner_key"])
    webhook = owner.ask("PUT", "/api/owners/me/webhook", content=b'{"url":"http://127.0.0.1:9/","events":["turn"]}')
    assert webhook.status_code == 200
    seen = set()
    reads = [
        (template, operation)
        for method, template, operation in contract.operations()
        if method == "GET"
        and not template.startswith(("/shared/", "/api/files/", "/auth/", "/datasets/", "/.well-known/"))
        and ("{id}" not in template or template.startswith(("/api/games/", "/watch/")))
    ]
    for template, operation in reads:
        theirs = operation["security"] == [{"operator": []}] or template.startswith("/api/house/")
        guest = owner if {"owner": []} in operation["security"] else platform.operator if theirs else player
        for game in stage.games[:4] if "{id}" in template else [""]:
            path = PATHS.get(template, template).replace("{id}", game or stage.ended.game_id).replace("{game}", "ox")
            if template.endswith("/stream") and game != stage.ended.game_id:
                continue
            answer = guest.get(path)
            contract.judge(operation, answer)
            seen.add((template, answer.status_code))
    assert {template for template, status in seen if status in (200, 204)} == {template for template, _ in reads}


def test_every_step_of_a_game_fits_the_document(platform: Platform, contract: Contract) -> None:
    operations = {operation["operationId"]: operation for _, _, operation in contract.operations()}
    platform.clear()
    table: Table = platform.table("trial")

    def look(guest: Guest) -> None:
        contract.judge(operations["read_state"], guest.get(f"/api/games/{table.game_id}/state"))
        contract.judge(operations["wait_for_turn"], guest.get("/api/agents/me/turn"))

    for phase in range(4):
        for guest in table:
            answer = guest.act(table.game_id, {"type": "speak", "text": f"words {phase}"})
            contract.judge(operations["act"], answer)
            look(guest)
    for role in ("PROSECUTOR", "DEFENSE"):
        table.does(table.role(role)[0], {"type": "speak", "text": "rebuttal"})
    for juror in table.role("JUROR"):
        contract.judge(operations["act"], juror.act(table.game_id, {"type": "vote", "verdict": "GUILTY"}))
        look(juror)
    table.does(table.role("JUDGE")[0], {"type": "speak", "text": "guilty"})
    look(table[0])
    for name in ("read_events", "stream_events", "read_log"):
        path = f"/api/games/{table.game_id}/{name.partition('_')[2] if name != 'stream_events' else 'stream'}"
        contract.judge(operations[name], table.role("JUROR")[0].get(path))
