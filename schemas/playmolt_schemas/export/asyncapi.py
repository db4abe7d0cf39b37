"""The AsyncAPI 3.0 document of all NATS subjects and feeds, generated from the subjects and types of the code."""

import inspect
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Final

from playmolt_schemas.export.channels import CHANNELS, MSGPACK, PARAMETERS, Channel, Message, parameters
from playmolt_schemas.export.files import json_file
from playmolt_schemas.export.json_schemas import FOLDER, Stored, bundles, components, stored_place
from playmolt_schemas.export.operations import OPERATIONS, Operation
from playmolt_schemas.limits import HEARTBEAT_SECONDS
from playmolt_schemas.routes.route import StreamQuery

FILE: Final = "schemas/asyncapi.json"

_DIALECT: Final = "application/schema+json;version=draft-2020-12"
_INFO: Final = {
    "title": "PlayMolt",
    "version": "1",
    "description": (
        "All messages between services over NATS, and the feeds for readers. The event log in Postgres is the source "
        "of truth; the streams are copies that are filled after each commit. JetStream's own API is not described. "
        "Operations are named SERVICE.ACTION.CHANNEL, from the perspective of the service. "
        f"Feeds send a heartbeat after {HEARTBEAT_SECONDS} s without a message."
    ),
}
_SERVERS: Final = {
    "nats": {
        "host": "{nats}",
        "protocol": "nats",
        "description": "Each service has its own NATS user, which may access only its own subjects.",
        "variables": {"nats": {"description": "Host and port of NATS_URL."}},
    },
    "spectator_ws": {
        "host": "{spectator}",
        "protocol": "ws",
        "variables": {"spectator": {"description": "Host and PLAYMOLT_SPECTATOR_PORT."}},
    },
    "spectator_http": {
        "host": "{spectator}",
        "protocol": "http",
        "variables": {"spectator": {"description": "Host and PLAYMOLT_SPECTATOR_PORT."}},
    },
    "gateway": {
        "host": "{gateway}",
        "protocol": "http",
        "variables": {"gateway": {"description": "Host and PLAYMOLT_PORT."}},
        "security": [{"$ref": "#/components/securitySchemes/agent"}],
    },
}
_EVENTS: Final = "events"
_LAST_EVENT_ID: Final = "The Last-Event-ID header overrides `after`."


class _Schemas:
    """The schemas of all messages, by name."""

    def __init__(self) -> None:
        kinds = [kind for channel in CHANNELS for message in channel.messages for kind in _kinds(message)]
        self._kinds = list(dict.fromkeys([*kinds, StreamQuery]))
        self._schemas, named = components(self._kinds, "#/components/schemas/{name}")
        self._packed = {name: named.pop(name) for name in tuple(named) if "prefixItems" in named[name]}
        self.components: dict[str, Any] = dict(sorted(named.items()))
        query = self.components.pop(StreamQuery.__name__)
        self.query = {"type": "object", "properties": query["properties"]}

    def of(self, message: Message) -> dict[str, Any]:
        """The schema of the payload. Batches are inlined, because MessagePack arrays need a newer schema dialect."""
        schema = self._schemas[self._kinds.index(message.payload)]
        if message.content_type != MSGPACK:
            return schema
        item = self._packed[schema["items"]["$ref"].rpartition("/")[2]]
        return {"schemaFormat": _DIALECT, "schema": {"type": "array", "items": item}}

    def headers(self, kind: type) -> dict[str, Any]:
        return self._schemas[self._kinds.index(kind)]


def _kinds(message: Message) -> list[object]:
    return [message.payload, message.headers] if message.headers else [message.payload]


def _message(message: Message, schemas: _Schemas) -> dict[str, object]:
    said: dict[str, Any] = {"name": message.name, "contentType": message.content_type}
    if message.summary:
        said["summary"] = message.summary
    if message.headers:
        said["headers"] = schemas.headers(message.headers)
    return said | {"payload": schemas.of(message)}


def _records(stored: Stored, record: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    """A record message for each stored type, whose data refers to the schema of that type."""
    folder = PurePosixPath(FOLDER).relative_to(PurePosixPath(FILE).parent)
    for game, kinds in sorted(stored.items()):
        for (kind, version), event in sorted(kinds.items()):
            bound = {
                "stream": {"pattern": f"^{game}-"},
                "type": {"const": kind},
                "schema_version": {"const": version},
                "data": {"$ref": str(folder / stored_place(game, kind, version))},
            }
            payload = {"allOf": [record["payload"], {"type": "object", "properties": bound}]}
            summary = inspect.cleandoc(event.__doc__ or "").partition("\n")[0]
            name = f"{game}.{kind}.{version}"
            yield name, record | {"name": name, "summary": summary, "payload": payload}


def _channel(channel: Channel, schemas: _Schemas, stored: Stored) -> dict[str, object]:
    messages = {message.name: _message(message, schemas) for message in channel.messages}
    if channel.name == _EVENTS and stored:
        (record,) = messages.values()
        messages = dict(_records(stored, record))
    made: dict[str, Any] = {
        "address": channel.address,
        "description": channel.summary,
        "servers": [{"$ref": f"#/servers/{channel.server}"}],
        "messages": messages,
    }
    if names := parameters(channel):
        made["parameters"] = {name: _parameter(name) for name in names}
    if channel.stream:
        made["x-jetstream-stream"] = channel.stream
    if channel.server == "spectator_ws":
        query = {"query": schemas.query} if names else {}
        made["bindings"] = {"ws": {"method": "GET", **query, "bindingVersion": "0.1.0"}}
    return made


def _parameter(name: str) -> dict[str, object]:
    description, examples = PARAMETERS[name]
    return {"description": description, "examples": list(examples)}


def _operation(operation: Operation, channel: Channel, schemas: _Schemas) -> dict[str, object]:
    made: dict[str, Any] = {
        "action": operation.action,
        "channel": {"$ref": f"#/channels/{channel.name}"},
        "summary": operation.summary,
        "tags": [{"name": operation.service}],
    }
    if channel.server in ("spectator_http", "gateway"):
        query = {"query": schemas.query} if parameters(channel) else {}
        made["bindings"] = {"http": {"method": "GET", **query, "bindingVersion": "0.3.0"}}
        if query:
            made["description"] = _LAST_EVENT_ID
    if operation.reply:
        said = [{"$ref": f"#/channels/inbox/messages/{name}"} for name in operation.reply]
        made["reply"] = {"channel": {"$ref": "#/channels/inbox"}, "messages": said}
    return made


def document(stored: Stored) -> dict[str, Any]:
    """Build the document deterministically."""
    schemas = _Schemas()
    channels = {channel.name: channel for channel in CHANNELS}
    agent = {
        "type": "http",
        "scheme": "bearer",
        "description": "The API key from POST /api/agents. Watching requires no key.",
    }
    return {
        "asyncapi": "3.0.0",
        "info": _INFO,
        "defaultContentType": "application/json",
        "servers": _SERVERS,
        "channels": {name: _channel(channel, schemas, stored) for name, channel in channels.items()},
        "operations": {
            f"{operation.service}.{operation.action}.{operation.channel}": _operation(
                operation, channels[operation.channel], schemas
            )
            for operation in OPERATIONS
        },
        "components": {"schemas": schemas.components, "securitySchemes": {"agent": agent}},
    }


def files(stored: Stored) -> dict[str, bytes]:
    """Path and content of the document and of the bundles."""
    return {FILE: json_file(document(stored)), **bundles(stored)}
