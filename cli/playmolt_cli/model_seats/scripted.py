"""What the scripted model plays in a bot game: something that the rules take, for ever the same."""

import json

import msgspec
from playmolt_core.llm.scripted.model import Cast, Said, ScriptedTurn, generic

SCHEMA_NAME = "action"
"""What the schema of a bot game's action is called in a request."""


def cast() -> Cast:
    """The generic character, who in a bot game looks whether its switch is still there."""
    whole = Cast()
    whole.add(_player, schema=SCHEMA_NAME)
    return whole


def _player(turn: ScriptedTurn) -> Said:
    said = generic(turn)
    action = json.loads(said.text)
    asked = next(message.content for message in turn.request.messages if message.role == "user")
    me = json.loads(asked)["state"].get("self") or {}
    if action.get("use_switch") and not me.get("switch_available", True):
        return Said(msgspec.json.encode({**action, "use_switch": False}).decode())
    return said
