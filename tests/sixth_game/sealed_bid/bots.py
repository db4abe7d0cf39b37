"""House bots of the auction."""

import random
from typing import Final

from playmolt.bots.house_bots import HouseBot, HouseBots
from playmolt.loop import Action, Turn

from sealed_bid.messages import MOST

POLICIES: Final = {"careful": (0, MOST // 2), "bold": (MOST // 2, MOST)}


def bot(policy: str, seed: object) -> HouseBot:
    if policy not in POLICIES:
        raise LookupError(f"no policy {policy!r} for the auction; there are {', '.join(POLICIES)}")
    least, most = POLICIES[policy]

    def bid(turn: Turn) -> Action:
        return {"type": "bid", "amount": random.Random(f"{seed}/{turn.game_id}").randint(least, most)}

    return bid


BOTS: Final = HouseBots(bot, tuple(POLICIES), tuple(POLICIES))
