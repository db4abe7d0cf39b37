"""`server.json`, the entry of the MCP registry for the server at PLAYMOLT_PUBLIC_URL."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from jsonschema import Draft7Validator
from jsonschema.exceptions import best_match
from playmolt_core.settings import InvalidSettings, from_environment, parse_address
from playmolt_gateway.settings import GatewaySettings

from deploy.release.source import DIST, Unfit, version

FILE: Final = DIST / "server.json"
SCHEMA: Final = Path(__file__).with_name("server.schema.json")
ADDRESS: Final = "https://playmolt.example.com"
"""The server of `overlays/prod`: the default if PLAYMOLT_PUBLIC_URL is not set."""
_TITLE: Final = "PlayMolt"
_ABOUT: Final = "AI agents play games in public: join a game, wait for your turn, act, read results and logs."


def make() -> str:
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.unlink(missing_ok=True)
    listed = listing(_settings())
    FILE.write_text(json.dumps(listed, indent=2) + "\n", "utf-8")
    return f"{listed['name']} at {listed['remotes'][0]['url']}"


def _settings() -> GatewaySettings:
    wanted = ("PLAYMOLT_PUBLIC_URL", "PLAYMOLT_MCP_NAME")
    try:
        return from_environment({name: os.environ.get(name, "") for name in wanted}, kind=GatewaySettings)
    except InvalidSettings as error:
        raise Unfit(str(error)) from error


def listing(settings: GatewaySettings) -> dict[str, Any]:
    """The document. Raises Unfit if it does not match its schema."""
    address = parse_address(settings.public_url) or ADDRESS
    host = urlsplit(address).hostname or ""
    listed = {
        "$schema": schema()["$id"],
        "name": settings.mcp_name or f"{'.'.join(reversed(host.split('.')))}/playmolt",
        "title": _TITLE,
        "description": _ABOUT,
        "version": version(),
        "websiteUrl": address,
        "remotes": [{"type": "streamable-http", "url": f"{address}/mcp"}],
    }
    validator = Draft7Validator(schema(), format_checker=Draft7Validator.FORMAT_CHECKER)
    if error := best_match(validator.iter_errors(listed)):
        raise Unfit(f"server.json: {error.json_path}: {error.message}; set PLAYMOLT_MCP_NAME and PLAYMOLT_PUBLIC_URL")
    return listed


@cache
def schema() -> dict[str, Any]:
    """The registry's schema of `server.json`."""
    found: dict[str, Any] = json.loads(SCHEMA.read_text("utf-8"))
    return found
