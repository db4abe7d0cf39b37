"""PettingZoo environments on the game rules: `from playmolt.env import ox_v0, trial_v0` (`playmolt[env]`)."""

from importlib.util import find_spec

if find_spec("pettingzoo") is None:
    raise ImportError("PettingZoo is not installed: pip install 'playmolt[env]'")

from playmolt.env import ox_v0, trial_v0

__all__ = ["ox_v0", "trial_v0"]
