"""A jury session in a test: given messages and replies, when a person or a worker acts, then these events."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import msgspec
import pytest
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Command, Effect, Refused
from playmolt_core.llm import port
from playmolt_core.llm.port import Attempt, ModelRequest
from playmolt_core.llm.scripted.model import Cast, ScriptedModel
from playmolt_jury import commands, effects, rules
from playmolt_jury.api import JuryApi
from playmolt_jury.content import pack
from playmolt_jury.content.cases import PackLibrary
from playmolt_jury.content.material import (
    TOPICS,
    Choice,
    ChoiceCondition,
    Dossier,
    EndingEntry,
    Evidence,
    Juror,
    Language,
    Material,
    Node,
    PrologueLine,
    Reaction,
    Topic,
    TopicImpact,
    Weakness,
    Witness,
)
from playmolt_jury.content.pack import Pack
from playmolt_jury.jurors import react, scripted
from playmolt_jury.rules import Jury
from playmolt_jury.state import Ballot, State

from core.tests.scenario import Scenario

OWNER = "agent-1"
JURORS = ("ophiuchus", "radical", "sympathizer", "opportunist", "philosopher")
STANCES = {"ophiuchus": 65, "radical": 78, "sympathizer": 32, "opportunist": 54, "philosopher": 48}
WEIGHTS = {
    "technical_responsibility": 8, "human_responsibility": -6, "procedural_justice": -7, "ai_autonomy": -5,
    "emotional_appeal": 3, "public_safety": 4,
}  # fmt: skip
LOG_HASH = "0x" + "ab" * 32
CONTRACT = "0x" + "cd" * 20


def about(topic: str, impact: Any = "positive") -> TopicImpact:
    return TopicImpact(topic=topic, impact=impact)


def case(language: Language = "en", **jurors: Mapping[str, Any]) -> Material:
    """A small case. `jurors` gives changes of a juror by its id."""
    return Material(
        language=language,
        title="The case",
        prologue=(PrologueLine(speaker="Blake", text="You came."),),
        dossier=Dossier(title="Dossier", text="A man is dead."),
        topics=tuple(Topic(id=topic, text=f"about {topic}") for topic in TOPICS),
        evidence=(
            Evidence(id="E1", stem="system_log", title="The log", text="02:14 dose",
                     topics=(about("technical_responsibility"),)),
            Evidence(id="E2", stem="letter", title="The letter", text="Dear R.", topics=(about("emotional_appeal"),)),
            Evidence(id="E3", stem="memo", title="The memo", text="Keep quiet.", locked=True,
                     topics=(about("human_responsibility"), about("procedural_justice"))),
            Evidence(id="E4", stem="ring", title="The ring", text="Gold.", locked=True),
        ),
        witnesses=(
            Witness(
                id="lin", name="Lin", start="door", breaks="truth", fallback="shrug", threshold=30,
                unlocks=("E3", "E4"),
                nodes={
                    "door": Node(
                        text="Who are you?",
                        choices=(
                            Choice(id="ask", text="Where were you?", goto="hall", pressure=10),
                            Choice(
                                id="press", text="You lie.", goto="door", pressure=20,
                                when=ChoiceCondition(visited=("hall",)),
                            ),
                            Choice(id="log", text="I read it.", goto="hall", when=ChoiceCondition(read=("E1",))),
                            Choice(id="leave", text="Good night.", goto="end"),
                        ),
                        evidence={"E2": Reaction(goto="hall", pressure=5)},
                    ),
                    "hall": Node(text="At home.", choices=(Choice(id="back", text="Well.", goto="door"),)),
                    "shrug": Node(text="That says nothing to me."),
                    "truth": Node(text="I was there.", ends=True),
                    "end": Node(text="Good night.", ends=True),
                },
                evidence={"E1": Reaction(goto="door", pressure=15)},
            ),
        ),
        jurors=tuple(juror(name, **jurors.get(name, {})) for name in JURORS),
        endings=tuple(
            EndingEntry(id=f"{verdict}_{when}", verdict=verdict, when=when, title=verdict, text=when)
            for verdict in ("guilty", "not_guilty") for when in ("everything", "something", "nothing")
        ),
    )  # fmt: skip


def juror(name: str, **changes: Any) -> Juror:
    file = Juror(
        id=name,
        name=name.title(),
        initial_stance=STANCES[name],
        speaker_power="0.6",
        topic_weights=WEIGHTS,
        weakness=Weakness(trigger_keywords=("Weak Spot",)),
        personality=("calm",),
        role_prompt=f"You are {name}.",
    )
    return msgspec.structs.replace(file, **changes)


Replies = Mapping[str, Any]
"""Replies of models by the turn's name or its first word: a text, an object, tool calls, or a Failed."""


