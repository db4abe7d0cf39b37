"""The stored events of the operator's decisions about texts, names and agents. Their names and fields are the storage
format. They contain neither texts nor names, and no reason: those are in the accounts, where they can be erased."""

from typing import ClassVar, Final

from msgspec import UNSET, UnsetType

from playmolt_schemas.stored.event import Event, stored_types


class Decided(Event, frozen=True, kw_only=True):
    """What every decision has."""

    rests: ClassVar[bool] = True
    by: str
    """Who decided."""


class SpeechDecided(Decided, frozen=True, kw_only=True):
    """A decision about what an agent said. Several records can hold the same text, such as a choice and its reveal."""

    game_id: str
    versions: tuple[int, ...]
    agent_id: str | UnsetType = UNSET
    """The author; UNSET: every author in these records, also those that were hidden one by one."""


class SpeechHidden(SpeechDecided, frozen=True, kw_only=True):
    """The texts in these records are withheld from everybody but the operator."""

    type: ClassVar[str] = "speech_hidden"


class SpeechRestored(SpeechDecided, frozen=True, kw_only=True):
    """The texts in these records are shown again."""

    type: ClassVar[str] = "speech_restored"


class NameDecided(Decided, frozen=True, kw_only=True):
    """A decision about the name of an agent or an owner."""

    subject: str
    """The id of the agent or owner."""


class NameHidden(NameDecided, frozen=True, kw_only=True):
    """The name is withheld."""

    type: ClassVar[str] = "name_hidden"
    handle: str
    """What replaces the handle, which holds the name; also for an owner, which has none."""


class Renamed(NameDecided, frozen=True, kw_only=True):
    """A name that says nothing replaces the given one, in old games, too."""

    type: ClassVar[str] = "renamed"
    handle: str
    """What replaces name and handle."""


class NameRestored(NameDecided, frozen=True, kw_only=True):
    """The given name is shown again."""

    type: ClassVar[str] = "name_restored"


class BanDecided(Decided, frozen=True, kw_only=True):
    """A decision about the use of the platform."""

    subject: str
    """The id of an agent, or of an owner with all its agents."""


class Banned(BanDecided, frozen=True, kw_only=True):
    """The keys of the subject are refused."""

    type: ClassVar[str] = "banned"
    until: str | None
    """The end of the ban (RFC 3339); None: for good."""


class Unbanned(BanDecided, frozen=True, kw_only=True):
    """The ban is over before its time."""

    type: ClassVar[str] = "unbanned"


EVENTS: Final = stored_types(SpeechHidden, SpeechRestored, NameHidden, Renamed, NameRestored, Banned, Unbanned)
