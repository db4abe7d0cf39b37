"""Imports every module of our packages; image.sh runs it in the image."""

import importlib
import pkgutil
import sys
from typing import Final

PACKAGES: Final = (
    "playmolt_schemas", "playmolt_core", "playmolt_gateway", "playmolt_spectator", "playmolt_trial", "playmolt_jury",
    "playmolt_trial_engine", "playmolt_devchain", "playmolt_ox", "playmolt_legal", "playmolt_agora_runner",
    "playmolt_agora", "playmolt", "playmolt_cli", "playmolt_tournament",
)  # fmt: skip
NO_MODULES: Final = ("playmolt.env", "playmolt_agora.own_measures.child")
"""Modules that are not imported: the first needs an extra that the image lacks; the second is a program that runs from
its path, without our packages."""

for package in PACKAGES:
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not module.name.endswith("__main__") and not module.name.startswith(NO_MODULES):
            importlib.import_module(module.name)
sys.stdout.write(f"{sum(name.startswith('playmolt') for name in sys.modules)} modules of ours import\n")
