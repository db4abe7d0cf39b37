"""The ox engine's process."""

from playmolt_core.host.engine import run

from playmolt_ox.rules import Ox

if __name__ == "__main__":
    run(Ox())
