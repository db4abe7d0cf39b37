"""Checks a bot: `python -m playmolt.conformance --url URL --game ox mybot:bot` plays it against house bots.

The connection fails on purpose: 503, 429, a lost answer, 409, a stream that breaks off.
"""

from playmolt.conformance.checks import Check, check

__all__ = ["Check", "check"]
