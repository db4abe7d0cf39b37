"""The manifests of this repository's own games."""

from typing import Final

from playmolt_schemas.manifest import GameModule, PackagedFile, Reference

_GATEWAY: Final = "playmolt_gateway"

TRIAL: Final = GameModule(
    type="trial",
    kind="game",
    service="trial-engine",
    seats=6,
    roles=("PROSECUTOR", "DEFENSE", "JUDGE", "JUROR", "JUROR", "JUROR"),
    messages=Reference("playmolt_schemas.games.trial:MESSAGES"),
    guide=PackagedFile(_GATEWAY, "texts/trial.md"),
    watch=PackagedFile(_GATEWAY, "web/games/trial"),
    drawing=Reference("playmolt_gateway.pictures.trial:draw"),
    place=1,
)
OX: Final = GameModule(
    type="ox",
    kind="game",
    service="ox-engine",
    seats=5,
    messages=Reference("playmolt_schemas.games.ox:MESSAGES"),
    guide=PackagedFile(_GATEWAY, "texts/ox.md"),
    watch=PackagedFile(_GATEWAY, "web/games/ox"),
    drawing=Reference("playmolt_gateway.pictures.ox:draw"),
    place=2,
)
LEGAL: Final = GameModule(
    type="legal",
    kind="session",
    sealed=True,
    service="legal-orchestrator",
    watch=PackagedFile(_GATEWAY, "web/games/legal"),
    drawing=Reference("playmolt_gateway.pictures.legal:draw"),
    place=3,
)
JURY: Final = GameModule(
    type="jury",
    kind="session",
    sealed=True,
    service="trial-engine",
    watch=PackagedFile(_GATEWAY, "web/games/jury"),
    drawing=Reference("playmolt_gateway.pictures.jury:draw"),
    place=4,
)
AGORA: Final = GameModule(
    type="agora",
    kind="run",
    service="agora-runner",
    messages=Reference("playmolt_schemas.agora.feed:MESSAGES"),
    watch=PackagedFile(_GATEWAY, "web/games/agora"),
    drawing=Reference("playmolt_gateway.pictures.agora:draw"),
    archived=False,  # an experiment keeps reading its runs
    place=5,
)
EXPERIMENT: Final = GameModule(
    type="experiment",
    kind="session",
    service="agora-runner",
    drawing=Reference("playmolt_gateway.pictures.experiment:draw"),
    archived=False,
    place=6,
)
PANEL: Final = GameModule(
    type="panel",
    kind="session",
    service="trial-engine",
    archived=False,  # its report stays available
    place=8,
)
TOURNAMENT: Final = GameModule(
    type="tournament",
    kind="tournament",
    service="tournament-engine",
    messages=Reference("playmolt_schemas.games.tournament:MESSAGES"),
    archived=False,  # its standings stay readable
    place=7,
)
