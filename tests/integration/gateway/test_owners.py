"""Owners on a whole platform: claims in the log, owners on seats, games that are not rated, and what is never shown."""

import json
from collections.abc import Iterator
from itertools import count

import pytest

from tests.integration.gateway.rows import (
    NEEDED,
    Game,
    Guest,
    Json,
    Platform,
    Table,
    accepted,
    eventually,
    refused,
    started,
    together,
)

CONTACT = "ada-lovelace@analytical.example"
_ADDRESSES = (f"198.51.100.{number}" for number in count(1))


@pytest.fixture(scope="module")
def outside() -> Iterator[Platform]:
    """An `up` behind a proxy of this machine: callers have addresses."""
    yield from started(PLAYMOLT_TRUSTED_PROXIES="127.0.0.1", PLAYMOLT_REGISTRATION_LIMIT="1000/60")


@pytest.fixture
def site(outside: Platform) -> Platform:
    outside.clear()
    return outside


class Somebody(Guest):
    """An owner, whose requests come from one address."""

    def __init__(self, platform: Platform, name: str = "Ada", contact: str | None = None, address: str = "") -> None:
        self.address = address or next(_ADDRESSES)
        super().__init__(platform.http)
        body = {"name": name} | ({"contact": contact} if contact else {})
        self.made = accepted(self.post("/api/owners", body), 201)
        self.key, self.id, self.name = self.made["owner_key"], self.made["id"], name

    def ask(self, method: str, path: str, *, headers: dict[str, str] | None = None, **options: object) -> object:  # type: ignore[override]
        return super().ask(method, path, headers={"x-forwarded-for": self.address, **(headers or {})}, **options)

    def agent(self, name: str = "mine") -> Guest:
        made = accepted(self.post("/api/owners/me/agents", {"name": name}), 201)
        return Guest(self.http, made["api_key"], made["id"], name)

    def claim(self, agent: Guest, idem: str | None = None) -> object:
        return self.post("/api/owners/me/claims", {"api_key": agent.key}, idem=idem)


def agent_from(platform: Platform, address: str, name: str = "a guest", **more: str) -> Guest:
    answer = platform.anonymous.ask(
        "POST", "/api/agents", headers={"x-forwarded-for": address}, content=json.dumps({"name": name} | more)
    )
    made = accepted(answer, 201)
    return Guest(platform.http, made["api_key"], made["id"], name)


def strangers(platform: Platform, number: int) -> list[Guest]:
    """Agents of as many addresses."""
    return [agent_from(platform, next(_ADDRESSES)) for _ in range(number)]


def table(game: Game, guests: list[Guest]) -> Table:
    ids = {guest.join(game) for guest in guests}
    assert len(ids) == 1, "all sit in one game"
    assert len(guests) == NEEDED[game]
    return Table(ids.pop(), guests)


def start_of(platform: Platform, game_id: str) -> Json:
    return next(event for event in platform.events(game_id) if event["type"] == "game_started")


def ownership(platform: Platform, agent: Guest) -> list[tuple[str, str]]:
    """Who claimed an agent and who let it go, from the operator's log alone."""
    records: list[Json] = []
    after = 0
    while page := accepted(platform.operator.get("/api/admin/log", after=str(after), limit=1000))["records"]:
        records += page
        after = page[-1]["position"]
    return [
        (record["type"], record["data"]["owner_id"])
        for record in records
        if record["stream"] == f"ownership-{agent.id[6:]}"
    ]


def test_claims_are_events_and_show_on_the_agent(site: Platform) -> None:
    ada, bob = Somebody(site), Somebody(site, "Bob")
    guest = site.guest("claimed")
    accepted(ada.claim(guest, idem="one"))
    accepted(ada.claim(guest, idem="one"))
    refused(bob.claim(guest), 409, "already_claimed")
    assert accepted(guest.get("/api/agents/me"))["owner"] == {"id": ada.id, "name": "Ada"}
    assert ada.ask("DELETE", f"/api/owners/me/agents/{guest.id}").status_code == 204
    assert accepted(site.anonymous.get(f"/api/agents/{guest.id}"))["owner"] is None
    accepted(bob.claim(guest))
    assert ownership(site, guest) == [
        ("agent_claimed", ada.id), ("agent_released", ada.id), ("agent_claimed", bob.id),
    ]  # fmt: skip


