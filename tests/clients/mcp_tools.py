"""Passes the tools of `/mcp` to third-party agent libraries and calls one tool with each, in their environment.

Prints a line for each library: its name, its number of tools, and the answer of a tool.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable

from agents.mcp import MCPServerStreamableHttp, MCPUtil
from agents.tool_context import ToolContext
from google.genai import types
from google.genai._mcp_utils import mcp_to_gemini_tool
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from mcp import Client

Answer = tuple[int, str]


async def google_genai(url: str) -> Answer:
    async with Client(url) as client:
        listed = (await client.list_tools()).tools
        declared = [mcp_to_gemini_tool(tool).function_declarations[0] for tool in listed]
        for declaration in declared:
            types.Tool(function_declarations=[declaration]).model_dump_json(exclude_none=True)
        made = await client.call_tool(declared[0].name, {"name": "by google-genai"})
        return len(declared), made.structured_content["name"]


async def openai_agents(url: str) -> Answer:
    async with MCPServerStreamableHttp(params={"url": url}) as server:
        tools = [
            MCPUtil.to_function_tool(tool, server, convert_schemas_to_strict=strict)
            for strict in (True, False)
            for tool in await server.list_tools()
        ]
        register = next(tool for tool in tools if tool.name == "register")
        arguments = json.dumps({"name": "by openai-agents"})
        context = ToolContext(context=None, tool_name=register.name, tool_call_id="1", tool_arguments=arguments)
        answer = await register.on_invoke_tool(context, arguments)
        return len(tools) // 2, json.loads(answer["text"] if isinstance(answer, dict) else answer)["name"]


async def llama_index(url: str) -> Answer:
    tools = await McpToolSpec(client=BasicMCPClient(url)).to_tool_list_async()
    for tool in tools:
        tool.metadata.to_openai_tool()
    register = next(tool for tool in tools if tool.metadata.name == "register")
    answer = await register.acall(name="by llama-index")
    return len(tools), json.loads(answer.raw_output.content[0].text)["name"]


READERS: tuple[Callable[[str], Awaitable[Answer]], ...] = (google_genai, openai_agents, llama_index)

if __name__ == "__main__":
    for reader in READERS:
        print(reader.__name__, *asyncio.run(reader(sys.argv[1])))
