"""The OpenAPI document is true of forms: what a schema allows is not refused for its form, what it forbids is."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from playmolt_core.ops.connections import HEAD_BYTES

from tests.integration.gateway.rows import Guest, Json, Platform, accepted

FOR_ITS_FORM = {(400, "invalid_request"), (400, "invalid_action"), (422, "invalid_form")}
_TEXTS = [
    "", " ", "\u3164", "a", " a ", "a\nb", "a\u2028b", "a\u202eb", "a\x00b", "a\x1bb", "é" * 40, "é" * 41, "é" * 100,
    "é" * 101, "é" * 200, "é" * 201, "é" * 300, "é" * 301, "é" * 2000, "é" * 2001, "é" * 4001, "é" * 20_001,
]  # fmt: skip
VALUES: list[Any] = [
    *_TEXTS, None, True, 0, 1.5, [], {}, ["a"], ["a", "a"], [" "], [1], ["a", "b", "c"], [str(n) for n in range(101)],
]  # fmt: skip
QUERY_VALUES = [
    "", "%20", "abc", "0", "1", "-1", "1.5", "1e1", "1000", "1001", "9007199254740992", "9007199254740993", "true",
    "ox", "trial", "waiting", "%00", "a" * 40, "a" * 41, "a" * 64, "a" * 65, "eyJ", "%E3%85%A4",
]  # fmt: skip
_ANY_STRING: Json = {"type": "string", "maxLength": HEAD_BYTES}
BODIES: dict[str, Json] = {
    "RegisterRequest": {"name": "Ada", "version": "1", "about": "plays", "kind": "bot"},
    "UpdateMeRequest": {"version": "2", "about": "plays on"},
    "JoinRequest": {"gameType": "ox"},
    "ForfeitRequest": {"what": "no_idea", "kind": "bot"},
    "OpenSessionRequest": {
        "case_type": "civil", "jurisdiction": "KR", "title": "A lease", "language": "ko", "exclusions": ["none of it"],
        "side": "neutral",
    },
    "OpenJuryRequest": {"language": "en"},
    "ChatRequest": {"text": "Hello."},
    "NoteRequest": {"text": "Think again."},
    "PhaseRequest": {"to": "investigation"},
    "StopRequest": {"reason": "enough"},
    "EndRequest": {"reason": "enough"},
    "FactsRequest": {
        "overview": "A lease ended.", "acts": "Rent was not paid.", "opposing_claims": "It was.",
        "timeline": [{"when": "May", "what": "signed", "agreed": True}],
        "evidence": [{"title": "Lease", "description": "Two pages."}],
    },
}  # fmt: skip


def variants(body: Json) -> Iterator[Json]:
    """The body, each of its fields left out and with every value in its place, also inside of what it holds."""
    yield body
    yield {**body, "unknown": 1}
    for field, value in body.items():
        yield {name: kept for name, kept in body.items() if name != field}
        for other in VALUES:
            yield {**body, field: other}
        if isinstance(value, list) and isinstance(value[0], dict):
            for inner in variants(value[0]):
                yield {**body, field: [inner]}


class Judge:
    """Whether a body is one that the document allows, and whether the platform takes its form."""

    def __init__(self, document: Json) -> None:
        self.document = document

    def allows(self, schema: Json, value: Any) -> bool:
        return Draft202012Validator({**schema, "components": self.document["components"]}).is_valid(value)

    def body(self, method: str, path: str) -> Json:
        schema: Json = self.document["paths"][path][method.lower()]["requestBody"]["content"]["application/json"][
            "schema"
        ]
        return schema

    def query(self, path: str) -> Iterator[tuple[list[str], Json]]:
        """Parameters and their schemas. Those that may be any string are tried together: one request is enough."""
        free = []
        for parameter in self.document["paths"][path]["get"]["parameters"]:
            if parameter["in"] == "query" and parameter["schema"].get("maxLength") == HEAD_BYTES:
                free.append(parameter["name"])
            elif parameter["in"] == "query":
                yield [parameter["name"]], parameter["schema"]
        if free:
            yield free, _ANY_STRING


@pytest.fixture(scope="module")
def judge(shared_platform: Platform) -> Judge:
    return Judge(accepted(shared_platform.anonymous.get("/openapi.json")))


def differs(judge: Judge, schema: Json, body: Any, guest: Guest, method: str, path: str) -> str:
    answer = guest.ask(method, path, json=body)
    code = answer.json().get("code") if answer.content else ""
    refused = (answer.status_code, code) in FOR_ITS_FORM
    if refused is not judge.allows(schema, body):
        return ""
    return f"{body!r:.120}: {answer.status_code} {answer.json().get('errors') if refused else 'was taken'}"


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("POST /api/agents", "RegisterRequest"),
        ("PATCH /api/agents/me", "UpdateMeRequest"),
        ("POST /api/games/join", "JoinRequest"),
        ("POST /api/sessions", "OpenSessionRequest"),
        ("POST /api/jury/sessions", "OpenJuryRequest"),
    ],
)
def test_bodies(platform: Platform, judge: Judge, template: str, name: str) -> None:
    method, _, path = template.partition(" ")
    schema, guest = judge.body(method, path), platform.guest()
    found = [differs(judge, schema, body, guest, method, path) for body in variants(BODIES[name])]
    assert len(found) > len(VALUES)
    assert [line for line in found if line] == []


def test_what_excludes_one_another(platform: Platform, judge: Judge) -> None:
    schema = judge.body("POST", "/api/agents")
    for kind in ("bot", "person"):
        assert not differs(
            judge, schema, {"name": "a", "model": "m", "kind": kind}, platform.anonymous, "POST", "/api/agents"
        )
    assert judge.allows(schema, {"name": "a", "model": "m", "kind": "house"})
    talk = judge.body("POST", "/api/jury/sessions/{id}/witnesses/{witness_id}/talk")
    assert not judge.allows(talk, {"choice": "a", "evidence_id": "b"})
    change = judge.body("POST", "/api/sessions/{id}/facts/{fid}")
    assert [judge.allows(change, {"action": action, "text": "so"}) for action in ("correct", "dispute")] == [
        True,
        False,
    ]
    assert not judge.allows(change, {"action": "correct"})


def test_facts(platform: Platform, judge: Judge) -> None:
    """A session takes its facts once, so each of the bodies that it may take has one of its own."""
    path = "/api/sessions/{id}/facts"
    schema, guest = judge.body("POST", path), platform.guest()
    session = ""
    for body in ({}, *variants(BODIES["FactsRequest"])):
        if not session:
            opened = guest.post("/api/sessions", {**BODIES["OpenSessionRequest"], "title": "One of many"})
            session = accepted(opened, 201)["id"]
        allowed = judge.allows(schema, body)
        assert not differs(judge, schema, body, guest, "POST", path.replace("{id}", session))
        session = "" if allowed else session


@pytest.mark.parametrize(("game", "action"), [
    ("ox", {"type": "first_choice", "choice": "O", "comment": "because"}),
    ("trial", {"type": "speak", "text": "words"}),
])  # fmt: skip
def test_actions(platform: Platform, judge: Judge, game: Any, action: Json) -> None:
    path = "/api/games/{id}/actions"
    schema = judge.body("POST", path)
    table, seats = None, []
    for body in variants(action):
        if not seats:
            table, _ = platform.private_table(game, deadline_seconds=0)
            seats = list(table)[:-1]  # the last one never acts, so that the phase lasts
        assert table is not None
        seat = seats[-1]
        assert not differs(judge, schema, body, seat, "POST", path.replace("{id}", table.game_id))
        if judge.allows(schema, body):
            seats.pop()


def typed(schema: Json, text: str) -> Any:
    kind = schema.get("type")
    if kind == "integer" and re.fullmatch("-?[0-9]+", text):
        return int(text)
    if kind == "number" and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[0-9]+)?", text):
        return float(text)
    return {"true": True, "false": False}.get(text, text) if kind == "boolean" else text


def test_query_values(platform: Platform, judge: Judge) -> None:
    platform.clear()
    table = platform.table("ox")
    found, tried = [], 0
    for template, methods in judge.document["paths"].items():
        if "get" not in methods or template.endswith("/stream") or re.search(r"\{(?!id)", template):
            continue
        guest = platform.operator if methods["get"]["security"] == [{"operator": []}] else table[0]
        for names, schema in judge.query(template):
            for text in QUERY_VALUES:
                if names == ["wait"] and text not in ("", "%20", "abc", "0", "-1"):
                    continue
                if (template, names, text) == ("/api/admin/log", ["after"], "1.5"):
                    continue  # a place in a log of two shards: how many this one has is no part of the schema
                query = "&".join(f"{name}={text}" for name in names)
                answer = guest.get(f"{template.replace('{id}', table.game_id)}?{query}")
                value = typed(schema, {"%20": " ", "%00": "\0", "%E3%85%A4": "\u3164"}.get(text, text))
                refused = answer.status_code == 400
                tried += 1
                if refused is judge.allows(schema, value):
                    found.append(f"{template}?{query}: {answer.status_code}")
    assert tried > 300
    assert found == []
