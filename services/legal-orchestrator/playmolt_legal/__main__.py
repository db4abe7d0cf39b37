"""The legal orchestrator's process."""

from playmolt_core.host.process import Hosted, Kit, run
from playmolt_core.llm.scripted import Cast

from playmolt_legal.commands import WISH_KIND
from playmolt_legal.desk import LegalDesk
from playmolt_legal.rules import Legal
from playmolt_legal.scripted import ALIASES
from playmolt_legal.turns import Turns


def build(kit: Kit) -> Hosted:
    """Build the simulation of what this process has."""
    rules = Legal()
    aliases = (*ALIASES, *kit.catalogue.models)
    return Hosted(rules, LegalDesk(rules, aliases), {WISH_KIND: Turns(kit.models(Cast()))})


if __name__ == "__main__":
    run("legal-orchestrator", build)
