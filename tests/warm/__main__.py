"""Importing this module imports every command of `playmolt`."""

import sys
from importlib import import_module

from playmolt_cli.main import _COMMANDS
from playmolt_core.ops import service

from tests import loop_steps

for command in _COMMANDS.values():
    import_module(command.partition(":")[0])
sys.modules.pop("playmolt_cli.__main__", None)
loop_steps.install(service)
