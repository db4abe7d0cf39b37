"""The AsyncAPI document: well formed, and true of the subjects, rights, headers and paths that the services use."""

import inspect
import json
import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from nats.micro.service import ServicePing
from playmolt_cli.games import deciders
from playmolt_cli.local.embedded import nats as server
from playmolt_core.bus import batches
from playmolt_core.bus.service import Presence
from playmolt_core.relay.feeds import feeds, public_form
from playmolt_gateway.access.auth import hash_of
from playmolt_schemas import subjects
from playmolt_schemas.export.asyncapi import document
from playmolt_schemas.export.channels import CHANNELS, PARAMETERS, PUBLIC, address
from playmolt_schemas.export.json_schemas import references
from playmolt_schemas.export.operations import OPERATIONS
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_spectator import frames, watcher
from playmolt_spectator.http import Connection

STORED = {game: rules.events for game, rules in deciders().items()}
DOCUMENT: dict[str, Any] = json.loads(json.dumps(document(STORED)))
FOLDER = Path(__file__).parents[1]
ADDRESSES = {channel.name: channel.address for channel in CHANNELS}
ASKERS = {operation.channel: operation.service for operation in OPERATIONS if operation.action == "send"}


def objects(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


def maps(value: dict[str, Any], names: str = r"^[A-Za-z0-9._-]+$") -> dict[str, Any]:
    return {"type": "object", "patternProperties": {names: value}, "additionalProperties": False, "minProperties": 1}


TEXT = {"type": "string", "minLength": 1}
REF = objects("$ref", **{"$ref": TEXT})
REFS = {"type": "array", "items": REF, "minItems": 1}
PAYLOAD = {
    "if": {"required": ["schemaFormat"]},
    "then": objects("schemaFormat", "schema", schemaFormat=TEXT, schema={}),
}
MESSAGE = objects(
    "name", "contentType", "payload", name=TEXT, contentType=TEXT, summary=TEXT, headers=REF, payload=PAYLOAD
)
CHANNEL = objects(
    "address", "messages", "servers",
    address={"type": ["string", "null"], "minLength": 1}, description=TEXT, servers=REFS, messages=maps(MESSAGE),
    parameters=maps(objects("description", "examples", description=TEXT, examples={"type": "array", "minItems": 1})),
    bindings=objects("ws", ws=objects("method", "bindingVersion", method=TEXT, query={}, bindingVersion=TEXT)),
    **{"x-jetstream-stream": TEXT},
)  # fmt: skip
OPERATION = objects(
    "action", "channel", "summary", "tags",
    action={"enum": ["send", "receive"]}, channel=REF, summary=TEXT, description=TEXT,
    tags={"type": "array", "items": objects("name", name=TEXT)},
    reply=objects("channel", "messages", channel=REF, messages=REFS),
    bindings=objects("http", http=objects("method", "bindingVersion", method=TEXT, query={}, bindingVersion=TEXT)),
)  # fmt: skip
SERVER = objects(
    "host", "protocol",
    host=TEXT, protocol={"enum": ["nats", "ws", "http"]}, description=TEXT, security=REFS,
    variables=maps(objects("description", description=TEXT)),
)  # fmt: skip
STRUCTURE = objects(
    "asyncapi", "info", "servers", "channels", "operations", "components",
    asyncapi={"const": "3.0.0"}, info=objects("title", "version", title=TEXT, version=TEXT, description=TEXT),
    defaultContentType=TEXT, servers=maps(SERVER), channels=maps(CHANNEL), operations=maps(OPERATION),
    components=objects("schemas", "securitySchemes", schemas=maps({"type": "object"}), securitySchemes=maps({})),
)  # fmt: skip


def found(reference: str) -> Any:
    """Follow a reference inside the document, or to a schema beside it; KeyError, OSError when it leads nowhere."""
    if not reference.startswith("#/"):
        file, _, name = reference.partition("#/$defs/")
        return json.loads((FOLDER / file).read_text(encoding="utf-8"))["$defs"][name]
    return reduce(lambda part, name: part[name], reference[2:].split("/"), DOCUMENT)


def test_it_has_the_structure_of_asyncapi_3() -> None:
    Draft202012Validator.check_schema(STRUCTURE)
    Draft202012Validator(STRUCTURE).validate(DOCUMENT)


def test_every_reference_leads_somewhere() -> None:
    followed = [found(reference) for reference in references(DOCUMENT)]
    assert len(followed) > 100


def test_an_operation_names_messages_of_its_own_channels_only() -> None:
    for operation in DOCUMENT["operations"].values():
        if reply := operation.get("reply"):
            assert all(ref["$ref"].startswith(f"{reply['channel']['$ref']}/messages/") for ref in reply["messages"])


def test_every_part_is_used() -> None:
    used = set(references(DOCUMENT))
    assert {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]} <= used
    assert {f"#/channels/{name}" for name in DOCUMENT["channels"]} <= used
    assert {f"#/servers/{name}" for name in DOCUMENT["servers"]} <= used


