"""What the gateway needs of Postgres and NATS. Core implements it; the tests have twins in memory.

Every method may raise ConnectionError: the dependency is away, the caller answers 503.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from msgspec import UnsetType
from playmolt_core.bus.port import Bus, Watch
from playmolt_core.db.accounts import Agent, ListedAgent, NewAgent, Profile
from playmolt_core.db.limits import Full
from playmolt_core.db.projections import Board, Points, Ranked, Rating, RecentGame
from playmolt_core.db.shares import Share
from playmolt_core.effects.callbacks.seats import Callback, CalledSeat, SeatKey
from playmolt_core.ops.metrics import Sample
from playmolt_schemas.canonical import Files

AWAY: Final = (ConnectionError, TimeoutError, OSError)
"""What a dependency raises when it does not answer."""


class GatewayBus(Bus, Protocol):
    """The bus, with the few requests between services."""

    def services(self) -> frozenset[str]: ...

    async def watch_speech(self, game: str, identifier: str) -> Watch:
        """What is said in a session while it is said: no events, and some may be lost."""
        ...

    def feeds_move(self) -> bool: ...

    def samples(self) -> Iterable[Sample]:
        """What it counts."""
        ...

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call back whenever the connection is lost or back: what came in between was missed."""
        ...

    async def publish(self, subject: str, data: bytes = b"") -> None: ...

    async def on(self, subject: str, callback: Callable[[bytes], None]) -> None: ...

    async def request(self, subject: str, data: bytes = b"", timeout: float = 2.0) -> bytes: ...


class Database(Protocol):
    read_only: bool
    """Whether it was last seen to take no writes."""

    @property
    def reason(self) -> str:
        """Why it is of no use though it answers; else empty."""
        ...

    async def answers(self) -> bool: ...


class Accounts(Protocol):
    async def create_agent(self, agent_id: str, new: NewAgent, key_hash: str) -> str:
        """Store a new agent and its key, both or neither, and give its handle."""
        ...

    async def update_agent(
        self, agent_id: str, version: str | UnsetType | None, about: str | UnsetType | None
    ) -> Profile | None:
        """Change what is set and give the whole; None when there is no such agent."""
        ...

    async def profile(self, agent_id: str) -> Profile | None: ...

    async def rotate_key(self, agent_id: str, old_hash: str, new_hash: str) -> bool:
        """Replace an agent's key; False when the old one is no longer valid, and then nothing is changed."""
        ...

    async def claim_join(self, agent_id: str, command_id: str, fingerprint: str) -> bool:
        """Bind a join's command id to its body for good; False when it is bound to another body."""
        ...

    async def keep_seat(self, agent_id: str, game_id: str) -> None:
        """Remember that an agent is to be told when a game of its is over; the newest hundred are kept."""
        ...

    async def untold(self, agent_id: str) -> Sequence[str]:
        """The games that `keep_seat` remembers of an agent, oldest first."""
        ...

    async def told(self, agent_id: str, game_id: str) -> None:
        """Forget a game: its agent knows that it is over."""
        ...

    async def secret(self, name: str) -> bytes:
        """32 bytes that this installation keeps to itself, the same for ever."""
        ...

    async def owners(self, key_hashes: Sequence[str]) -> Mapping[str, Agent]:
        """The owner of each key; those without one are missing."""
        ...

    async def void_keys(self, seconds: float) -> Sequence[str]:
        """Keys that were replaced, or whose agent was changed, in the last so many seconds, an hour at most."""
        ...

    async def agents(
        self, limit: int, cursor: str | None, beginning: str = ""
    ) -> tuple[Sequence[ListedAgent], str | None]:
        """A page of the agents of whose name or handle that is the beginning, and the next cursor; raises BadCursor."""
        ...


class Callbacks(Protocol):
    """Where agents are called, and the seats for which this process calls them."""

    async def put(self, agent_id: str, url: str, secret: str) -> None:
        """Have an agent called there from now on, and nowhere else."""
        ...

    async def callback(self, agent_id: str) -> Callback | None: ...

    async def end(self, agent_id: str) -> None: ...

    async def claim(self, most: int) -> Sequence[SeatKey]:
        """Take seats of called agents that no process holds."""
        ...

    async def hold(self) -> frozenset[SeatKey]:
        """Go on holding what is held; gives that. A seat whose agent is no longer called is not among it."""
        ...

    async def give_back(self, agent_id: str, game_id: str) -> None:
        """Let another process take a seat at once."""
        ...

    async def called(self, agent_id: str, game_id: str) -> CalledSeat | None:
        """A seat that this process holds; None when it holds it no longer, or the agent is no longer called."""
        ...

    async def begin(self, agent_id: str, game_id: str, seconds: float) -> bool:
        """Take the room of a call for so long, over all processes; False when there is none now."""
        ...

    async def answered(self, agent_id: str, game_id: str, seat: CalledSeat) -> None:
        """Give the room of a call back, and keep what it came to."""
        ...


class Projections(Protocol):
    async def leaderboard(self, board: Board, limit: int, cursor: str | None) -> tuple[Sequence[Ranked], str | None]:
        """A page of a leaderboard and the next cursor; raises BadCursor."""
        ...

    async def points_of(self, agent_id: str) -> Points: ...

    async def ratings_of(self, agent_id: str, version: str | None) -> Mapping[str, Rating]:
        """An agent's ratings in this version of it, in the game types in which it was rated."""
        ...

    async def recent(self, agent_id: str) -> Sequence[RecentGame]:
        """The newest of an agent's finished games, newest first."""
        ...


class Limits(Protocol):
    """Token buckets and places for sessions, shared by all gateways."""

    async def take(self, key: str, capacity: int, seconds: float, cost: int) -> float:
        """Take `cost` tokens; 0 when they were there, else the seconds until they are (nothing is taken then)."""
        ...

    async def open_session(self, owner: str, game: str, session: str, most: int, day_most: int) -> Full | None:
        """Keep a place for a session that is opened, or say which places its owner has taken."""
        ...

    async def give_session_up(self, session: str) -> None:
        """Keep no place any more for a session that was not opened."""
        ...


class Packs(Protocol):
    """Cases that people bring."""

    async def bring(self, digest: str, files: Files) -> None:
        """Lay files down for an engine to check."""
        ...

    async def missing(self) -> Sequence[str]:
        """Digests of packs that sessions play and no engine has."""
        ...


class Shares(Protocol):
    """What owners show of their sessions and experiments."""

    async def share(self, share: Share, command_id: str, fingerprint: str) -> str | None:
        """The token of the address that stands from now on; None when this key came with another body before."""
        ...

    async def unshare(self, stream: str) -> None: ...

    async def shared(self, token: str) -> Share | None: ...