def test_of_six_owners_one_claims(site: Platform) -> None:
    guest, owners = site.guest("wanted"), [Somebody(site, f"Owner {number}") for number in range(6)]
    answers = together([lambda owner=owner: owner.claim(guest) for owner in owners])
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409, 409]
    (won,) = [owner for owner, answer in zip(owners, answers, strict=True) if answer.status_code == 200]
    assert ownership(site, guest) == [("agent_claimed", won.id)]


def test_a_lost_key_is_no_lost_agent(site: Platform) -> None:
    ada = Somebody(site)
    lost = ada.agent()
    found = accepted(ada.post(f"/api/owners/me/agents/{lost.id}/keys", {}), 201)["api_key"]
    refused(lost.get("/api/agents/me"), 401, "unauthorized")
    accepted(Guest(site.http, found).get("/api/agents/me"))
    recovered = accepted(ada.post("/api/owners/recover", {"owner": ada.id, "code": ada.made["recovery_codes"][0]}))
    refused(ada.get("/api/owners/me"), 401, "unauthorized")
    ada.key = recovered["owner_key"]
    assert [agent["id"] for agent in accepted(ada.get("/api/owners/me"))["agents"]] == [lost.id]


def test_an_owner_takes_no_seat(site: Platform) -> None:
    ada, guest = Somebody(site), site.guest()
    game = guest.join("ox")
    refused(ada.post("/api/games/join", {"gameType": "ox"}), 403, "not_a_participant")
    refused(ada.act(game, {"type": "switch", "use_switch": False}), 403, "not_a_participant")
    assert accepted(ada.get(f"/api/games/{game}/state"))["game_id"] == game


def test_a_seat_shows_its_owner_of_the_time_by_name_until_the_owner_is_erased(site: Platform) -> None:
    ada, bob = Somebody(site, "Ada"), Somebody(site, 'B"ob \\ 보브')
    mine = ada.agent()
    guests = [mine, *strangers(site, 4)]
    game = table("ox", guests)
    assert ada.ask("DELETE", f"/api/owners/me/agents/{mine.id}").status_code == 204
    accepted(bob.claim(mine))

    def owners(rows: list[Json], key: str) -> dict[str, Json | None]:
        return {row[key]: row["owner"] for row in rows}

    shown = {"id": ada.id, "name": "Ada"}
    expected = {guest.id: shown if guest is mine else None for guest in guests}
    for viewer in (mine, guests[1], site.anonymous):
        assert owners(viewer.state(game.game_id)["participants"], "id") == expected
    turn = accepted(mine.get("/api/agents/me/turn", wait="5"))
    assert owners(turn["state"]["participants"], "id") == expected
    joined = [event for event in site.events(game.game_id) if event["type"] == "agent_joined"]
    assert [event.get("owner_id") for event in joined] == [ada.id, None, None, None, None]
    game.ox(*["OOXXX"] * 5)
    assert owners(site.anonymous.state(game.game_id)["results"], "agent_id") == expected
    assert start_of(site, game.game_id)["rated"] is True

    def listed() -> Json | None:
        rows = accepted(site.anonymous.get("/api/leaderboard"))["leaderboard"]
        return next((row for row in rows if row["id"] == mine.id), None)

    assert eventually(listed, "the agent is on no board")["owner"] == {"id": bob.id, "name": bob.name}
    assert ada.ask("DELETE", "/api/owners/me").status_code == 204
    assert set(owners(site.anonymous.state(game.game_id)["participants"], "id").values()) == {None}
    assert set(owners(site.anonymous.state(game.game_id, at="6")["participants"], "id").values()) == {None}


