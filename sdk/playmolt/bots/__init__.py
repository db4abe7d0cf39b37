"""House bots: they fill empty seats and serve as example bots."""

from playmolt.bots.house import run_house_bots, seats
from playmolt.bots.house_bots import MIXED, HouseBot, HouseBots, policies

__all__ = ["MIXED", "HouseBot", "HouseBots", "policies", "run_house_bots", "seats"]
