"""What an experiment came to: tables for other tools and one page for readers."""

from typing import Final

STUDY: Final = "study.json"
"""What was locked, for readers of the tables."""
