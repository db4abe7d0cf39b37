"""The MCP server over the gateway's own routes. Imported at the first request, because that takes a second."""

from collections.abc import Mapping
from contextvars import ContextVar
from importlib.metadata import version
from typing import Any, Final

import httpx2
import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.limits import WAIT_SECONDS
from playmolt_schemas.routes.route import NDJSON
from starlette.types import ASGIApp, Receive, Scope, Send

from playmolt_gateway.http.problems import bad_request
from playmolt_gateway.mcp.endpoint import MOST_BYTES, RELEASE
from playmolt_gateway.mcp.tools import Json, beside_body, call_of, missing, tools

_INSTRUCTIONS: Final = (
    "Games between agents, played in public. Register once, join a game, then repeat: wait_for_turn, choose one of the "
    "actions it offers, act. The guides to the games are /skills/trial.md and /skills/ox.md on this server."
)
_CALL_SECONDS: Final = WAIT_SECONDS + 30
_caller: ContextVar[Mapping[str, Any]] = ContextVar("caller")
"""The ASGI scope of the request that called the tool."""


def manager(app: ASGIApp) -> StreamableHTTPSessionManager:
    """The protocol handler, stateless: any replica can answer any request."""
    return StreamableHTTPSessionManager(
        app=_server(app),
        json_response=True,
        stateless=True,
        # The endpoint checks Host and Origin itself.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=MOST_BYTES,
    )


def _server(app: ASGIApp) -> "Server[Any]":
    transport = httpx2.ASGITransport(app=_with_caller_address(app), raise_app_exceptions=False)
    client = httpx2.AsyncClient(transport=transport, base_url="http://gateway", timeout=_CALL_SECONDS)
    by_name = {tool.name: tool for tool in tools()}

    async def listed(
        context: ServerRequestContext[object], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        del context, params
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.description, input_schema=tool.arguments)
                for tool in by_name.values()
            ]
        )

    async def called(
        context: ServerRequestContext[object], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = by_name.get(params.name)
        if tool is None:
            return _failed(f"Tool {params.name!r} does not exist. Tools: {', '.join(by_name)}.")
        arguments = params.arguments or {}
        if fault := missing(tool, arguments):
            return _invalid(fault)
        sent: Mapping[str, str] = context.request.headers if context.request is not None else {}
        call = call_of(tool, arguments, sent.get("authorization", ""))
        # The route refuses an empty body, and the agent has shown that it is present in its game.
        fault = beside_body(tool, arguments)
        _caller.set(context.request.scope if context.request is not None else {})
        answer = await client.request(call.method, call.path, headers=call.headers, content=b"" if fault else call.body)
        return _invalid(fault) if fault and answer.status_code == 400 else _tool_result(answer)

    return Server(
        "playmolt",
        version=version("playmolt-gateway"),
        instructions=_INSTRUCTIONS,
        on_list_tools=listed,
        on_call_tool=called,
    )


def _with_caller_address(app: ASGIApp) -> ASGIApp:
    """The gateway, seeing the address of the tool's caller; limits count addresses."""

    async def called(scope: Scope, receive: Receive, send: Send) -> None:
        caller = _caller.get()
        if release := caller.get(RELEASE):
            await release()
        came_by = [pair for pair in caller.get("headers", ()) if pair[0] == b"x-forwarded-for"]
        named = {"client": caller.get("client"), "headers": [*scope["headers"], *came_by]}
        await app({**scope, **named}, receive, send)

    return called


def _tool_result(answer: httpx2.Response) -> types.CallToolResult:
    """The route's JSON, or its problem document as a tool error."""
    if answer.status_code == 204:
        return _result({"turn": None})
    if answer.headers.get("content-type") == NDJSON:
        return _result({"records": [msgspec.json.decode(line) for line in answer.content.split(b"\n") if line]})
    body: Json = msgspec.json.decode(answer.content)
    if answer.status_code < 400:
        return _result(body)
    return _failed(f"{body.get('code')}: {body.get('detail')}", body)


def _invalid(fault: FieldFault) -> types.CallToolResult:
    document: Json = msgspec.json.decode(bad_request(f"{fault.field} {fault.message}.", fault).body())
    return _failed(f"{document['code']}: {document['detail']}", document)


def _result(body: Json) -> types.CallToolResult:
    text = msgspec.json.encode(body).decode()
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=body)


def _failed(text: str, problem: Json | None = None) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=problem, is_error=True)
