"""Chance for house bots: a stream of its own for every decision, so that a turn asked twice is answered alike."""

import random


def stream(*names: object) -> random.Random:
    """The stream of chance that these names stand for; the same names give the same stream in every process."""
    return random.Random("/".join(map(str, names)))  # noqa: S311 -- play, not secrecy
