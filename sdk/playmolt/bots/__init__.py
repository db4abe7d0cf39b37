"""House bots: they fill seats, so that nobody waits, and show what a bot looks like."""

from playmolt.bots.house import MIXED, POLICIES, HouseBot, run_house_bots, seats

__all__ = ["MIXED", "POLICIES", "HouseBot", "run_house_bots", "seats"]
