"""Does a bot hold up? `python -m playmolt.conformance --url URL --game ox mybot:bot` plays it against house bots.

On the way the connection misbehaves on purpose: 503, 429, a lost answer, 409, a stream cut in the middle.
"""

from playmolt.conformance.checks import Check, check

__all__ = ["Check", "check"]
