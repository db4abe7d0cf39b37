"""The steering: what the person wants of the next rounds, merged from form to form."""

from typing import Any

from msgspec.structs import replace
from playmolt_schemas.games.legal import AnyForm, EndForm, Round1Form, Round2Form, SteeringSettings


def merged(steering: SteeringSettings, form: AnyForm) -> SteeringSettings:
    """Merge a form field by field: what it gives wins, lists are replaced, what it leaves out stays."""
    given = {name: value for name, value in _given(form).items() if value not in (None, "", ())}
    return replace(steering, **given)


def _given(form: AnyForm) -> dict[str, Any]:
    match form:
        case Round1Form():
            return {"focus_issues": form.focus_issues, "goal": form.goal, "stance": form.stance}
        case Round2Form():
            conceded = {"concession_range": form.concession_range} if form.settlement_interest else {}
            return {
                "proof_priority": form.proof_priority,
                "evidence_level": form.evidence_level,
                "obtainable_evidence": form.obtainable_evidence,
                "settlement_interest": form.settlement_interest,
                "constraints": form.constraints,
                "note": form.instructions,
                **conceded,
            }
        case EndForm():
            return {"report_style": form.report_style, "note": form.final_instructions}
        case _:
            return {}
