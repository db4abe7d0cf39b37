"""How the files of a study are named. Apart from the study itself, which takes a second to load."""

from typing import Final

REPORT: Final = "report.html"
BUNDLE: Final = "bundle.zip"
STUDY: Final = "study.json"
"""What was locked, for readers of the tables."""
SHARES: Final = "shares.csv"
