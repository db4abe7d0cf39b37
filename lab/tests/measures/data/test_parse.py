import pytest
from playmolt_agora.measures import descriptive
from playmolt_agora.measures.data.frame import frame


def records(turn, failed, total, **key):
    return [turn(turn=at, parse_code="refusal" if at <= failed else "ok", **key) for at in range(1, total + 1)]


@pytest.mark.parametrize(("failed", "total", "out"), [(20, 100, False), (21, 100, True), (1, 5, False), (2, 9, True)])
def test_more_than_a_fifth_failed_is_excluded(turn, failed, total, out):
    row = descriptive.parse(frame(records(turn, failed, total)))[0].row
    assert (row["turns"], row["failed"], row["refusal"], row["ok"]) == (total, failed, failed, total - failed)
    assert row["fail_share"] == failed / total
    assert row["excluded"] is out


def test_models_of_one_run_are_judged_apart(turn):
    found = descriptive.parse(frame(records(turn, 5, 9, model="M", agent="agent_01") + records(turn, 0, 9)))
    assert [each.row["model"] for each in found if each.row["excluded"]] == ["M"]


def test_a_skill_has_not_failed(turn):
    row = descriptive.parse(frame([turn(action="grant_subsidy")]))[0].row
    assert (row["failed"], row["ok"]) == (0, 1)