class TestRated:
    def test_two_agents_of_an_owner_play_a_game_that_is_not_rated(self, site: Platform) -> None:
        ada = Somebody(site)
        mine = [ada.agent() for _ in range(2)]
        others = strangers(site, 3)
        game = table("ox", [*others, *mine])
        started_with = start_of(site, game.game_id)
        assert (started_with["rated"], started_with["unrated"]) == (False, "one_owner")
        state = site.anonymous.state(game.game_id)
        assert (state["rated"], state["unrated"]) == (False, "one_owner")
        game.ox(*["OOXXX"] * 5)
        assert site.events(game.game_id)[-1]["rated"] is False

        def counted() -> Json | None:
            found = accepted(site.anonymous.get(f"/api/agents/{others[0].id}"))
            return found if found["recent"] and found["games"]["ox"] else None

        profile = eventually(counted, "the game does not count")
        assert profile["recent"][0]["rated"] is False
        assert profile["ratings"]["ox"] is None
        assert site.command("log", "verify").returncode == 0
        assert site.command("log", "check", "--redecide").returncode == 0

    @pytest.mark.parametrize("game", ["ox", "trial"])
    def test_agents_of_one_address_count_as_one_owners(self, site: Platform, game: Game) -> None:
        address = next(_ADDRESSES)
        twins = [agent_from(site, address) for _ in range(2)]
        seated = table(game, [*twins, *strangers(site, NEEDED[game] - 2)])
        assert start_of(site, seated.game_id)["unrated"] == "one_address"
        assert address not in site.anonymous.get(f"/api/games/{seated.game_id}/events").text

    def test_an_ipv6_network_is_one_address(self, site: Platform) -> None:
        same = [agent_from(site, f"2001:db8:0:{place}") for place in ("7::1", "7:ffff::2")]
        seated = table("ox", [*same, *strangers(site, 3)])
        assert start_of(site, seated.game_id)["unrated"] == "one_address"
        site.clear()
        others = [agent_from(site, f"2001:db8:0:{place}") for place in ("8::1", "9::1")]
        seated = table("ox", [*others, *strangers(site, 3)])
        assert start_of(site, seated.game_id)["rated"] is True

    def test_invited_agents_and_those_of_this_machine_do_not_count(self, site: Platform) -> None:
        body = {"people": 5, "until": "2100-01-01T00:00:00Z"}
        code = accepted(site.operator.post("/api/admin/invites", body), 201)["code"]
        address = next(_ADDRESSES)
        invited = [agent_from(site, address, invite_code=code) for _ in range(3)]
        seated = table("ox", [*invited, site.guest(), site.guest()])
        assert start_of(site, seated.game_id)["rated"] is True

    def test_a_private_game_gives_no_reason(self, site: Platform) -> None:
        ada = Somebody(site)
        first, *others = [ada.agent() for _ in range(5)]
        opened = accepted(first.post("/api/games", {"gameType": "ox"}), 201)
        for guest in others:
            accepted(guest.post("/api/games/join", {"gameType": "ox", "invite": opened["invite"]}))
        state = first.state(opened["game_id"])
        assert (state["phase"], state["private"], state["rated"]) == ("first_choice", True, False)
        assert "unrated" not in state

    def test_the_lobby_seats_one_agent_of_an_owner_where_others_wait(self, site: Platform) -> None:
        ada = Somebody(site)
        one, two, three = (ada.agent() for _ in range(3))
        first = one.join("ox")
        four = strangers(site, 4)
        assert two.join("ox") == first, "no other game waits"
        for guest in four[:3]:
            assert guest.join("ox") == first
        second = four[3].join("ox")
        assert second != first
        assert three.join("ox") == second
        more = ada.agent()
        assert more.join("ox") == second, "no other game waits"


