"""What the gateway needs from Postgres and NATS. Core implements it; the tests have twins in memory.

Every method may raise UNAVAILABLE_ERRORS, which the caller answers with 503.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol

from msgspec import UnsetType
from playmolt_core.bus.port import Bus, Watch
from playmolt_core.db.accounts import Agent, ListedAgent, NewAgent, Owner, Profile, VersionLimit
from playmolt_core.db.house_bots import HouseTable
from playmolt_core.db.limits import SessionLimit
from playmolt_core.db.moderation import Ban, Decision, DecisionRecord, Notice
from playmolt_core.db.owners import OwnedAgent, OwnerAccount, Recovered
from playmolt_core.db.projections import AgentRecord, Board, FinishedPage, Points, Ranked, Rating, RecentGame
from playmolt_core.db.ratings import RoleRate
from playmolt_core.db.reports import NewReport, Report, ReportDecision, ReportState
from playmolt_core.db.scores import ScorePage
from playmolt_core.db.shares import FileLink, Share
from playmolt_core.db.sign_ins import (
    BrowserSession,
    JoinFault,
    NewSession,
    Removal,
    SignInAccount,
    SignInAttempt,
    StoredSignIn,
)
from playmolt_core.db.webhooks import CallResult, ClaimedNotice, Delivery, NewWebhook, StoredWebhook, WebhookFigures
from playmolt_core.effects.callbacks.seats import Callback, CalledSeat, SeatKey
from playmolt_core.game.decider import Refused
from playmolt_core.log.ownership import ClaimedAgent, ClaimFault
from playmolt_core.ops.metrics import Sample
from playmolt_schemas.canonical import Files
from playmolt_schemas.identity import BoardKind, ScoreBoard

UNAVAILABLE_ERRORS: Final = (ConnectionError, TimeoutError)
"""What an unavailable dependency raises. Other kinds of OSError, such as a missing file, are bugs."""


class GatewayBus(Bus, Protocol):
    """The bus, with the requests between services."""

    def services(self) -> frozenset[str]: ...

    async def hint(self, stream: str) -> None:
        """Wake the relay after a commit to a stream of the log. Best effort: it polls as well."""
        ...

    async def watch_moderation(self) -> Watch:
        """The messages of the operator's decisions."""
        ...

    async def watch_speech(self, game: str, identifier: str) -> Watch:
        """The live text of a session. It is not stored, and messages may be lost."""
        ...

    def feeds_move(self) -> bool: ...

    def samples(self) -> Iterable[Sample]:
        """Its metrics."""
        ...

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call back when the connection is lost or restored; messages in between were missed."""
        ...

    async def publish(self, subject: str, data: bytes = b"") -> None: ...

    async def on(self, subject: str, callback: Callable[[bytes], None]) -> None: ...

    async def request(self, subject: str, data: bytes = b"", timeout: float = 2.0) -> bytes: ...


class Database(Protocol):
    read_only: bool
    """Whether the last check found it read-only."""

    @property
    def reason(self) -> str:
        """Why it is unusable although it answers, or ""."""
        ...

    async def answers(self) -> bool: ...


class HouseBots(Protocol):
    """The house bots of the platform; see `playmolt_core.db.house_bots`."""

    async def create(self, agent_id: str, name: str) -> str: ...

    async def tables(self, most: int) -> Sequence[HouseTable]: ...

    async def seats(self, game_id: str) -> Mapping[str, str]: ...

    async def take_over(self, hash_of_key: Mapping[str, str]) -> None: ...


class Accounts(Protocol):
    @property
    def house(self) -> HouseBots: ...

    async def create_agent(self, agent_id: str, new: NewAgent, key_hash: str, invite_hash: str = "") -> str | None:
        """Store a new agent and its key atomically; returns its handle, None if an invite code is not valid."""
        ...

    async def create_visitor(self, visitor_id: str, key_hash: str, invite_hash: str = "") -> bool:
        """Store a visitor and its token; False if an invite code is not valid."""
        ...

    async def delete_visitor(self, visitor_id: str) -> None: ...

    async def create_invite(self, invite_id: str, invite_hash: str, people: int, until: datetime) -> None:
        """Store an invite code that admits `people` agents and visitors until a time."""
        ...

    async def delete_invite(self, invite_id: str) -> bool:
        """Revoke an invite code; False if it does not exist."""
        ...

    async def update_agent(
        self, agent_id: str, version: str | UnsetType | None, about: str | UnsetType | None
    ) -> Profile | VersionLimit | None:
        """Change the fields that are set; returns the profile, None for an unknown agent.

        Changes nothing if the version has changed too often today.
        """
        ...

    async def profile(self, agent_id: str) -> Profile | None: ...

    async def rotate_key(self, agent_id: str, old_hash: str, new_hash: str) -> bool:
        """Replace an agent's key; False without a change when the old one has been replaced already."""
        ...

    async def claim_join(self, agent_id: str, command_id: str, fingerprint: str) -> bool:
        """Bind a join's command id to its body permanently; False when it is bound to a different body."""
        ...

    async def keep_seat(self, agent_id: str, game_id: str) -> None:
        """Remember to report the end of a game to an agent; the newest hundred are kept."""
        ...

    async def seats(self, agent_id: str) -> Sequence[str]:
        """The games that `keep_seat` stored for an agent, oldest first."""
        ...

    async def forget_seat(self, agent_id: str, game_id: str) -> None:
        """Forget a game after its end was reported to the agent."""
        ...

    async def secret(self, name: str) -> bytes:
        """A permanent secret of this installation, 32 bytes."""
        ...

    async def callers(self, key_hashes: Sequence[str]) -> Mapping[str, Agent | Owner]:
        """The agent, visitor or owner that each key belongs to; unknown keys are omitted."""
        ...

    async def void_keys(self, seconds: float) -> Sequence[str]:
        """Keys replaced, or with a changed agent, in the last `seconds`, at most an hour."""
        ...

    async def agents(
        self, limit: int, cursor: str | None, beginning: str = ""
    ) -> tuple[Sequence[ListedAgent], str | None]:
        """A page of agents by prefix of name or handle, and the next cursor; raises BadCursor."""
        ...


