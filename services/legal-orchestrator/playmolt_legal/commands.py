"""What is asked of a session: by its person, and by the worker that carries out its effects."""

from typing import Any

from playmolt_core.game.decider import Command
from playmolt_schemas.games.legal import Facts, FailureCode, Kind, Side

from playmolt_legal.events import EvidenceAdded, Narrative


class OpenSession(Command, frozen=True, kw_only=True):
    """`POST /api/sessions`: the body as it came; `aliases` are the models there are."""

    agent_id: str
    name: str = ""
    seed: str
    body: Any
    aliases: tuple[str, ...] = ("scripted",)


class ContinueSession(Command, frozen=True, kw_only=True):
    """Open the session that `new_session` leads to, with the facts of the one before (`Legal.successor`)."""

    agent_id: str
    name: str
    seed: str
    previous_session: str
    case_type: str
    jurisdiction: str
    title: str
    language: str
    exclusions: tuple[str, ...]
    model: str
    narrative: Narrative
    facts: Facts
    side: Side = "neutral"
    uploads: tuple[EvidenceAdded, ...] = ()
    """What was uploaded, as it was stored; `facts` are without it."""


class PostFacts(Command, frozen=True, kw_only=True):
    """`POST …/facts`: the body as it came."""

    agent_id: str
    body: Any


class AddEvidence(Command, frozen=True, kw_only=True):
    """`POST …/evidence`: the upload as the gateway has read it."""

    agent_id: str
    body: Any


class PostForm(Command, frozen=True, kw_only=True):
    """`POST …/steering`: the body as it came; `next_session` is the id of a linked session, should it ask for one."""

    agent_id: str
    body: Any
    next_session: str = ""


class ChangeFact(Command, frozen=True, kw_only=True):
    """`POST …/facts/{fid}`: the body as it came."""

    agent_id: str
    fact_id: str
    body: Any


class Redo(Command, frozen=True, kw_only=True):
    """`POST …/redo`: the body as it came."""

    agent_id: str
    body: Any


class Retry(Command, frozen=True, kw_only=True):
    """`POST …/retry`: a turn that failed is owed again."""

    agent_id: str


class Attempted(Command, frozen=True, kw_only=True):
    """A request to a model was made for an effect; `attempt` is the model runtime's account of it, without floats."""

    effect_id: str
    phase: str
    kind: Kind
    attempt: dict[str, Any]


class TurnSpoken(Command, frozen=True, kw_only=True):
    """The answer to an effect: JSON that `outputs.read` takes."""

    effect_id: str
    output: Any


class FailTurn(Command, frozen=True, kw_only=True):
    """No usable answer to an effect came; its turn waits for a retry."""

    effect_id: str
    code: FailureCode
    detail: str
    attempts: int
