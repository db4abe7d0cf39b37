"""House bots always act within the rules, do the same for the same seed, and are worth watching."""

import random
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from playmolt import Turn, bots
from playmolt.bots import ox, trial
from playmolt.bots.phrases import filled, language_of
from playmolt_core.game.decider import Accepted, Act, Create, DeadlinePassed, Join, Refused, Viewer
from playmolt_ox.rules import Ox
from playmolt_schemas.api import ActionOffer
from playmolt_schemas.limits import COMMENT_CHARS, SPEAK_CHARS
from playmolt_trial.rules import Trial

START = datetime(2026, 1, 1, tzinfo=UTC)
DECIDERS: dict[Any, Any] = {"ox": Ox(), "trial": Trial()}
seeds = st.integers(0, 2**32)


class Played:
    """A game of the real rules, played in memory; `late` is how often a seat misses the deadline of a phase."""

    def __init__(
        self, game: Any, players: Sequence[bots.HouseBot], seed: int, late: float = 0.0, language: str = "ko"
    ) -> None:
        self.decider = DECIDERS[game]
        self.state = self.decider.initial(f"{game}-1")
        self.turns: list[tuple[Turn, Any]] = []
        self.late = late
        self._at = START
        self._rng = random.Random(seed)
        config = {"language": language} | ({"phase_deadline_seconds": 60} if late else {})
        self._do(Create(seed=str(seed), config=config))
        self.players = {f"agent-{number}": bot for number, bot in enumerate(players)}
        for agent in self.players:
            self._do(Join(agent_id=agent, name=agent))
        while not self.decider.summary(self.state).over:
            self._phase()

    def _do(self, command: Any) -> None:
        decision = self.decider.decide(self.state, command, self._at)
        assert not isinstance(decision, Refused), (decision, command)
        assert isinstance(decision, Accepted)
        for event in decision.events:
            self.state = self.decider.evolve(self.state, event, self._at)

    def _phase(self) -> None:
        order = sorted(self.players, key=lambda _: self._rng.random())
        effect = next(iter(self.decider.effects(self.state)), None)
        for agent in order:
            turn = self.turn(agent)
            if turn and self._rng.random() >= self.late:
                action = self.players[agent](turn)
                self.turns.append((turn, action))
                self._do(Act(agent_id=agent, action=action))
        if effect:
            self._at += timedelta(seconds=61)
            self._do(DeadlinePassed(effect_id=effect.id))

    def turn(self, agent: str) -> Turn | None:
        offers = [ActionOffer(o.type, dict(o.schema)) for o in self.decider.allowed_actions(self.state, agent)]
        view = msgspec.json.decode(msgspec.json.encode(self.decider.view(self.state, Viewer(agent))))
        return Turn(view["game_id"], view["gameType"], view, offers) if offers else None


def texts(action: Any) -> Iterator[tuple[str, int]]:
    for field, limit in (("comment", COMMENT_CHARS), ("text", SPEAK_CHARS)):
        if field in action:
            yield action[field], limit


GAMES = [(game, policy) for game, names in bots.policies().items() for policy in names]


@pytest.mark.parametrize(("game", "policy"), GAMES)
@settings(max_examples=8)
@given(seed=seeds, late=st.sampled_from([0.0, 0.3]))
def test_every_action_is_offered_fits_its_schema_and_is_accepted(
    game: Any, policy: str, seed: int, late: float
) -> None:
    played = Played(game, bots.seats(game, DECIDERS[game].needed, policy, seed), seed, late)
    for turn, action in played.turns:
        offer = next(offer for offer in turn.actions if offer.type == action["type"])
        Draft202012Validator(offer.schema).validate(action)
        assert all(1 <= len(text.strip()) == len(text) <= limit for text, limit in texts(action))


@pytest.mark.parametrize(("game", "policy"), GAMES)
def test_the_same_seed_plays_the_same_game(game: Any, policy: str) -> None:
    def play(seed: object) -> list[Any]:
        return [a for _, a in Played(game, bots.seats(game, DECIDERS[game].needed, policy, seed), 5).turns]

    assert play("a") == play("a")
    assert play("a") != play("b")


@pytest.mark.parametrize(("game", "policy"), GAMES)
def test_a_turn_asked_twice_is_answered_alike(game: Any, policy: str) -> None:
    played = Played(game, bots.seats(game, DECIDERS[game].needed, policy, 3), 3)
    for turn, action in played.turns:
        agent = turn.state["self"]["id"]
        assert played.players[agent](turn) == action


@pytest.mark.parametrize("game", ["ox", "trial"])
def test_an_unknown_policy_names_the_known_ones(game: Any) -> None:
    with pytest.raises(LookupError, match="no house bots for 'chess'"):
        bots.seats("chess", 1)  # type: ignore[arg-type]
    with pytest.raises(LookupError, match=bots.policies()[game][0]):
        bots.seats(game, 1, "lucky")


def points(policies: list[str], games: int) -> dict[str, float]:
    """The mean game points of each policy over games with these seats."""
    total = dict.fromkeys(policies, 0)
    for seed in range(games):
        shuffled = random.Random(seed).sample(policies, len(policies))
        players = [ox.bot(policy, f"{seed}/{number}") for number, policy in enumerate(shuffled)]
        for row in msgspec.to_builtins(Played("ox", players, seed).state.results):
            total[shuffled[int(row["agent_id"].removeprefix("agent-"))]] += row["game_points"]
    return {policy: total[policy] / games / policies.count(policy) for policy in total}


