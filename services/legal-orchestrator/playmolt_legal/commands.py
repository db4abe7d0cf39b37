"""Commands to a session, from its person and from the worker of its effects."""

from typing import Any

from playmolt_core.game.decider import Command
from playmolt_schemas.stored.legal import EvidenceAdded, Facts, FailureCode, Kind, Narrative, Side


class OpenSession(Command, frozen=True, kw_only=True):
    """`POST /api/sessions` with the unparsed body; `aliases` are the available models."""

    agent_id: str
    name: str = ""
    seed: str
    body: Any
    aliases: tuple[str, ...] = ("scripted",)


class ContinueSession(Command, frozen=True, kw_only=True):
    """Opens the linked session with the facts of the previous one (`Legal.successor`)."""

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
    """The stored uploads, which `facts` does not include."""


class PostFacts(Command, frozen=True, kw_only=True):
    """`POST …/facts` with the unparsed body."""

    agent_id: str
    body: Any


class AddEvidence(Command, frozen=True, kw_only=True):
    """`POST …/evidence`: the upload as parsed by the gateway."""

    agent_id: str
    body: Any


class PostForm(Command, frozen=True, kw_only=True):
    """`POST …/steering` with the unparsed body; `next_session` is the id for a linked session."""

    agent_id: str
    body: Any
    next_session: str = ""


class ChangeFact(Command, frozen=True, kw_only=True):
    """`POST …/facts/{fid}` with the unparsed body."""

    agent_id: str
    fact_id: str
    body: Any


class Redo(Command, frozen=True, kw_only=True):
    """`POST …/redo` with the unparsed body."""

    agent_id: str
    body: Any


class Retry(Command, frozen=True, kw_only=True):
    """`POST …/retry`: requests a failed turn again."""

    agent_id: str


class Attempted(Command, frozen=True, kw_only=True):
    """A model request was made for an effect; `attempt` is the model runtime's record of it, without floats."""

    effect_id: str
    phase: str
    kind: Kind
    attempt: dict[str, Any]


class TurnSpoken(Command, frozen=True, kw_only=True):
    """The answer to an effect, as JSON for `outputs.read`."""

    effect_id: str
    output: Any


class FailTurn(Command, frozen=True, kw_only=True):
    """An effect got no usable answer; its turn waits for a retry."""

    effect_id: str
    code: FailureCode
    detail: str
    attempts: int
