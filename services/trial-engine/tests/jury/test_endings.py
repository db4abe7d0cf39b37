"""Endings reached by play: each verdict, with everything found out and with nothing, in every language of the case."""

from collections.abc import Callable
from typing import Any

import pytest
from playmolt_cli.jury.overseer import ARGUMENTS
from playmolt_jury.content import pack
from playmolt_schemas.stored.jury import VerdictName

LANGUAGES = tuple(pack.shipped().materials)
STEPS_MOST = 80


def investigate(session: Any) -> None:
    """Reads everything, breaks every witness with what was not shown or said yet, and reads what that opens."""
    read_all(session)
    for witness in session.call("jury_witnesses")["witnesses"]:
        shown, said = list(session.state.read), dict[str, int]()
        for _ in range(STEPS_MOST):
            talk = session.call("jury_talk", {}, witness_id=witness["id"])
            if talk["cracked"]:
                break
            choices = sorted((each["id"] for each in talk["choices"]), key=lambda choice: said.get(choice, 0))
            if shown and not talk["ended"]:
                session.call("jury_talk", {"evidence_id": shown.pop(0)}, witness_id=witness["id"])
            elif choices:
                said[choices[0]] = said.get(choices[0], 0) + 1
                session.call("jury_talk", {"choice": choices[0]}, witness_id=witness["id"])
        read_all(session)


def read_all(session: Any) -> None:
    for item in session.call("jury_evidence_list")["evidence"]:
        if not item["locked"]:
            session.call("jury_evidence", evidence_id=item["id"])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("found", ["everything", "nothing"])
@pytest.mark.parametrize("verdict", ["guilty", "not_guilty"])
def test_an_ending_is_reached_by_play(
    performances: Callable[..., Any], language: str, found: str, verdict: VerdictName
) -> None:
    session = performances(language).to("investigation")
    if found == "everything":
        investigate(session)
    session.to("persuasion")
    for juror in session.state.juror_ids:
        for argument in ARGUMENTS[language][verdict]:  # type: ignore[index]
            session.chat(juror, argument)
    session.to("ended")
    assert session.call("jury_ending")["id"] == f"{verdict}_{found}"