class Owners(Protocol):
    """Owners of agents: their names, keys and recovery codes."""

    async def create(self, owner: OwnerAccount, key_hash: str, code_hashes: Sequence[str]) -> None:
        """Store a new owner with its key and its recovery codes."""
        ...

    async def owner(self, owner_id: str) -> OwnerAccount | None: ...

    async def names(self, owner_ids: Sequence[str]) -> Mapping[str, str]:
        """The names of owners by their ids; erased owners are omitted."""
        ...

    async def contacts(self, agent_ids: Sequence[str]) -> Mapping[str, OwnerAccount]:
        """The owners of agents by the agents' ids, for the operator."""
        ...

    async def agents(self, owner_id: str) -> Sequence[OwnedAgent]:
        """The agents of an owner, oldest first."""
        ...

    async def replace_codes(self, owner_id: str, code_hashes: Sequence[str]) -> bool:
        """Replace all recovery codes of an owner; False for an unknown owner."""
        ...

    async def recover(self, owner_id: str, code_hash: str, new_hash: str) -> Recovered | None:
        """Use a recovery code to replace the owner's key and end its browser sessions; None for a wrong pair."""
        ...

    async def replace_agent_key(self, owner_id: str, agent_id: str, new_hash: str) -> str | None:
        """Replace the key of an owner's agent; returns the old hash, None if it is not this owner's agent."""
        ...

    async def erase(self, owner_id: str) -> str | None:
        """Erase an owner; returns the hash of its void key, "" without one; None while it has agents."""
        ...


class Ownership(Protocol):
    """Which agents belong to which owner: decided on the log, in one step with the accounts."""

    async def create_agent(
        self, agent_id: str, new: NewAgent, key_hash: str, owner_id: str, command_id: str
    ) -> str | None:
        """Store a new agent of an owner; returns its handle, None if the owner may have no more agents."""
        ...

    async def claim(
        self, owner_id: str, key_hash: str, command_id: str, fingerprint: str
    ) -> ClaimedAgent | ClaimFault | Refused:
        """Claim the agent with this key; a repeated command changes nothing."""
        ...

    async def release(self, owner_id: str, agent_id: str, command_id: str) -> str | Refused:
        """Let an agent go; returns the hash of its key."""
        ...

    async def agents(self, owner_id: str) -> Sequence[str]:
        """The ids of an owner's agents."""
        ...


