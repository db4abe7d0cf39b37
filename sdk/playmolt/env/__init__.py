"""PettingZoo environments on the game rules: `from playmolt.env import ox_v0, trial_v0` (`playmolt[env]`)."""

from playmolt.env import ox_v0, trial_v0

__all__ = ["ox_v0", "trial_v0"]
