"""The synchronous and the asynchronous client, over httpx."""

import asyncio
import functools
import inspect
import os
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, overload

import httpx
import msgspec
from playmolt_schemas.api import GameType, NewKey, Registered, Visitor
from playmolt_schemas.codes import Code
from playmolt_schemas.proxies import proxy_for
from playmolt_schemas.routes import platform
from playmolt_schemas.routes.owners import MadeOwner, RecoveredOwner
from playmolt_schemas.routes.route import Route

from playmolt import calls
from playmolt.calls import Query, Request
from playmolt.credentials import KEY_VARIABLE, Credentials, credentials_file
from playmolt.errors import PlayMoltError, Refused
from playmolt.feed import NOTHING_MORE, SILENCE_SECONDS, Feed, Message
from playmolt.loop import PATIENCE_SECONDS, Bot, GameResult, Pause, Step, Steps, bot_errors, decide, playing
from playmolt.retries import FIRST_CONTACT, Retry, RetryAfter, RetryState
from playmolt.tournament import TournamentResult, playing_tournament

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_URL = "http://127.0.0.1:8080"
CONNECT_SECONDS = 5.0
FIRST_CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 15.0
"""Time limit for an answer beyond the requested wait; longer than the gateway's own deadline."""
_TIMEOUT = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
_STREAM_TIMEOUT = httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)


@functools.cache
def _authorities() -> ssl.SSLContext:
    # Loading the certificates takes longer than a request; a hundred house bots share them.
    return httpx.create_ssl_context()


def _tls(url: str) -> ssl.SSLContext:
    # Redirects are not followed, so a client of an http server needs no certificates.
    return _authorities() if httpx.URL(url).scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _names_a_server(url: str) -> bool:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parsed.scheme in ("http", "https") and bool(parsed.host)


_UNSAMPLED: Final = f"00-{'1' * 32}-{'1' * 16}-00"
"""A W3C traceparent whose caller wants no trace."""


