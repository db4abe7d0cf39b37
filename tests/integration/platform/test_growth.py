"""The database stays small beside the events that it holds: tables and indexes relative to the bytes of `data`."""

from urllib.parse import urlsplit

from bench.growth import Table, growth
from tests.platforms import Stack

MOST_BYTES = 2.5
MOST_ROWS = 2.0
TABLES, ROUNDS = 20, 3


def test_sixty_games_take_at_most_two_and_a_half_bytes_for_each_byte_of_data(running: Stack) -> None:
    """Of agents that have played before: an agent's own rows are written once, however many games follow."""
    port = urlsplit(running.run.gateway).port
    assert port
    tables = [Table(port) for _ in range(TABLES)]
    growth(running.run.database_url, [tables])
    found = growth(running.run.database_url, [tables] * ROUNDS)
    assert found.times <= MOST_BYTES
    assert found.rows <= MOST_ROWS
