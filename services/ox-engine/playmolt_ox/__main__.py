"""The ox engine's process."""

from playmolt_core.game.packs.folder import entry_packs
from playmolt_core.service.process import HostedGame, run

from playmolt_ox.content import QUESTIONS
from playmolt_ox.rules import Ox

if __name__ == "__main__":
    run("ox-engine", lambda context: HostedGame(Ox(packs=entry_packs(context.settings.packs, QUESTIONS))))