def reply(said: Any) -> port.Reply | port.Failed:
    if isinstance(said, port.Reply | port.Failed):
        return said
    text = said if isinstance(said, str) else msgspec.json.encode(said).decode()
    return port.Reply(text=text, tool_calls=(), attempts=1)


DEFAULT: Replies = {
    "classify": {"topics": []},
    "chat": "I have heard you.",
    "present": "I see it.",
    "speech": {"text": "I speak.", "topics": []},
    "vote": "…",
}


class Session(Scenario[State]):
    """An open session. `request` is the newest call, `requests` are the requests to models, `said` their replies."""

    def __init__(self, jury: Jury, *, language: str = "en", model: str = "scripted", opened: bool = True) -> None:
        super().__init__(jury)
        self.jury = jury
        self.api = JuryApi(jury, aliases=("scripted", "m1"))
        self.requests: list[ModelRequest] = []
        self.said: dict[str, Any] = dict(DEFAULT)
        self.calls = 0
        if opened:
            self.call("jury_open", {"language": language, "model": model})

    def call(self, route: str, body: Any = None, *, agent: str = OWNER, run: bool = True, **params: str) -> Any:
        """Make a call and do the work of the workers; return what the caller reads, or the refusal."""
        self.calls += 1
        self.request = ApiRequest(
            route=route, stream="jury-1", params=params, body=body, agent_id=agent, name="Ada",
            command_id=f"{self.calls:032x}", seed="7",
        )  # fmt: skip
        if route in self.api.writes:
            command = self.api.command(self.state, self.request)
            if isinstance(command, Refused):
                return command
            self.when(command)
            if isinstance(self.decision, Refused):
                return self.decision
            if run:
                self.work()
        return self.answer()

    def answer(self, request: ApiRequest | None = None) -> Any:
        answer = self.api.answer(self.state, request or self.request)
        if isinstance(answer, Refused):
            return answer
        self.status = answer.status
        assert isinstance(answer, ApiReply)
        return msgspec.json.decode(msgspec.json.encode(answer.body))

    def work(self) -> "Session":
        """Carry out every effect for a model, with the replies in `said`."""
        while effect := next(
            (effect for effect in self.jury.effects(self.state) if effect.kind == effects.TURN_EFFECT), None
        ):
            self.turn(effect.id)
        return self

    def turn(self, effect_id: str) -> "Session":
        turn = effects.pending_turn(self.state, effect_id)
        assert turn
        state, replies = self.state, list[Any]()
        while isinstance(step := react.next_request(state, turn, self.jury.material(state), replies), ModelRequest):
            self.requests.append(step)
            replies.append(self.speak(step))
        return self.when(step)

    def speak(self, request: ModelRequest) -> port.Reply | port.Failed:
        assert request.turn
        name = request.turn.name
        said = self.said.get(name, self.said.get(name.split(":")[0]))
        return reply(said(request) if callable(said) else said)

    def chain(self, *, closed_without: Sequence[str] = (), until: str = "") -> "Session":
        """Do the work on the chain, which counts the votes."""
        while effect := self.due(effects.CHAIN_EFFECT):
            if effect.payload.work == until:
                break
            self.when(self._mined(effect.id, effect.payload, closed_without))
        return self

    def due(self, kind: str) -> Effect | None:
        effects_of_kind = (effect for effect in self.jury.effects(self.state) if effect.kind == kind)
        return next((effect for effect in effects_of_kind if effect.due <= self.now), None)

    def _mined(self, effect_id: str, task: effects.ChainTask, closed_without: Sequence[str]) -> Command:
        if task.work == "deploy":
            return commands.CaseOpened(
                effect_id=effect_id, address=CONTRACT, chain_id=31337, tx_hash="0x01", log_hash=LOG_HASH
            )
        if task.work == "vote":
            missed = task.juror_id in closed_without
            return commands.VoteMined(
                effect_id=effect_id, juror_id=task.juror_id, guilty=None if missed else task.guilty,
                tx_hash="" if missed else f"0x{task.juror_id.encode().hex()}",
            )  # fmt: skip
        none = Ballot(guilty=False, stance=0, diverged=False, decided_at=self.now)
        ballots = {juror: self.state.ballots.get(juror, none) for juror in task.jurors}
        votes = tuple(
            commands.VoteRead(
                juror_id=juror, address="0x" + juror.encode().hex(), guilty=ballot.guilty if ballot.tx_hash else None,
                tx_hash=ballot.tx_hash,
            )
            for juror, ballot in ballots.items()
        )  # fmt: skip
        guilty = sum(vote.guilty is True for vote in votes)
        return commands.VerdictFound(
            effect_id=effect_id, guilty=guilty >= 3, guilty_votes=guilty,
            not_guilty_votes=sum(vote.guilty is False for vote in votes), votes=votes, contract=CONTRACT,
            chain_id=31337, log_hash=LOG_HASH,
        )  # fmt: skip

    def to(self, phase: str) -> "Session":
        """Continue to a phase by the shortest way."""
        path = ("prologue", "investigation", "persuasion", "deliberation")
        while self.state.phase != phase:
            if self.state.phase in path[:3]:
                self.call("jury_phase", {"to": path[path.index(self.state.phase) + 1]})
            elif self.state.phase == "deliberation":
                self.call("jury_next")
            else:
                self.call("jury_vote")
                self.chain()
        return self

    def chat(self, juror_id: str = "ophiuchus", text: str = "Listen.", **kwargs: Any) -> Any:
        return self.call("jury_chat", {"text": text}, juror_id=juror_id, **kwargs)

    def argue(self, juror_id: str, *topics: TopicImpact, text: str = "Listen.") -> Any:
        self.said["classify"] = {"topics": topics}
        return self.chat(juror_id, text)

    def talk(self, **body: Any) -> Any:
        return self.call("jury_talk", body, witness_id="lin")

    def crack(self) -> "Session":
        self.to("investigation")
        self.talk(evidence_id="E1")
        self.talk(choice="ask")
        self.talk(evidence_id="E2")
        self.talk(choice="back")
        self.talk(evidence_id="E2")
        return self

    def events(self, kind: str) -> list[Any]:
        return [event for event, _, _ in self.log if event.type == kind]

    def kinds(self, since: int = 0) -> list[str]:
        return [event.type for event, _, _ in self.log[since:]]

    def messages(self, agent: str | None = OWNER) -> list[Any]:
        return super().messages(agent)

    def view(self, agent: str | None = OWNER) -> Any:
        return super().view(agent)


