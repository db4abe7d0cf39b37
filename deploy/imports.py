"""Imports every module of ours: what the image is tried with (image.sh)."""

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
"""What practises with an extra, which no image has; and a program that is run by its path, away from all packages."""

for package in PACKAGES:
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if not module.name.endswith("__main__") and not module.name.startswith(NO_MODULES):
            importlib.import_module(module.name)
sys.stdout.write(f"{sum(name.startswith('playmolt') for name in sys.modules)} modules of ours import\n")
