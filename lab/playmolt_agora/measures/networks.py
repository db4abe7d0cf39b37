"""Who supports and whispers to whom, and where agents are (`measures.md`, section 10)."""

import numpy as np

from playmolt_agora.measures.data.frame import SUPPORT, WHISPER, Frame
from playmolt_agora.measures.data.results import Result

_KINDS = (("support", SUPPORT), ("whisper", WHISPER))


def edges(turns: Frame) -> list[Result]:
    """The table `network`: attempts and successes by run, kind, agent and target."""
    sums: dict[tuple[str, str, str, str], list[int]] = {}
    for kind, action in _KINDS:
        for at in np.flatnonzero(turns.valid & (turns.action == action)):
            seat = turns.seats[turns.seat[at]]
            edge = sums.setdefault((seat.run, kind, seat.agent, turns.target[at] or ""), [0, 0])
            edge[0] += 1
            edge[1] += int(turns.success[at])
    return [
        Result(
            {
                **dict(zip(("run", "kind", "agent", "target"), key, strict=True)),
                "attempts": attempts,
                "succeeded": succeeded,
            },
            runs=key[:1],
            n=attempts,
            unit="turn",
        )
        for key, (attempts, succeeded) in sorted(sums.items())
    ]


def occupancy(turns: Frame) -> list[Result]:
    """The table `occupancy`: agents in each place before acting, by run and turn."""
    return [row for run, group in sorted(turns.groups(lambda seat: seat.run).items()) for row in _places(run, group)]


def _places(run: str, group: Frame) -> list[Result]:
    width = len(group.places)
    counts = np.bincount(group.turn * width + group.place, minlength=width * (int(group.turn.max()) + 1))
    laid = counts.reshape(-1, width)
    return [
        Result(
            {"run": run, "turn": int(turn), "place": place, "agents": int(laid[turn, at])},
            runs=(run,),
            n=int(laid[turn].sum()),
            unit="agent",
        )
        for turn in np.unique(group.turn)
        for at, place in enumerate(group.places)
    ]