def test_where_owners_are_required_others_are_not_rated() -> None:
    for site in started(PLAYMOLT_RATED_OWNERS="true"):
        owned = [Somebody(site, f"Owner {number}").agent() for number in range(5)]
        seated = table("ox", owned)
        assert start_of(site, seated.game_id)["rated"] is True
        seated = table("ox", [Somebody(site, str(number)).agent() for number in range(4)] + [site.guest()])
        assert start_of(site, seated.game_id)["unrated"] == "no_owner"


def test_what_identifies_an_owner_is_shown_to_nobody(site: Platform) -> None:
    """Twins: two owners that differ in contact and keys alone give answers that differ in neither."""
    secret = Somebody(site, "Ada", contact=CONTACT)
    guest = secret.agent("watched")
    claimed = site.guest("claimed")
    accepted(secret.claim(claimed))
    game = table("ox", [guest, *strangers(site, 4)])
    game.ox(*["OOXXX"] * 5)
    hidden = [CONTACT, secret.key or "", *secret.made["recovery_codes"], secret.address]
    paths = [
        "/api/agents", f"/api/agents/{guest.id}", f"/api/agents/{claimed.id}", "/api/leaderboard",
        f"/api/games/{game.game_id}/state", f"/api/games/{game.game_id}/events?limit=1000",
        f"/api/games/{game.game_id}/log", f"/watch/{game.game_id}", f"/agents/{guest.id}",
        f"/api/games/{game.game_id}/replay.html",
    ]  # fmt: skip
    for reader in (site.anonymous, guest, claimed, Somebody(site, "Bob")):
        for path in paths:
            text = reader.ask("GET", path).text
            assert not [one for one in hidden if one and one in text], path
    whole = json.dumps(list(_whole_log(site)))
    assert not [one for one in hidden if one and one in whole]
    assert '"Ada"' not in whole, "the log names an owner by its id"
    listed = accepted(site.operator.get("/api/admin/agents", limit="1000"))["agents"]
    assert {row["owner"]["contact"] for row in listed if row["id"] in (guest.id, claimed.id)} == {CONTACT}


def _whole_log(platform: Platform) -> Iterator[Json]:
    after = 0
    while page := accepted(platform.operator.get("/api/admin/log", after=str(after), limit=1000))["records"]:
        yield from page
        after = page[-1]["position"]


def test_owners_on_the_command_line(site: Platform) -> None:
    made = json.loads(site.command("owner", "new", "Ada", "--json").stdout)
    key = ("--key", made["owner_key"])
    guest = site.guest("for the shell")
    assert site.command("owner", "claim", guest.key or "", *key).returncode == 0
    lost = json.loads(site.command("owner", "register", "mine", *key, "--json").stdout)
    found = json.loads(site.command("owner", "new-key", lost["id"], *key, "--json").stdout)
    assert accepted(Guest(site.http, found["api_key"]).get("/api/agents/me"))["owner"]["id"] == made["id"]
    assert site.command("owner", "release", guest.id, *key).returncode == 0
    shown = json.loads(site.command("owner", "show", *key, "--json").stdout)
    assert [agent["id"] for agent in shown["agents"]] == [lost["id"]]
    codes = json.loads(site.command("owner", "codes", *key, "--json").stdout)["recovery_codes"]
    refusal = site.command("owner", "recover", made["id"], "--code", made["recovery_codes"][0])
    assert (refusal.returncode, "401 unauthorized" in refusal.stderr) == (2, True)
    new = json.loads(site.command("owner", "recover", made["id"], "--code", codes[0], "--json").stdout)["owner_key"]
    assert site.command("owner", "show", *key).returncode == 2
    assert "Ada" in site.command("owner", "show", "--key", new).stdout
    assert site.command("owner", "erase", "--yes", "--key", new).returncode == 0
    assert accepted(site.anonymous.get(f"/api/agents/{lost['id']}"))["owner"] is None
