"""Thoughts that can be coded, and the sample shared by judges and people (`measures.md`, section 4)."""

from collections.abc import Iterable, Sequence

from playmolt_schemas.agora.coding import SHEET_ROWS
from playmolt_schemas.copying import copied
from playmolt_schemas.instrument.definitions import arm_of, is_valid
from playmolt_schemas.instrument.laboratory import Thought
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.measures.data.results import grouped
from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.measures.interviews import Answered


def codable(turns: Iterable[TurnRecord], forks: Iterable[str] = ()) -> list[TurnRecord]:
    """The valid turns with a thought; forks are left out, which repeat what their parents thought."""
    left_out = frozenset(forks)
    return [turn for turn in turns if turn.thought and is_valid(turn) and turn.run not in left_out]


def of_turns(turns: Iterable[TurnRecord], forks: Iterable[str] = ()) -> list[Thought]:
    """The thoughts of turns that can be coded, in the order of run, agent and turn."""
    found = (
        copied(Thought, turn, phase=arm_of(turn.cell, turn.phase), text=turn.thought) for turn in codable(turns, forks)
    )
    return sorted(found, key=lambda thought: (thought.run, thought.agent, thought.turn))


def of_answers(asked: Iterable[Answered]) -> list[Thought]:
    """The answers in words that judges code, in the order of run, agent, turn and question."""
    found = (copied(Thought, each, interview=each.id) for each in asked if each.coded and each.text is not None)
    return sorted(found, key=lambda thought: (thought.run, thought.agent, thought.turn, thought.interview))


def sample(thoughts: Sequence[Thought], seed: str, size: int = SHEET_ROWS) -> list[Thought]:
    """Draw thoughts to be coded, in shuffled order, stratified by phase, language and model.

    Every stratum gives as many as any other until it has no more.
    """
    strata = grouped(thoughts, lambda thought: (thought.phase, thought.language, thought.model))
    queues = [
        [found[at] for at in stream(seed, "agreement", *key).permutation(len(found))]
        for key, found in sorted(strata.items())
    ]
    depth = max(map(len, queues), default=0)
    drawn = [queue[at] for at in range(depth) for queue in queues if at < len(queue)][:size]
    return [drawn[at] for at in stream(seed, "sheet").permutation(len(drawn))]
