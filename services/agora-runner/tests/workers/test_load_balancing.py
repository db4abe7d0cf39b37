"""Replicas balancer the runs of an experiment without knowing of each other."""

from contextlib import ExitStack

from playmolt_agora_runner.workers.model_worker import MOST_SECONDS, STEP_SECONDS, LoadBalancer


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_idle_replica_takes_a_run_at_once() -> None:
    assert not LoadBalancer(Clock()).leaves_to_others("run-1")


def test_a_busy_one_leaves_it_to_others_for_longer_the_more_it_holds() -> None:
    clock = Clock()
    balancer = LoadBalancer(clock)
    with balancer.hold("run-1"), balancer.hold("run-2"):
        assert balancer.leaves_to_others("run-3")
        clock.now += STEP_SECONDS
        assert balancer.leaves_to_others("run-3")
        clock.now += STEP_SECONDS
        assert not balancer.leaves_to_others("run-3")


def test_a_replica_alone_takes_all_in_the_end() -> None:
    clock = Clock()
    balancer = LoadBalancer(clock)
    with ExitStack() as held:
        for number in range(100):
            held.enter_context(balancer.hold(f"run-{number}"))
        assert balancer.leaves_to_others("run-100")
        clock.now += MOST_SECONDS
        assert not balancer.leaves_to_others("run-100")


def test_what_is_given_back_counts_no_more() -> None:
    clock = Clock()
    balancer = LoadBalancer(clock)
    with balancer.hold("run-1"):
        assert balancer.leaves_to_others("run-2")
    assert not balancer.leaves_to_others("run-2")


def test_two_replicas_take_runs_in_turn() -> None:
    clock, taken = Clock(), [0, 0]
    replicas = [LoadBalancer(clock), LoadBalancer(clock)]
    with ExitStack() as held:
        open_runs = [f"run-{number}" for number in range(30)]
        while open_runs:
            clock.now += 0.25
            turn = round(clock.now / 0.25) % 2
            for run in list(open_runs):
                if not replicas[turn].leaves_to_others(run):
                    held.enter_context(replicas[turn].hold(run))
                    open_runs.remove(run)
                    taken[turn] += 1
    assert min(taken) >= 10