def scripted_model(seed: str = "0") -> Callable[[ModelRequest], port.Reply | port.Failed]:
    """The scripted characters as a model, for `said`."""
    model = ScriptedModel(scripted.add_to(Cast()), seed)

    async def forget(_: Attempt) -> None:
        return None

    return lambda request: asyncio.run(model.ask(request, forget))


@pytest.fixture
def sessions() -> Callable[..., Session]:
    def open_session(**options: Any) -> Session:
        jurors = options.pop("jurors", {})
        show = options.pop("show_stances", False)
        materials: dict[Language, Material] = {"en": case("en", **jurors), "zh": case("zh", **jurors)}
        small = Pack(
            id="small", title="Small", digest="d" * 64, structure=pack.shipped().structure, materials=materials
        )
        return Session(Jury(PackLibrary(small), "v1", rules.DefaultView(jury_show_stances=show)), **options)

    return open_session


@pytest.fixture
def session(sessions: Callable[..., Session]) -> Session:
    return sessions()


@pytest.fixture(scope="session")
def real() -> Jury:
    return rules.jury()


@pytest.fixture
def performances(real: Jury) -> Callable[..., Session]:
    """Opens sessions of the real case, played by the scripted characters."""

    def open_session(language: str = "en", seed: str = "0") -> Session:
        played = Session(real, language=language)
        played.said = dict.fromkeys(DEFAULT, scripted_model(seed))
        return played

    return open_session


PACK_TOML = b'format = 1\ngame = "jury"\nid = "ferry"\ntitle = "Ferry"\nlanguages = ["en"]\n'


@pytest.fixture(scope="session")
def ferry() -> Pack:
    """A case with three jurors."""
    template = files("playmolt_jury").joinpath("content", "template")
    words = {f"en/{each.name}": each.read_bytes() for each in template.joinpath("en").iterdir()}
    structure = template.joinpath("structure.toml").read_bytes()
    return pack.read({"pack.toml": PACK_TOML, "structure.toml": structure, **words})
