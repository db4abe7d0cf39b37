"""A module whose import imports every command; as a program it runs one: `python -m tests.warm IN OUT ERR COMMAND`.

The first three arguments are the descriptors of its streams.
"""

import os
import runpy
import sys
from importlib import import_module

from playmolt_cli.main import _COMMANDS
from playmolt_core.ops import service

from tests import loop_steps

if __name__ == "__main__":
    for stream in range(3):
        given = int(sys.argv.pop(1))
        os.dup2(given, stream)
        os.close(given)
    runpy.run_module("playmolt_cli", run_name="__main__", alter_sys=True)
else:
    for command in _COMMANDS.values():
        import_module(command.partition(":")[0])
    sys.modules.pop("playmolt_cli.__main__", None)
    loop_steps.install(service)
