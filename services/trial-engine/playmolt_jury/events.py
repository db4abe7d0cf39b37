"""The stored events of a session that hold the engine's own values, and all of them. They are the storage format."""

from typing import ClassVar, Final

from msgspec import UNSET, UnsetType
from playmolt_schemas.stored import jury
from playmolt_schemas.stored.event import Event, stored_types
from playmolt_schemas.stored.jury import Cause, EvidenceItem, Language
from playmolt_schemas.stored.panels import JuryScript, PanelPlace

from playmolt_jury.content.material import Juror, Rules
from playmolt_jury.persuasion.stance import ChangePart


class JuryOpened(Event, frozen=True, kw_only=True):
    """Event 1: everything that the rules of this session depend on."""

    type: ClassVar[str] = "jury_opened"
    owner: str
    name: str
    seed: str
    rules_version: int
    content_version: str
    language: Language
    model: str
    jurors: tuple[Juror, ...]
    evidence: tuple[EvidenceItem, ...]
    topics: tuple[str, ...]
    case: str
    """The id of the pack."""
    pack_digest: str
    """The digest of the pack's files."""
    rules: Rules
    panel: PanelPlace | UnsetType = UNSET
    """The place of the jury in a panel, for which it plays itself by `script`."""
    script: JuryScript | UnsetType = UNSET


class StanceChanged(Event, frozen=True, kw_only=True):
    """The effect of a message on a juror, even if zero. `by` is "overseer" or the id of the juror who spoke."""

    type: ClassVar[str] = "stance_changed"
    juror_id: str
    cause: Cause
    by: str
    before: int
    after: int
    parts: tuple[ChangePart, ...]


EVENTS: Final = stored_types(*jury.EVENTS.values(), JuryOpened, StanceChanged)
