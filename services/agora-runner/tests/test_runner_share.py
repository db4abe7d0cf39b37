"""Replicas share the runs of an experiment without knowing of each other."""

from contextlib import ExitStack

from playmolt_agora.workers.load_balancing import MOST_SECONDS, STEP_SECONDS, Share


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_idle_replica_takes_a_run_at_once() -> None:
    assert not Share(Clock()).leaves("run-1")


def test_a_busy_one_leaves_it_to_others_for_longer_the_more_it_holds() -> None:
    clock = Clock()
    share = Share(clock)
    with share.hold("run-1"), share.hold("run-2"):
        assert share.leaves("run-3")
        clock.now += STEP_SECONDS
        assert share.leaves("run-3")
        clock.now += STEP_SECONDS
        assert not share.leaves("run-3")


def test_a_replica_alone_takes_all_in_the_end() -> None:
    clock = Clock()
    share = Share(clock)
    with ExitStack() as held:
        for number in range(100):
            held.enter_context(share.hold(f"run-{number}"))
        assert share.leaves("run-100")
        clock.now += MOST_SECONDS
        assert not share.leaves("run-100")


def test_what_is_given_back_counts_no_more() -> None:
    clock = Clock()
    share = Share(clock)
    with share.hold("run-1"):
        assert share.leaves("run-2")
    assert not share.leaves("run-2")


def test_two_replicas_take_runs_in_turn() -> None:
    clock, taken = Clock(), [0, 0]
    replicas = [Share(clock), Share(clock)]
    with ExitStack() as held:
        open_runs = [f"run-{number}" for number in range(30)]
        while open_runs:
            clock.now += 0.25
            turn = round(clock.now / 0.25) % 2
            for run in list(open_runs):
                if not replicas[turn].leaves(run):
                    held.enter_context(replicas[turn].hold(run))
                    open_runs.remove(run)
                    taken[turn] += 1
    assert min(taken) >= 10
