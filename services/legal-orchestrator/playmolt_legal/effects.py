"""Pending effects of a session: one turn of a model at a time."""

from typing import Any, Final

import msgspec
from playmolt_core.game.decider import Effect
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.legal import Hit, Kind

from playmolt_legal.state import State

TURN_EFFECT: Final = "llm_turn"
"""`Effect.kind` of a turn that a model owes; its payload is a PendingTurn."""


class PendingTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that a model owes. It ends in TurnSpoken or FailTurn.

    `draft` is the first answer where it is to be rewritten, `hits` what is wrong with it; both are the state's own.
    """

    phase: str
    draft: dict[str, Any] | None = None
    hits: tuple[Hit, ...] = ()

    @property
    def kind(self) -> Kind:
        """The turn's word in X-PlayMolt-Turn and in the log."""
        return "ask" if self.draft is None else "rewrite"


def effects(state: State) -> tuple[Effect[PendingTurn], ...]:
    """The turn in progress; a failed turn waits for a retry."""
    if not state.version or state.waiting != "model" or state.started_at is None:
        return ()
    turn = PendingTurn(phase=state.asked, draft=state.draft, hits=state.draft_hits)
    return (Effect(id=effect_id(state), kind=TURN_EFFECT, due=state.started_at, payload=turn),)


def effect_id(state: State) -> str:
    """The id of the pending turn: 32 hex digits, stable across crashes, different for a rewrite or a retry."""
    kind = "ask" if state.draft is None else "rewrite"
    return digest(["turn", state.game_id, state.asked, kind, state.starts])[:32]


def owes(state: State, effect: str) -> bool:
    """Whether the turn of this effect is still pending."""
    return state.waiting == "model" and effect == effect_id(state)