FUNCTIONS = [
    kind for _, kind in inspect.getmembers(subjects, inspect.isfunction) if kind.__module__ == subjects.__name__
]


@pytest.mark.parametrize("subject", FUNCTIONS, ids=lambda subject: subject.__name__)
def test_every_subject_function_is_a_channel(subject: Callable[..., str]) -> None:
    assert address(subject) in ADDRESSES.values()


def test_every_subject_constant_is_a_channel_a_stream_or_a_header() -> None:
    constants = {text for name, text in vars(subjects).items() if name.isupper() and isinstance(text, str)}
    streams = {channel.stream for channel in CHANNELS}
    headers = {name for kind in DOCUMENT["components"]["schemas"].values() for name in kind.get("properties", ())}
    assert constants <= {*ADDRESSES.values()} | streams | headers
    assert len(constants) >= 6


def test_an_address_and_its_parameters_agree() -> None:
    for name, channel in DOCUMENT["channels"].items():
        named = re.findall(r"{(\w+)}", channel["address"] or "")
        assert named == list(channel.get("parameters", ())), name
        assert set(named) <= PARAMETERS.keys()


def test_channels_say_which_stream_keeps_them() -> None:
    for feed in feeds(0, 1, public_form):
        kept = {channel.address for channel in CHANNELS if channel.stream == feed.stream}
        assert kept == {a for a in ADDRESSES.values() if a and any(a.startswith(s[:-1]) for s in feed.subjects)}


def filled(channel: str, game: str, **known: str) -> str:
    parts = {name: examples[0] for name, (_, examples) in PARAMETERS.items()} | {"game": game, **known}
    return str(ADDRESSES[channel]).format(**parts)


def allows(patterns: list[str], subject: str) -> bool:
    """Whether NATS lets a subject through: `*` is one token, `>` one or more."""

    def one(pattern: str) -> bool:
        text = re.escape(pattern).replace(r"\*", r"[^.]+")
        return re.fullmatch(text.replace(">", ".+"), subject) is not None

    return any(map(one, patterns))


def rights(user: str) -> dict[str, Any]:
    (found,) = (entry for entry in server.users(lambda _: "") if entry["user"] == user)
    return dict(found["permissions"])


ON_NATS = [
    operation
    for operation in OPERATIONS
    if DOCUMENT["channels"][operation.channel]["servers"][0]["$ref"].endswith("/nats")
]


@pytest.mark.parametrize("game", GAME_TYPES)
def test_a_service_may_do_what_the_document_says_it_does(game: str) -> None:
    for operation in ON_NATS:
        user = f"{game}-engine" if operation.service == "engine" else operation.service
        may = rights(user)
        verb = "publish" if operation.action == "send" else "subscribe"
        assert allows(may[verb]["allow"], filled(operation.channel, game, service=user)), operation
        if operation.action == "receive" and operation.reply == ("answers",):
            asker = server.inbox(ASKERS[operation.channel]).replace(">", f"{user}.x")
            assert allows(may["publish"]["allow"], asker), operation


def test_who_has_no_part_in_a_channel_has_no_right_to_it() -> None:
    spectator = rights("spectator")
    mine = {operation.channel for operation in ON_NATS if operation.service == "spectator"}
    for channel in {operation.channel for operation in ON_NATS} - mine:
        assert not allows(spectator["publish"]["allow"], filled(channel, "ox")), channel
        assert not allows(spectator["subscribe"]["allow"], filled(channel, "ox")), channel