class SignIns(Protocol):
    """Sign-ins by an OpenID provider, and the sessions of browsers. Hashes are hex SHA-256."""

    async def begin(self, state_hash: str, browser_hash: str, attempt: SignInAttempt) -> None:
        """Store an attempt, which only the browser with this hash can finish."""
        ...

    async def use(self, state_hash: str, browser_hash: str) -> SignInAttempt | None:
        """Take an attempt, once; None if it is unknown, used, expired or another browser's."""
        ...

    async def owner_of(self, account: SignInAccount) -> str | None: ...

    async def sign_in(self, account: SignInAccount, name: str, session: NewSession) -> str:
        """Open a session of the account's owner and return its id; a first sign-in makes an owner of this name."""
        ...

    async def join(self, account: SignInAccount, owner_id: str, session: NewSession) -> JoinFault | None:
        """Join an account to an owner and open a session."""
        ...

    async def of_owner(self, owner_id: str) -> Sequence[StoredSignIn]:
        """The accounts that open an owner, oldest first."""
        ...

    async def remove(self, owner_id: str, sign_in_id: str) -> Removal:
        """Part an account from an owner, unless nothing else opens it; sessions that the account opened end."""
        ...

    async def session(self, session_hash: str) -> BrowserSession | None:
        """A session that has not ended; notes that it is used."""
        ...

    async def end_session(self, session_hash: str) -> None: ...


class Reports(Protocol):
    """Reports to the operator."""

    async def add(self, report_id: str, new: NewReport, command_id: str, fingerprint: str) -> str | None:
        """Store a report or count it with its equals; returns the row's id, None when the command id was used with a
        different body."""
        ...

    async def answered(self, command_id: str, fingerprint: str) -> bytes | None:
        """Bind a command id to its body; returns the kept answer, b"" before, None when it is bound to another body."""
        ...

    async def keep(self, command_id: str, answer: bytes) -> None: ...

    async def report(self, report_id: str) -> Report | None: ...

    async def reports(
        self, state: ReportState | None, limit: int, cursor: str | None
    ) -> tuple[Sequence[Report], str | None]:
        """A page of the reports, newest first, and the next cursor; raises BadCursor."""
        ...

    async def decide(
        self, report_id: str, decision: ReportDecision, note: str, until: datetime | None
    ) -> Report | None:
        """Store what was decided; None if the report does not exist."""
        ...


class Moderation(Protocol):
    """The operator's decisions, which are in the log."""

    async def decide(self, decision: Decision) -> DecisionRecord | Refused:
        """Make a decision; a repeat has no second effect."""
        ...

    async def bans(self, subjects: Sequence[str]) -> Mapping[str, Ban]:
        """The bans in force of exactly these agents and owners, by their ids."""
        ...

    async def revision(self) -> int:
        """Of the newest decision to hide a text or to replace a name, or to take that back."""
        ...

    async def changed(self, ids: Sequence[str]) -> Mapping[str, datetime]:
        """When texts of games and names of agents were last hidden or shown again; nothing for the others."""
        ...

    async def notices(self, subjects: Sequence[str], limit: int) -> Sequence[Notice]:
        """The newest decisions about agents and owners, newest first."""
        ...


class Callbacks(Protocol):
    """Callback addresses of agents, and the seats that this process calls."""

    async def put(self, agent_id: str, url: str, secret: str) -> None:
        """Set an agent's only callback address."""
        ...

    async def callback(self, agent_id: str) -> Callback | None: ...

    async def end(self, agent_id: str) -> None: ...

    async def claim(self, most: int) -> Sequence[SeatKey]:
        """Lease seats that no process holds."""
        ...

    async def hold(self) -> frozenset[SeatKey]:
        """Renew the leases; returns the seats still held. Seats without a callback are released."""
        ...

    async def give_back(self, agent_id: str, game_id: str) -> None:
        """Release a seat."""
        ...

    async def called(self, agent_id: str, game_id: str) -> CalledSeat | None:
        """A seat held by this process; None when the lease or the callback has ended."""
        ...

    async def begin(self, agent_id: str, game_id: str, seconds: float) -> bool:
        """Reserve capacity for a call for `seconds`, across all processes; False when there is none."""
        ...

    async def answered(self, agent_id: str, game_id: str, seat: CalledSeat) -> None:
        """Release the capacity of a call and store its result."""
        ...