def test_reading_the_table_beats_tossing_coins() -> None:
    mean = points(["table_reader", "random", "random", "random", "random"], 120)
    assert mean["table_reader"] > mean["random"] * 1.15, mean


@given(st.lists(st.floats(0, 1), max_size=6))
def test_the_counts_are_a_distribution_with_the_right_mean(chances: list[float]) -> None:
    spread = ox.counts(chances)
    assert sum(spread) == pytest.approx(1)
    assert sum(n * weight for n, weight in enumerate(spread)) == pytest.approx(sum(chances))


@pytest.mark.parametrize(
    ("mine", "others_o", "worth"), [("O", 0, 12), ("X", 4, 12), ("O", 1, 6), ("X", 3, 6), ("O", 2, 0), ("X", 0, 0)]
)
def test_gain_is_the_rule_of_the_points(mine: Any, others_o: int, worth: int) -> None:
    assert ox.gain(mine, others_o, 4) == worth


def case(evidence_for: list[str], evidence_against: list[str], speeches: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "case": {"case_id": "c", "evidence_for": evidence_for, "evidence_against": evidence_against},
        "history": [{"role": role, "text": text} for role, text in speeches],
    }


@given(seed=seeds)
def test_a_juror_is_moved_by_evidence_and_most_by_evidence_that_is_new(seed: int) -> None:
    silent = trial.persuasion(case(["a log of it"], ["no one saw it"], []), seed)
    talk = trial.persuasion(case(["a log of it"], ["no one saw it"], [("PROSECUTOR", "believe me")]), seed)
    proof = trial.persuasion(case(["a log of it"], ["no one saw it"], [("PROSECUTOR", "there is a log of it")]), seed)
    doubt = trial.persuasion(case(["a log of it"], ["no one saw it"], [("DEFENSE", "but no one saw it")]), seed)
    assert doubt < silent < talk < proof


def test_juries_of_house_bots_find_both_ways() -> None:
    verdicts = [Played("trial", bots.seats("trial", 6, seed=n), n).state.verdict for n in range(24)]
    assert {"GUILTY", "NOT_GUILTY"} == set(verdicts)


SCRIPTS = {"ko": "[가-힣]", "en": "[A-Za-z]", "zh": "[一-鿿]"}


@pytest.mark.parametrize("language", SCRIPTS)
@pytest.mark.parametrize("game", DECIDERS)
def test_house_bots_speak_and_quote_the_language_of_their_game_and_no_other(game: str, language: Any) -> None:
    """Seen: house bots quoted Korean evidence in English speeches."""
    others = [script for other, script in SCRIPTS.items() if other not in (language, "en")]
    for seed in range(4):
        played = Played(game, bots.seats(game, DECIDERS[game].needed, seed=seed), seed, language=language)
        said = [text for _, action in played.turns if (text := action.get("text") or action.get("comment"))]
        assert len(said) >= 24
        for text in said:
            assert re.search(SCRIPTS[language], text)
            assert not re.search("|".join(others), text)


def test_what_a_game_says_of_its_language_goes_before_its_words() -> None:
    state = {"language": "zh", "question": "Is it so?"}
    assert language_of(state, state["question"]) == "zh"
    assert language_of({}, state["question"]) == "en"


def test_nobody_repeats_itself_in_the_argument() -> None:
    played = Played("trial", bots.seats("trial", 6, "in_role", 4), 4)
    said = [(t.state["self"]["id"], a["text"]) for t, a in played.turns if t.state["phase"] == "argument"]
    assert len(said) == len(set(said)) == 18


def test_speeches_cite_the_case_they_are_held_in() -> None:
    played = Played("trial", bots.seats("trial", 6, "in_role", 2), 2)
    said = " ".join(a["text"] for t, a in played.turns if t.state["self"]["role"] == "PROSECUTOR")
    assert all(piece[:12] in said for piece in played.state.case.evidence_for[:2])


@given(title=st.text(), evidence=st.text(), limit=st.integers(60, 200))
def test_a_filled_template_keeps_to_its_limit(title: str, evidence: str, limit: int) -> None:
    text = filled(
        "In “{title}” there is this: {evidence}.", {"title": title, "evidence": evidence, "leaning": "x"}, limit
    )
    assert len(text) <= limit
    assert text.startswith("In “")


@given(title=st.text(max_size=400), pieces=st.lists(st.text(max_size=400), max_size=4), seed=seeds)
def test_speeches_keep_to_the_limit_whatever_the_case(title: str, pieces: list[str], seed: int) -> None:
    state = case(pieces, pieces[:1], []) | {"phase": "opening", "round": 0, "verdict": None}
    state["case"] |= {"title": title, "description": ""}
    offers = [ActionOffer("speak", {})]
    for role in ("PROSECUTOR", "DEFENSE", "JUDGE", "JUROR"):
        for policy in trial.POLICIES:
            seat = {"id": "a", "role": role}
            text = trial.bot(policy, seed)(Turn("trial-1", "trial", state | {"self": seat}, offers))["text"]
            assert 1 <= len(text) <= SPEAK_CHARS
