"""The decisions of the operator in force: hidden texts, replaced names, bans; `log.moderation` makes them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec
from playmolt_schemas.text import WITHHELD

from playmolt_core.db.pool import Connection, Pool, queries

_SQL = queries("moderation")
Kind = Literal["hide", "rename", "ban", "restore"]
Field = Literal["name", "speech", "agent", "owner"]


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision to make.

    | kind    | field         | target                                                                    |
    |---------|---------------|---------------------------------------------------------------------------|
    | hide    | speech        | `game_id`, `version`; `agent_id` where a record holds texts of several    |
    | hide    | name          | `agent_id` or `owner_id`, or the `game_id` of a tournament                |
    | rename  | name, agent   | `agent_id`, or for a name as hide                                         |
    | ban     | agent, owner  | `agent_id`; `owner_id` with all its agents                                |
    | restore | speech        | as hide                                                                   |
    | restore | name          | as hide: takes a hide or a rename of the name back                        |
    | restore | agent, owner  | as ban                                                                    |
    """

    kind: Kind
    field: Field
    game_id: str | None = None
    version: int | None = None
    agent_id: str | None = None
    owner_id: str | None = None
    by: str = "operator"
    """Who decides; it is in the log."""
    note: str = ""
    """Why; it is in the accounts (`account.notice`) and not in the log."""
    until: datetime | None = None
    """The end of a ban; None: for good."""
    at: datetime
    """When it is decided; the record is not older than that of the decision before."""


class DecisionRecord(msgspec.Struct, frozen=True):
    """The record of a decision; for a repeat, which changes nothing, version 0."""

    stream: str
    version: int

    @property
    def changed(self) -> bool:
        return self.version > 0


class Ban(msgspec.Struct, frozen=True):
    """A ban in force. `subject` is the agent, or its owner; `until` None: for good."""

    subject: str
    until: datetime | None


class Notice(msgspec.Struct, frozen=True):
    """A decision as the person sees it; `kind` is the type of its event."""

    kind: str
    game_id: str | None
    until: datetime | None
    note: str
    at: datetime


class HiddenText(msgspec.Struct, frozen=True):
    """Whether the texts of an author in a record are hidden; `agent_id` "": of every author in it."""

    stream: str
    version: int
    agent_id: str
    hidden: bool
    revision: int


class ReplacedName(msgspec.Struct, frozen=True):
    """What replaces the name of an agent or owner; handle None: the given name is shown again."""

    subject: str
    handle: str | None
    withheld: bool
    revision: int

    @property
    def name(self) -> str | None:
        """The name to show instead of the given one."""
        return WITHHELD if self.withheld else self.handle


class PgModeration:
    """Reads what is in force. Every method may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def bans(self, subjects: Sequence[str]) -> Mapping[str, Ban]:
        """The bans in force of exactly these agents and owners, by their ids."""
        rows = await self._pool.fetch(_SQL["bans"], subjects)
        return {subject: Ban(subject, until) for subject, until in rows}

    async def notices(self, subjects: Sequence[str], limit: int) -> Sequence[Notice]:
        """The newest decisions about agents and owners, newest first."""
        return [Notice(*row) for row in await self._pool.fetch(_SQL["notices"], subjects, limit)]

    async def revision(self) -> int:
        """Of the newest decision to hide a text or to replace a name, or to take that back."""
        return int(await self._pool.value(_SQL["revision"]))

    async def changed(self, ids: Sequence[str]) -> Mapping[str, datetime]:
        """When texts of games and names of agents were last hidden or shown again; nothing for the others."""
        return dict(map(tuple, await self._pool.fetch(_SQL["changed"], ids)))

    async def since(self, revision: int, limit: int) -> Sequence[HiddenText | ReplacedName]:
        """The texts and names that were withheld or restored after a revision, oldest first."""
        rows = await self._pool.poll(_SQL["since"], revision, limit)
        return [
            ReplacedName(subject, handle, flag, at)
            if version is None
            else HiddenText(subject, version, agent_id, flag, at)
            for subject, version, agent_id, flag, handle, at in rows
        ]


async def hidden_in(connection: Connection, game_id: str) -> set[tuple[int, str]]:
    """The hidden texts of a game: version and author."""
    return {(version, agent) for version, agent in await connection.fetch(_SQL["hidden"], game_id)}