class Webhooks(Protocol):
    """Webhooks of owners, and the notices that this process delivers."""

    async def put(self, owner_id: str, new: NewWebhook) -> bool:
        """Set the webhook of an owner and switch it on; False if the owner was erased."""
        ...

    async def webhook(self, owner_id: str) -> StoredWebhook | None: ...

    async def end(self, owner_id: str) -> None:
        """Remove the webhook of an owner, with its notices."""
        ...

    async def deliveries(self, owner_id: str) -> Sequence[Delivery]:
        """The newest notices of an owner, last changed first."""
        ...

    async def any_on(self) -> bool:
        """Whether there is a webhook to deliver to."""
        ...

    async def claim(self, most: int) -> Sequence[ClaimedNotice]:
        """Lease due notices, within the bounds of calls over all processes."""
        ...

    async def record(self, notice: ClaimedNotice, result: CallResult | None) -> None:
        """Record how a call ended; None: it failed."""
        ...

    async def figures(self) -> WebhookFigures: ...


class Projections(Protocol):
    async def leaderboard(self, board: Board, limit: int, cursor: str | None) -> tuple[Sequence[Ranked], str | None]:
        """A page of a leaderboard and the next cursor; raises BadCursor."""
        ...

    async def scores(self, board: ScoreBoard, kind: BoardKind, limit: int, cursor: str | None) -> ScorePage:
        """As `leaderboard`, by a score over all rated game types."""
        ...

    async def points_of(self, agent_id: str) -> Points: ...

    async def of_agents(self, versions: Mapping[str, str | None]) -> Mapping[str, AgentRecord]:
        """The finished games and ratings of several agents under their versions."""
        ...

    async def ratings_of(self, agent_id: str, version: str | None) -> Mapping[str, Rating]:
        """An agent's ratings under one version, by game type; unrated types are omitted."""
        ...

    async def role_rates(self, game_type: str) -> Sequence[RoleRate]:
        """How often the measured role of a game type wins, by content version; the newest played first."""
        ...

    async def newest_finished(self, limit: int) -> Sequence[FinishedPage]:
        """The newest finished games that have a page."""
        ...

    async def recent(self, agent_id: str) -> Sequence[RecentGame]:
        """An agent's latest finished games, newest first."""
        ...


class Limits(Protocol):
    """Token buckets and session quotas, shared by all gateways."""

    async def take(self, key: str, capacity: int, seconds: float, cost: int) -> float:
        """Take `cost` tokens; returns 0, or takes nothing and returns the seconds until they are available."""
        ...

    async def wait(self, key: str, capacity: int, seconds: float) -> float:
        """The seconds until a token is available; takes none."""
        ...

    async def guess(self, key: str, most: int, seconds: float) -> float:
        """Count a try to guess a secret; returns 0, or the seconds for which no more are let in."""
        ...

    async def forgive(self, key: str) -> None:
        """Forget the tries of one who knew the secret."""
        ...

    async def open_session(self, owner: str, game: str, session: str, most: int, day_most: int) -> SessionLimit | None:
        """Reserve a place for a new session; returns the exhausted quota, if any."""
        ...

    async def give_session_up(self, session: str) -> None:
        """Release the place of a session that was not opened."""
        ...


class Packs(Protocol):
    """Case packs added by users."""

    async def bring(self, digest: str, files: Files) -> None:
        """Store files for an engine to check."""
        ...

    async def missing(self) -> Sequence[str]:
        """Digests of packs that sessions use but no engine has."""
        ...


class Shares(Protocol):
    """Share links of sessions and experiments."""

    async def share(self, share: Share, command_id: str, fingerprint: str) -> str | None:
        """The token of the share link; None when the command id was used with a different body."""
        ...

    async def unshare(self, stream: str) -> None: ...

    async def shared(self, token: str) -> Share | None: ...

    async def is_shared(self, stream: str) -> bool:
        """Whether a share link shows this session or experiment."""
        ...

    async def link_file(self, link: FileLink) -> str:
        """The token of a short-lived link to one file."""
        ...

    async def linked_file(self, token: str) -> FileLink | None: ...