def payload(channel: str, name: str) -> Draft202012Validator:
    said = DOCUMENT["channels"][channel]["messages"][name]["payload"]
    return Draft202012Validator(said | {"components": DOCUMENT["components"]})


def test_headers_are_those_that_the_relay_sends() -> None:
    for channel, name in (("events", "ox.game_end.1"), ("spectate", "ox.OxEndMessage"), ("sealed", "sealed")):
        named = {
            subjects.CLOSES_HEADER: "1",
            subjects.INVITE_HEADER: "f" * 64,
            subjects.TRACE_HEADER: f"00-{'a' * 32}-{'b' * 16}-01",
        }
        own = named if channel == "spectate" else {}
        wire = batches._commands([batches.StreamMessage("s", b"", own)] * 2, 7, "inbox", "batch").decode()
        sent = dict(line.split(": ") for line in wire.split("\r\n") if ": " in line)
        headers = found(DOCUMENT["channels"][channel]["messages"][name]["headers"]["$ref"])
        assert sent.keys() == headers["properties"].keys()
        assert Draft202012Validator(headers).is_valid(sent)
        assert not Draft202012Validator(headers).is_valid(sent | {batches._BATCH_COMMIT: "0"})


def test_a_record_of_each_stored_type_is_tied_to_the_schema_of_its_data() -> None:
    messages = DOCUMENT["channels"]["events"]["messages"]
    assert set(messages) == {f"{game}.{kind}.{n}" for game, kinds in STORED.items() for kind, n in kinds}
    for message in messages.values():
        _, bound = message["payload"]["allOf"]
        kind, number = (bound["properties"][field]["const"] for field in ("type", "schema_version"))
        data = found(bound["properties"]["data"]["$ref"])
        assert message["name"].split(".")[1:] == [kind, str(number)]
        assert bound["properties"]["data"]["$ref"].endswith(f"/{message['name'].replace('.', '.json#/$defs/', 1)}")
        assert data["description"]


def test_every_public_message_travels_on_every_feed_of_games() -> None:
    for channel in ("spectate", "game_socket", "game_events", "stream_events"):
        kinds = {name.rpartition(".")[2] for name in DOCUMENT["channels"][channel]["messages"]} - {"Heartbeat"}
        notice = "StoredModerated" if channel == "spectate" else "Moderated"
        assert kinds == {kind.__name__ for kind in PUBLIC} | {notice}


def test_a_heartbeat_is_the_one_that_the_spectator_sends() -> None:
    frame = frames.WEBSOCKET.heartbeat(12)
    assert payload("game_socket", "wire.Heartbeat").is_valid(json.loads(frame[2 : 2 + frame[1]]))
    assert not payload("game_socket", "wire.Heartbeat").is_valid({"type": "heartbeat"})


def test_answers_between_services_have_the_described_form() -> None:
    ping = ServicePing(name="relay", id="x", version="1.0.0", metadata={})
    assert payload("inbox", "wire.Presence").is_valid(ping.to_dict())
    here = msgspec.to_builtins(Presence(name="relay", id="x", version="1.0.0", metadata={"feeds": "moving"}))
    assert payload("announced", "wire.Announcement").is_valid(here)
    assert payload("keys_revoked", "key_hash").is_valid(hash_of("a key"))
    assert not payload("keys_revoked", "key_hash").is_valid("a key")
    assert payload("committed", "committed").is_valid("")
    assert not payload("committed", "committed").is_valid("something")


@pytest.mark.parametrize(
    "channel", [channel for channel in CHANNELS if channel.server.startswith("spectator")], ids=lambda c: c.name
)
def test_the_spectator_answers_on_the_paths_of_the_document(channel: Any) -> None:
    kind = "ws" if channel.server.endswith("ws") else "sse"
    identifier = "ox-1" if "{id}" in channel.address else ""
    assert Connection._feed(channel.address.format(id=identifier)) == (kind, identifier)
    assert Connection._feed(channel.address + "/more") == (None, "")


def test_close_codes_are_those_of_the_spectator() -> None:
    told = DOCUMENT["channels"]["game_socket"]["description"]
    codes = {watcher.NORMAL, watcher.GOING_AWAY, watcher.FAILED, watcher.BAD_REQUEST, watcher.SLOW}
    assert {int(code) for code in re.findall(r"\b[14]\d{3}\b", told.partition("Close codes")[2])} == codes
