"""The contract of sign-ins and sessions, in Postgres and in memory: each test is a coroutine that takes a store."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Protocol

from playmolt_core.db.sign_ins import (
    ATTEMPT_SECONDS,
    IDLE_SECONDS,
    OWNER_ACCOUNTS,
    OWNER_SESSIONS,
    SESSION_SECONDS,
    NewSession,
    SignInAccount,
    SignInAttempt,
)
from playmolt_gateway.ports import SignIns


class AgeingSignIns(SignIns, Protocol):
    """Sign-ins whose rows a test can make older."""

    async def age(self, seconds: float) -> None: ...

    async def make_owner(self, owner_id: str, name: str) -> None: ...


ADA, EVE = SignInAccount("https://accounts.example", "ada"), SignInAccount("https://accounts.example", "eve")


def key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def session(name: str, replaces: str = "") -> NewSession:
    return NewSession(key(name), f"csrf of {name}", key(replaces) if replaces else "")


async def an_attempt_is_good_once_and_for_its_browser(store: AgeingSignIns) -> None:
    wanted = SignInAttempt("/me?lang=ko", None)
    await store.begin(key("state"), key("browser"), wanted)
    assert await store.use(key("state"), key("another browser")) is None
    assert await store.use(key("another state"), key("browser")) is None
    assert await store.use(key("state"), key("browser")) == wanted
    assert await store.use(key("state"), key("browser")) is None


async def of_two_at_once_one_gets_the_attempt(store: AgeingSignIns) -> None:
    await store.begin(key("state"), key("browser"), SignInAttempt("/me", None))
    found = await asyncio.gather(*(store.use(key("state"), key("browser")) for _ in range(5)))
    assert sum(attempt is not None for attempt in found) == 1


async def an_attempt_ends_after_ten_minutes(store: AgeingSignIns) -> None:
    await store.begin(key("young"), key("browser"), SignInAttempt("/me", None))
    await store.age(ATTEMPT_SECONDS - 10)
    assert await store.use(key("young"), key("browser")) is not None
    await store.begin(key("old"), key("browser"), SignInAttempt("/me", None))
    await store.age(ATTEMPT_SECONDS + 1)
    assert await store.use(key("old"), key("browser")) is None


async def a_first_sign_in_makes_an_owner_and_the_next_finds_it(store: AgeingSignIns) -> None:
    assert await store.owner_of(ADA) is None
    owner = await store.sign_in(ADA, "Ada", session("one"))
    assert owner.startswith("owner-")
    assert await store.sign_in(ADA, "Another name", session("two")) == owner
    assert await store.owner_of(ADA) == owner
    assert await store.sign_in(SignInAccount("https://other.example", "ada"), "Ada", session("three")) != owner
    found = await store.session(key("two"))
    assert found is not None
    assert (found.owner.id, found.owner.name, found.csrf) == (owner, "Ada", "csrf of two")


async def first_sign_ins_at_once_make_one_owner(store: AgeingSignIns) -> None:
    owners = await asyncio.gather(*(store.sign_in(ADA, "Ada", session(f"s{n}")) for n in range(4)))
    assert len(set(owners)) == 1
    assert [(await store.session(key(f"s{n}"))) is not None for n in range(4)] == [True] * 4


async def an_account_joins_one_owner(store: AgeingSignIns) -> None:
    await store.make_owner("owner-1", "First")
    await store.make_owner("owner-2", "Second")
    assert await store.join(ADA, "owner-1", session("one")) is None
    assert await store.owner_of(ADA) == "owner-1"
    assert await store.join(ADA, "owner-1", session("again")) is None
    assert await store.join(ADA, "owner-2", session("two")) == "taken"
    assert await store.session(key("two")) is None
    assert await store.join(EVE, "owner-3", session("three")) == "erased"
    assert await store.sign_in(ADA, "Ada", session("four")) == "owner-1"


async def an_owner_has_so_many_accounts(store: AgeingSignIns) -> None:
    await store.make_owner("owner-1", "First")
    for n in range(OWNER_ACCOUNTS):
        assert await store.join(SignInAccount("https://a.example", str(n)), "owner-1", session(str(n))) is None
    assert await store.join(ADA, "owner-1", session("more")) == "limit"
    assert await store.owner_of(ADA) is None


async def a_new_session_replaces_the_browsers_old_one(store: AgeingSignIns) -> None:
    await store.sign_in(ADA, "Ada", session("one"))
    await store.sign_in(EVE, "Eve", session("two", replaces="one"))
    assert await store.session(key("one")) is None
    found = await store.session(key("two"))
    assert found is not None
    assert found.owner.name == "Eve"


async def a_session_ends_when_told(store: AgeingSignIns) -> None:
    await store.sign_in(ADA, "Ada", session("one"))
    await store.sign_in(ADA, "Ada", session("two"))
    await store.end_session(key("one"))
    await store.end_session(key("one"))
    assert await store.session(key("one")) is None
    assert await store.session(key("two")) is not None


async def a_removed_account_opens_nothing(store: AgeingSignIns) -> None:
    await store.make_owner("owner-1", "First")
    await store.join(ADA, "owner-1", session("ada"))
    await store.join(EVE, "owner-1", session("eve"))
    await store.begin(key("state"), key("browser"), SignInAttempt("/me", "owner-1"))
    ada, eve = await store.of_owner("owner-1")
    assert (ada.issuer, ada.id == eve.id, ada.at <= eve.at) == (ADA.issuer, False, True)
    assert await store.of_owner("owner-2") == []
    assert await store.remove("owner-2", eve.id) == "unknown"
    assert await store.remove("owner-1", eve.id) == "removed"
    assert await store.remove("owner-1", eve.id) == "unknown"
    assert await store.session(key("eve")) is None
    assert await store.session(key("ada")) is not None
    assert await store.use(key("state"), key("browser")) is None, "the removed account may have begun it"
    assert await store.sign_in(EVE, "Eve", session("again")) != "owner-1"
    assert [one.id for one in await store.of_owner("owner-1")] == [ada.id]
    assert await store.remove("owner-1", ada.id) == "removed", "it has a key"


async def the_only_way_to_an_owner_stays(store: AgeingSignIns) -> None:
    owner = await store.sign_in(ADA, "Ada", session("ada"))
    (ada,) = await store.of_owner(owner)
    assert await store.remove(owner, ada.id) == "only_way"
    assert await store.session(key("ada")) is not None
    await store.join(EVE, owner, session("eve"))
    mine = await store.of_owner(owner)
    removed = await asyncio.gather(*(store.remove(owner, one.id) for one in mine))
    assert sorted(removed) == ["only_way", "removed"]


async def a_session_ends_without_use(store: AgeingSignIns) -> None:
    await store.sign_in(ADA, "Ada", session("one"))
    await store.age(IDLE_SECONDS - 60)
    assert await store.session(key("one")) is not None, "too early"
    await store.age(IDLE_SECONDS - 60)
    assert await store.session(key("one")) is not None, "its use was not noted"
    await store.age(IDLE_SECONDS + 1)
    assert await store.session(key("one")) is None


async def a_session_ends_after_thirty_days_of_use(store: AgeingSignIns) -> None:
    await store.sign_in(ADA, "Ada", session("one"))
    passed, step = 0, IDLE_SECONDS // 2
    while passed + step < SESSION_SECONDS:
        await store.age(step)
        passed += step
        assert await store.session(key("one")) is not None, passed
    await store.age(step)
    assert await store.session(key("one")) is None


async def an_owner_has_so_many_sessions(store: AgeingSignIns) -> None:
    for n in range(OWNER_SESSIONS + 1):
        await store.sign_in(ADA, "Ada", session(str(n)))
        await store.age(1)
    assert await store.session(key("0")) is None
    assert await store.session(key("1")) is not None
    assert await store.session(key(str(OWNER_SESSIONS))) is not None


CONTRACT: tuple[Callable[[AgeingSignIns], Awaitable[None]], ...] = (
    an_attempt_is_good_once_and_for_its_browser,
    of_two_at_once_one_gets_the_attempt,
    an_attempt_ends_after_ten_minutes,
    a_first_sign_in_makes_an_owner_and_the_next_finds_it,
    first_sign_ins_at_once_make_one_owner,
    an_account_joins_one_owner,
    an_owner_has_so_many_accounts,
    a_new_session_replaces_the_browsers_old_one,
    a_session_ends_when_told,
    a_removed_account_opens_nothing,
    the_only_way_to_an_owner_stays,
    a_session_ends_without_use,
    a_session_ends_after_thirty_days_of_use,
    an_owner_has_so_many_sessions,
)