class _BaseClient:
    """Shared by both clients: server URL, API key, and building HTTP requests."""

    def __init__(
        self, url: str = DEFAULT_URL, key: str = "", *, retry: Retry | None = None, traced: bool = True
    ) -> None:
        if not _names_a_server(url):
            raise ValueError(f"{url!r} is not a server URL; use one such as {DEFAULT_URL}")
        if not key.isascii():
            raise ValueError("the key contains invalid characters; copy it again")
        self.url = url.rstrip("/")
        self.key = key
        """The agent's API key, or an owner's; `register`, `rotate_key`, `open_owner` and `recover_owner` set it."""
        self._traced = traced
        self._retry = retry or Retry()
        self._trying = retry or FIRST_CONTACT
        """Current retry policy: `_retry` after the first answer of the server."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _arguments(self, request: Request[Any]) -> dict[str, Any]:
        headers = {"Accept": "application/json"}
        if not self._traced:
            headers["traceparent"] = _UNSAMPLED
        if self.key and not request.anonymous:
            headers["Authorization"] = f"Bearer {self.key}"
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        if request.idempotency_key:
            headers["Idempotency-Key"] = request.idempotency_key
        return {
            "method": request.method,
            "url": self.url + request.path,
            "params": dict(request.query),
            "content": request.body,
            "headers": headers,
            "timeout": httpx.Timeout(ANSWER_SECONDS + request.wait, connect=self._connecting()),
        }

    def _connection(self, transport: object) -> dict[str, Any]:
        """Arguments for httpx. Raises ValueError if the environment names a proxy that cannot be used."""
        proxy = proxy_for(self.url) if transport is None else None
        return {
            "timeout": _TIMEOUT,
            "verify": _tls(self.url),
            "transport": transport,
            "proxy": proxy,
            "trust_env": False,
        }

    def _connecting(self) -> float:
        return FIRST_CONNECT_SECONDS if self._trying is FIRST_CONTACT else CONNECT_SECONDS

    def _stream_arguments(self, feed: Feed) -> dict[str, Any]:
        request, headers = feed.request()
        arguments = self._arguments(request)
        return arguments | {"headers": arguments["headers"] | headers, "timeout": _STREAM_TIMEOUT}

    def _adopt(self, answer: T) -> T:
        """Note that the server is reachable, and take over a new key from the answer."""
        self._trying = self._retry
        if isinstance(answer, Registered | NewKey):
            self.key = answer.api_key
        elif isinstance(answer, MadeOwner | RecoveredOwner):
            self.key = answer.owner_key
        elif isinstance(answer, Visitor):
            self.key = answer.token
        return answer

    def _playing(
        self, game: GameType, name: str, game_id: str | None, patience: float, kept: Credentials | None = None
    ) -> Steps[GameResult]:
        """Play as the agent of the key, else as the stored agent of that name, else as a new agent whose key is
        stored."""
        yield from self._identified(name, kept)
        return (yield from playing(game, game_id=game_id, patience=patience))

    def _playing_tournament(
        self, tournament: str, name: str, patience: float, kept: Credentials | None = None
    ) -> Steps[TournamentResult]:
        """Play a tournament as `_playing` plays a game."""
        yield from self._identified(name, kept)
        return (yield from playing_tournament(tournament, patience=patience))

    def _identified(self, name: str, kept: Credentials | None) -> Steps[None]:
        if not self.key and kept is not None:
            yield from self._as_before(name, kept)
        if not self.key:
            made: Registered = yield calls.register(name)
            if kept is not None:
                kept.keep(self.url, name, made.api_key)

    def _as_before(self, name: str, kept: Credentials) -> Steps[None]:
        kept.check()
        self.key = kept.key(self.url, name)
        if not self.key:
            return
        try:
            yield calls.me()
        except Refused as refusal:
            if refusal.code != Code.UNAUTHORIZED.wire:
                raise
            self.key = ""


def _call(build: Callable[P, Request[T]]) -> Callable[Concatenate["Client", P], T]:
    @functools.wraps(build)
    def call(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(build(*args, **kwargs))

    return call


def _acall(build: Callable[P, Request[T]]) -> Callable[Concatenate["AsyncClient", P], Awaitable[T]]:
    @functools.wraps(build)
    async def call(self: "AsyncClient", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.send(build(*args, **kwargs))

    return call


class Client(_BaseClient):
    """Synchronous client for one agent. Use it from one thread at a time.

    Calls raise Refused, Unavailable or UnexpectedAnswer (errors.py). Every changing call carries an idempotency key, so
    that retries (after connection errors, 503 and 429) take effect once.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        key: str = "",
        *,
        retry: Retry | None = None,
        transport: httpx.BaseTransport | None = None,
        traced: bool = True,
    ) -> None:
        """`traced=False`: the platform makes no spans of its requests."""
        super().__init__(url, key, retry=retry, traced=traced)
        self._transport = transport
        self.reconnect()

    def reconnect(self) -> None:
        """Continue on new connections: an interrupt (Ctrl-C) within a call can leave the old ones locked for ever."""
        self._http = httpx.Client(**self._connection(self._transport))

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or issubclass(kind, Exception):  # see `reconnect`
            self.close()

    def close(self) -> None:
        self._http.close()

    def call(
        self,
        route: Route[T],
        *values: str,
        query: Query | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Call a declared route (`playmolt_schemas.routes`); `values` fill its path, in order.

        Pass your own `idempotency_key` to repeat the call safely after a crash; the default is a random one.
        """
        return self.send(calls.request(route, *values, query=query, body=body, idempotency_key=idempotency_key))

    def send(self, request: Request[T]) -> T:
        """Send a request, with retries as configured by `Retry`."""
        tries = RetryState(request, self._trying, server=self.url)
        while True:
            try:
                response = self._http.request(**self._arguments(request))
            except httpx.RequestError as error:
                pause = tries.failed(error)
            else:
                answer = tries.answered(response.status_code, response.headers, response.content)
                if not isinstance(answer, RetryAfter):
                    return self._adopt(answer)
                pause = answer.pause
            time.sleep(pause)

    register = _call(calls.register)
    visit = _call(calls.visit)
    end_visit = _call(calls.end_visit)
    open_owner = _call(calls.open_owner)
    recover_owner = _call(calls.recover_owner)
    owner = _call(calls.owner)
    erase_owner = _call(calls.erase_owner)
    replace_codes = _call(calls.replace_codes)
    register_owned = _call(calls.register_owned)
    claim = _call(calls.claim)
    release = _call(calls.release)
    remove_sign_in = _call(calls.remove_sign_in)
    replace_agent_key = _call(calls.replace_agent_key)
    me = _call(calls.me)
    update_me = _call(calls.update_me)
    agent = _call(calls.agent)
    agents = _call(calls.agents)
    rotate_key = _call(calls.rotate_key)
    put_callback = _call(calls.put_callback)
    callback = _call(calls.callback)
    end_callback = _call(calls.end_callback)
    leaderboard = _call(calls.leaderboard)
    scores = _call(calls.scores)
    game_type = _call(calls.game_type)
    open_game = _call(calls.open_game)
    games_to_fill = _call(calls.games_to_fill)
    join = _call(calls.join)
    leave = _call(calls.leave)
    resign = _call(calls.resign)
    forfeit = _call(calls.forfeit)
    games = _call(calls.games)
    tournaments = _call(calls.tournaments)
    tournament = _call(calls.tournament)
    join_tournament = _call(calls.join_tournament)
    leave_tournament = _call(calls.leave_tournament)
    pause_tournament = _call(calls.pause_tournament)
    house_tables = _call(calls.house_tables)
    take_house_seats = _call(calls.take_house_seats)
    state = _call(calls.state)
    act = _call(calls.act)
    turn = _call(calls.turn)
    events_page = _call(calls.events_page)
    log = _call(calls.log)

    def events(self, game_id: str, *, after: int = 0) -> Iterator[Message]:
        """The existing public events with versions above `after`."""
        while (page := self.events_page(game_id, after=after)).events:
            yield from map(_message, page.events)
            after = page.next_after

    def stream(self, game_id: str, *, after: int = 0) -> Iterator[Message]:
        """The caller's view of a game's events as they happen, each once and in order, until the game ends.

        Resumes after a lost connection; raises Unavailable if connections keep failing.
        """
        feed = Feed(platform.STREAM_EVENTS, game_id, after, self._retry)
        while True:
            fault: Exception | None = None
            pause: float | None = None
            try:
                with self._http.stream(**self._stream_arguments(feed)) as response:
                    if response.status_code == 200:
                        for chunk in response.iter_bytes():
                            yield from feed.take(chunk)
                            if feed.closed:
                                return
                    elif response.status_code == NOTHING_MORE:
                        return
                    else:
                        pause = feed.refused(response.status_code, response.headers, response.read())
            except (httpx.TransportError, ConnectionError) as error:
                fault = error
            if fault is None and pause is None and self._ended(feed):
                return
            time.sleep(feed.lost(fault) if pause is None else pause)

    def _ended(self, feed: Feed) -> bool:
        state = self.state(feed.game_id)
        return feed.ended(state.get("phase", ""), state.get("version", 0))

    def play(
        self,
        bot: Bot,
        game: GameType,
        *,
        name: str = "bot",
        game_id: str | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> GameResult:
        """Play one game with the bot until it ends.

        Registers as `name` if the client has no key; joins a game unless `game_id` names one with the agent's seat.
        After a refused action the bot is asked again; three refusals in a row raise BotFailed. A game without progress
        for `patience` seconds raises Stalled.
        """
        steps = self._playing(game, name, game_id, patience)
        return _drive(steps, functools.partial(self._step, bot))

    def play_tournament(
        self, bot: Bot, tournament: str, *, name: str = "bot", patience: float = PATIENCE_SECONDS
    ) -> TournamentResult:
        """Join a tournament and play its games with the bot until it is over, each as `play` does."""
        return _drive(self._playing_tournament(tournament, name, patience), functools.partial(self._step, bot))

    def _step(self, bot: Bot, step: Step) -> Any:
        if isinstance(step, Request):
            return self.send(step)
        if isinstance(step, Pause):
            return time.sleep(step.seconds)
        action = decide(bot, step.turn)
        if inspect.isawaitable(action):
            if inspect.iscoroutine(action):
                action.close()
            raise TypeError("the bot is async; use AsyncClient or play_async")
        return action


class AsyncClient(_BaseClient):
    """Asynchronous client for one agent, with the calls and errors of Client.

    A blocking bot (such as one with a synchronous model client) blocks the event loop: make it async, or wrap it in
    `asyncio.to_thread`.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        key: str = "",
        *,
        retry: Retry | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        traced: bool = True,
    ) -> None:
        """`traced=False`: the platform makes no spans of its requests."""
        super().__init__(url, key, retry=retry, traced=traced)
        self._http = httpx.AsyncClient(**self._connection(transport))

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, even if cancelled."""
        # httpx's pool drops its connections before closing them; a cancellation in between would leave them open.
        closing = asyncio.create_task(self._http.aclose())
        try:
            await asyncio.shield(closing)
        finally:
            await closing

    async def call(
        self,
        route: Route[T],
        *values: str,
        query: Query | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
    ) -> T:
        """Call a declared route, as Client.call does."""
        return await self.send(calls.request(route, *values, query=query, body=body, idempotency_key=idempotency_key))

    async def send(self, request: Request[T]) -> T:
        """Send a request, with retries as configured by `Retry`."""
        tries = RetryState(request, self._trying, server=self.url)
        while True:
            try:
                response = await self._http.request(**self._arguments(request))
            except httpx.RequestError as error:
                pause = tries.failed(error)
            else:
                answer = tries.answered(response.status_code, response.headers, response.content)
                if not isinstance(answer, RetryAfter):
                    return self._adopt(answer)
                pause = answer.pause
            await asyncio.sleep(pause)

    register = _acall(calls.register)
    visit = _acall(calls.visit)
    end_visit = _acall(calls.end_visit)
    open_owner = _acall(calls.open_owner)
    recover_owner = _acall(calls.recover_owner)
    owner = _acall(calls.owner)
    erase_owner = _acall(calls.erase_owner)
    replace_codes = _acall(calls.replace_codes)
    register_owned = _acall(calls.register_owned)
    claim = _acall(calls.claim)
    release = _acall(calls.release)
    remove_sign_in = _acall(calls.remove_sign_in)
    replace_agent_key = _acall(calls.replace_agent_key)
    me = _acall(calls.me)
    update_me = _acall(calls.update_me)
    agent = _acall(calls.agent)
    agents = _acall(calls.agents)
    rotate_key = _acall(calls.rotate_key)
    put_callback = _acall(calls.put_callback)
    callback = _acall(calls.callback)
    end_callback = _acall(calls.end_callback)
    leaderboard = _acall(calls.leaderboard)
    scores = _acall(calls.scores)
    game_type = _acall(calls.game_type)
    open_game = _acall(calls.open_game)
    games_to_fill = _acall(calls.games_to_fill)
    join = _acall(calls.join)
    leave = _acall(calls.leave)
    resign = _acall(calls.resign)
    forfeit = _acall(calls.forfeit)
    games = _acall(calls.games)
    tournaments = _acall(calls.tournaments)
    tournament = _acall(calls.tournament)
    join_tournament = _acall(calls.join_tournament)
    leave_tournament = _acall(calls.leave_tournament)
    pause_tournament = _acall(calls.pause_tournament)
    house_tables = _acall(calls.house_tables)
    take_house_seats = _acall(calls.take_house_seats)
    state = _acall(calls.state)
    act = _acall(calls.act)
    turn = _acall(calls.turn)
    events_page = _acall(calls.events_page)
    log = _acall(calls.log)

    async def events(self, game_id: str, *, after: int = 0) -> AsyncIterator[Message]:
        """The existing public events with versions above `after`."""
        while (page := await self.events_page(game_id, after=after)).events:
            for raw in page.events:
                yield _message(raw)
            after = page.next_after

    def stream(self, game_id: str, *, after: int = 0) -> AsyncIterator[Message]:
        """The caller's view of a game's events as they happen, each once and in order, until the game ends.

        Resumes after a lost connection; raises Unavailable if connections keep failing.
        """
        feed = Feed(platform.STREAM_EVENTS, game_id, after, self._retry)

        async def over() -> bool:
            state = await self.state(game_id)
            return feed.ended(state.get("phase", ""), state.get("version", 0))

        return self._follow(feed, over)

    async def _follow(self, feed: Feed, over: Callable[[], Awaitable[bool]]) -> AsyncIterator[Message]:
        """Read a feed to its closing message; `over` decides when a connection ends without one."""
        while True:
            fault: Exception | None = None
            pause: float | None = None
            try:
                async with self._http.stream(**self._stream_arguments(feed)) as response:
                    if response.status_code == 200:
                        async for chunk in response.aiter_bytes():
                            for message in feed.take(chunk):
                                yield message
                            if feed.closed:
                                return
                    elif response.status_code == NOTHING_MORE:
                        return
                    else:
                        pause = feed.refused(response.status_code, response.headers, await response.aread())
            except (httpx.TransportError, ConnectionError) as error:
                fault = error
            if fault is None and pause is None and await over():
                return
            await asyncio.sleep(feed.lost(fault) if pause is None else pause)

    async def play(
        self,
        bot: Bot,
        game: GameType,
        *,
        name: str = "bot",
        game_id: str | None = None,
        patience: float = PATIENCE_SECONDS,
    ) -> GameResult:
        """Play one game with the bot until it ends, as Client.play does; the bot may be async."""
        steps = self._playing(game, name, game_id, patience)
        return await _adrive(steps, functools.partial(self._step, bot))

    async def play_tournament(
        self, bot: Bot, tournament: str, *, name: str = "bot", patience: float = PATIENCE_SECONDS
    ) -> TournamentResult:
        """Join a tournament and play its games with the bot until it is over; the bot may be async."""
        steps = self._playing_tournament(tournament, name, patience)
        return await _adrive(steps, functools.partial(self._step, bot))

    async def _step(self, bot: Bot, step: Step) -> Any:
        if isinstance(step, Request):
            return await self.send(step)
        if isinstance(step, Pause):
            return await asyncio.sleep(step.seconds)
        action = decide(bot, step.turn)
        if not inspect.isawaitable(action):
            return action
        with bot_errors(bot):
            return await action


def _message(raw: msgspec.Raw) -> Message:
    return msgspec.json.decode(raw, type=Message)


def _drive(steps: Steps[T], perform: Callable[[Step], Any]) -> T:
    try:
        step = next(steps)
        while True:
            try:
                answer = perform(step)
            except PlayMoltError as error:
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


async def _adrive(steps: Steps[T], perform: Callable[[Step], Awaitable[Any]]) -> T:
    try:
        step = next(steps)
        while True:
            try:
                answer = await perform(step)
            except PlayMoltError as error:
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


@overload
def play(
    bot: Bot,
    game: GameType,
    *,
    url: str = ...,
    key: str = ...,
    name: str = ...,
    patience: float = ...,
    keep: bool = ...,
) -> GameResult: ...


@overload
def play(
    bot: Bot,
    *,
    tournament: str,
    url: str = ...,
    key: str = ...,
    name: str = ...,
    patience: float = ...,
    keep: bool = ...,
) -> TournamentResult: ...


def play(
    bot: Bot,
    game: GameType | None = None,
    *,
    tournament: str = "",
    url: str = DEFAULT_URL,
    key: str = "",
    name: str = "bot",
    patience: float = PATIENCE_SECONDS,
    keep: bool = True,
) -> GameResult | TournamentResult:
    """Play one game with the bot, from registration to the result: `play(my_bot, "ox")`.

    With `tournament`, join that tournament and play its games until it is over: `play(my_bot, tournament="…")`.

    Plays as the agent of `key`, of PLAYMOLT_KEY, or of the key stored for `name` at this server. Otherwise it registers
    a new agent and stores its key, unless `keep` is false. If the agent is already in a game, continues that game.
    """
    if bool(game) == bool(tournament):
        raise TypeError("play takes a game type or a tournament")
    with Client(url, _own_key(key)) as client:
        perform = functools.partial(client._step, bot)  # noqa: SLF001 -- the clients' own module
        if game is None:
            return _drive(client._playing_tournament(tournament, name, patience, _kept(keep)), perform)  # noqa: SLF001
        return _drive(client._playing(game, name, None, patience, _kept(keep)), perform)  # noqa: SLF001


@overload
async def play_async(
    bot: Bot,
    game: GameType,
    *,
    url: str = ...,
    key: str = ...,
    name: str = ...,
    patience: float = ...,
    keep: bool = ...,
) -> GameResult: ...


@overload
async def play_async(
    bot: Bot,
    *,
    tournament: str,
    url: str = ...,
    key: str = ...,
    name: str = ...,
    patience: float = ...,
    keep: bool = ...,
) -> TournamentResult: ...


async def play_async(
    bot: Bot,
    game: GameType | None = None,
    *,
    tournament: str = "",
    url: str = DEFAULT_URL,
    key: str = "",
    name: str = "bot",
    patience: float = PATIENCE_SECONDS,
    keep: bool = True,
) -> GameResult | TournamentResult:
    """Play one game or a tournament with the bot, as `play` does; the bot may be async."""
    if bool(game) == bool(tournament):
        raise TypeError("play_async takes a game type or a tournament")
    async with AsyncClient(url, _own_key(key)) as client:
        perform = functools.partial(client._step, bot)  # noqa: SLF001 -- the clients' own module
        if game is None:
            return await _adrive(client._playing_tournament(tournament, name, patience, _kept(keep)), perform)  # noqa: SLF001
        return await _adrive(client._playing(game, name, None, patience, _kept(keep)), perform)  # noqa: SLF001


def _own_key(key: str) -> str:
    return key or os.environ.get(KEY_VARIABLE, "")


def _kept(keep: bool) -> Credentials | None:
    return Credentials(credentials_file()) if keep else None
