"""The auction's process."""

from playmolt_core.service.process import HostedGame, run

from sealed_bid.rules import Auction

if __name__ == "__main__":
    run("auction-house", lambda _: HostedGame(Auction()))
