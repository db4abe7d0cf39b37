"""A module whose import imports every command, and which as a program runs one: `python -m tests.warm COMMAND…`.

Its three streams are the descriptors 3, 4 and 5.
"""

import os
import runpy
import sys
from importlib import import_module

from playmolt_cli.main import _COMMANDS

if __name__ == "__main__":
    for stream in range(3):
        os.dup2(stream + 3, stream)
        os.close(stream + 3)
    runpy.run_module("playmolt_cli", run_name="__main__", alter_sys=True)
else:
    for command in _COMMANDS.values():
        import_module(command.partition(":")[0])
    sys.modules.pop("playmolt_cli.__main__", None)
