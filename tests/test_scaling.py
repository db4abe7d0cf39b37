"""The page on scaling has the computed tables, and the simulation agrees with arithmetic."""

from pathlib import Path

import pytest

from bench.scale import BATCH, FLUSH, HELD, PREPARED, commits_table, limits_table, simulate

PAGE = (Path(__file__).parents[1] / "docs" / "scaling.md").read_text("utf-8")


def test_the_page_has_the_tables() -> None:
    assert limits_table() in PAGE
    assert commits_table() in PAGE


def test_a_writer_with_more_than_it_can_do_does_what_its_commits_allow() -> None:
    alone = simulate(100_000, 1, 1, seconds=1)
    assert alone.rate == pytest.approx(BATCH / (BATCH * (PREPARED + HELD) + FLUSH), rel=0.02)


def test_a_counter_that_is_always_held_bounds_them_all() -> None:
    many = simulate(100_000, 20, 1)
    assert many.rate == pytest.approx(BATCH / (BATCH * HELD + FLUSH), rel=0.02)
    assert many.busy > 0.99


def test_shards_do_not_wait_for_each_other() -> None:
    one, two = simulate(2 * 15_000, 2, 1), simulate(2 * 15_000, 2, 2)
    assert two.rate > 1.3 * one.rate


def test_what_seldom_comes_waits_for_its_own_commit_alone() -> None:
    assert simulate(10, 4, 1, seconds=60).p50 == pytest.approx((PREPARED + HELD + FLUSH) * 1e3, rel=0.01)
