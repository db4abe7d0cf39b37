"""What an operator can set for every engine, whatever it hosts."""

from typing import Annotated

from playmolt_core.settings import OptionalSeconds, Positive, Settings, setting


class EngineSettings(Settings, frozen=True, kw_only=True):
    """What an operator can set for every engine. A service of engines adds its own in a subclass."""

    phase_deadline_seconds: Annotated[
        OptionalSeconds,
        setting(
            "PLAYMOLT_PHASE_DEADLINE_SECONDS",
            "Time that each phase of a new game waits for missing submissions; 0: no limit. Empty: each game's"
            " own deadlines.",
        ),
    ] = None
    rated_owners: Annotated[
        bool,
        setting(
            "PLAYMOLT_RATED_OWNERS",
            "Whether only games are rated in which every agent, except house bots, has an owner. Applies to new games.",
        ),
    ] = False
    hot_games: Annotated[
        Positive,
        setting(
            "PLAYMOLT_HOT_GAMES", "Maximum games that an engine keeps in memory; the others are read from the log."
        ),
    ] = 10_000
    batch_commands: Annotated[Positive, setting("PLAYMOLT_BATCH_COMMANDS", "Maximum commands in one commit.")] = 512
    queue_commands: Annotated[
        Positive, setting("PLAYMOLT_QUEUE_COMMANDS", "Maximum commands that wait in an engine before it answers 503.")
    ] = 20_000
    effects_at_once: Annotated[
        Positive,
        setting(
            "PLAYMOLT_EFFECTS_AT_ONCE",
            "Maximum effects (model turns, transactions) that a process carries out at once.",
        ),
    ] = 64
