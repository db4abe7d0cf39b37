"""The ox engine's process."""

from playmolt_core.host.process import Hosted, run

from playmolt_ox.rules import Ox

if __name__ == "__main__":
    run("ox-engine", lambda _: Hosted(Ox()))
