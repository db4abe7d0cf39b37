"""Checks answers against the OpenAPI document."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import cache
from typing import Any

import httpx
from jsonschema import Draft202012Validator
from playmolt_gateway.http.openapi import document
from playmolt_schemas.routes.platform import ROUTES

Json = dict[str, Any]
PROBLEM = "application/problem+json"


class Contract:
    """Checks whether the document contains an answer."""

    def __init__(self, document: Json) -> None:
        self._document = document
        self._validators: dict[tuple[str, str, str], Draft202012Validator] = {}
        self._paths = [
            (re.compile(re.sub(r"{\w+}", "[^/]+", path)), methods) for path, methods in document["paths"].items()
        ]

    def operations(self) -> Iterator[tuple[str, str, Json]]:
        """Method, path and operation of each call."""
        for path, methods in self._document["paths"].items():
            for method, operation in methods.items():
                yield method.upper(), path, operation

    def operation(self, method: str, path: str) -> Json:
        """Find the operation of a request."""
        found = [methods[method.lower()] for pattern, methods in self._paths if pattern.fullmatch(path)]
        assert found, (method, path)
        return dict(found[0])

    def judge(self, operation: Json, answer: httpx.Response) -> None:
        """Fail if the operation does not have this answer."""
        status = str(answer.status_code)
        known = answer.status_code < 500 or answer.status_code == 501
        assert known, (answer.request.method, answer.request.url, answer.text)
        assert status in operation["responses"], (answer.request.method, answer.request.url, answer.text)
        content = operation["responses"][status].get("content", {})
        if not content:
            assert answer.content == b""
            return
        kind = answer.headers["content-type"].partition(";")[0]
        if list(content) == ["*/*"]:
            return
        assert kind in content
        if kind != "text/html":
            assert (answer.status_code >= 400) == (kind == PROBLEM)
        validator = self._validator(operation["operationId"], status, kind, content[kind])
        for value in _values(kind, answer.text):
            validator.validate(value)

    def _validator(self, name: str, status: str, kind: str, media: Json) -> Draft202012Validator:
        known = (name, status, kind)
        if known not in self._validators:
            schema = media.get("x-item", media["schema"])
            whole = {**schema, "components": self._document["components"]}
            self._validators[known] = Draft202012Validator(whole)
        return self._validators[known]


def _values(kind: str, text: str) -> list[Any]:
    match kind:
        case "application/x-ndjson":
            return [json.loads(line) for line in text.splitlines()]
        case "text/event-stream":
            return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]
        case "application/json" | "application/problem+json":
            return [json.loads(text)]
    return []


@cache
def own() -> Contract:
    """The contract of this repository's routes."""
    return Contract(document(ROUTES))


def judged() -> dict[str, list[Callable[[httpx.Response], Awaitable[None]]]]:
    """Hooks of an asynchronous client that check every answer against the document, except 503 and streams."""
    contract = own()

    async def judge(answer: httpx.Response) -> None:
        if answer.headers.get("content-type", "").startswith("text/event-stream") or answer.status_code == 503:
            return
        await answer.aread()
        request = answer.request
        contract.judge(contract.operation(request.method, request.url.path), answer)

    return {"response": [judge]}


async def heard(client: httpx.AsyncClient, path: str, headers: Mapping[str, str]) -> list[Json]:
    """Follow a stream of the gateway to its end, and check each message against the document."""
    async with client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        await answer.aread()
    contract = own()
    contract.judge(contract.operation("GET", answer.request.url.path), answer)
    return _values("text/event-stream", answer.text)
