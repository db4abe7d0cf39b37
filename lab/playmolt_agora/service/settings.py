"""What an operator can set for the laboratory."""

from typing import Annotated

from playmolt_core.settings import Natural, Port, Positive, Settings, setting


class LaboratorySettings(Settings, frozen=True, kw_only=True):
    """What an operator can set for the laboratory of Agora."""

    laboratory_port: Annotated[Port, setting("PLAYMOLT_LAB_PORT", "Port of the laboratory of Agora.")] = 8083
    laboratory_at_once: Annotated[
        Positive,
        setting("PLAYMOLT_LAB_AT_ONCE", "Jobs that the laboratory does at once; each may take a core and 1 GiB."),
    ] = 2
    laboratory_idle_seconds: Annotated[
        Natural,
        setting("PLAYMOLT_LAB_IDLE_SECONDS", "Time without a call after which the laboratory ends; 0: never."),
    ] = 0
