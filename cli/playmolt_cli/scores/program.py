"""The process that fits scores: `python -m playmolt_cli.scores.program`, games in, scores out.

It is a process of its own, which no service waits for. The linear algebra runs on one thread: on several, sums are
added in another order, and the last digits would depend on the number of processors.
"""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
from playmolt_core.ops.children import die_with

from playmolt_cli.local.embedded.child import PYTHON
from playmolt_cli.scores.games import FEWEST_GAMES, Fit, Game
from playmolt_cli.terminal.failures import Failure

SECONDS: Final = 1800.0
"""The longest time of one fit."""
_NICENESS: Final = 10
_ONE_THREAD: Final = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def fitted(boards: Sequence[Sequence[Game]], *, intervals: bool = True, seconds: float = SECONDS) -> Sequence[Fit]:
    """The scores of the players of each board's games, from one process for all boards; raises Failure."""
    fits = {place: Fit((), 0) for place in range(len(boards))}
    # The others go without the process, whose libraries take a second to import.
    asked = {place: games for place, games in enumerate(boards) if _has_players(games)}
    if asked:
        fits |= zip(asked, _fitted([*asked.values()], intervals, seconds * len(asked)), strict=True)
    return [*fits.values()]


def _has_players(games: Sequence[Game]) -> bool:
    played = Counter(seat.player for game in games for seat in game.seats)
    return any(count >= FEWEST_GAMES for count in played.values())


def _fitted(boards: Sequence[Sequence[Game]], intervals: bool, seconds: float) -> Sequence[Fit]:
    try:
        done = subprocess.run(
            [*PYTHON, "-m", __name__],
            input=msgspec.msgpack.encode((intervals, boards)),
            stdout=subprocess.PIPE,
            check=True,
            timeout=seconds,
            env={**os.environ, **_ONE_THREAD},
            preexec_fn=die_with(os.getpid(), signal.SIGKILL),
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"The scores of {max(map(len, boards))} games took longer than {seconds:g} s.") from None
    except subprocess.CalledProcessError as error:
        raise Failure(f"The process that fits scores ended with status {error.returncode}.") from error
    return msgspec.msgpack.decode(done.stdout, type=list[Fit])


def main() -> None:
    from playmolt_cli.scores.fit import DRAWS, fit  # noqa: PLC0415 -- only here, where the number of threads is set

    os.nice(_NICENESS)
    intervals, boards = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=tuple[bool, list[list[Game]]])
    fits = [fit(games, draws=DRAWS if intervals else 0) for games in boards]
    sys.stdout.buffer.write(msgspec.msgpack.encode(fits))


if __name__ == "__main__":
    main()
