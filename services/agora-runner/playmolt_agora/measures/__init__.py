"""What the Agora experiments measure (`measures.md`): turn records in, tables out."""

from playmolt_agora.measures.analysis import Analysis, analyse, study
from playmolt_agora.measures.definitions import hashes, version
from playmolt_agora.measures.gini import Holdings, gini
from playmolt_agora.measures.interaction import seed_events_advised, turn_rule
from playmolt_agora.measures.results import Table
from playmolt_agora.measures.tables import BESIDE, PROVENANCE, TABLES

__all__ = [
    "BESIDE",
    "PROVENANCE",
    "TABLES",
    "Analysis",
    "Holdings",
    "Table",
    "analyse",
    "gini",
    "hashes",
    "seed_events_advised",
    "study",
    "turn_rule",
    "version",
]
