"""The auction's process."""

from playmolt_core.engine.settings import EngineSettings
from playmolt_core.ops.service import run_service
from playmolt_core.service.process import HostedGame, hosting

from sealed_bid.rules import Auction

if __name__ == "__main__":
    run_service("auction-house", hosting(lambda _: HostedGame(Auction())), EngineSettings)
