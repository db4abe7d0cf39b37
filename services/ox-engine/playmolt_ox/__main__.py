"""The ox engine's process."""

from playmolt_core.service.process import HostedGame, run

from playmolt_ox.rules import Ox

if __name__ == "__main__":
    run("ox-engine", lambda _: HostedGame(Ox()))
