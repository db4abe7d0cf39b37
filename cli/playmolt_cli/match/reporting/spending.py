"""What the calls of a match came to, by player, out of the calls as they are kept."""

from collections.abc import Mapping
from decimal import Decimal

from playmolt_core.llm.catalogue import decimal_text

from playmolt_cli.match.reporting.report import Spending
from playmolt_cli.model_seats.calls import Calls, EndedCall


def spending(calls: Calls) -> Mapping[str, Spending]:
    lost = calls.lost_by_player
    ended: dict[str, list[EndedCall]] = {player: [] for player in lost}
    for key, call in calls.ended.items():
        ended[calls.begun[key].player].append(call)
    return {player: _of(found, lost[player]) for player, found in ended.items()}


def _of(ended: list[EndedCall], lost: int) -> Spending:
    usages = [call.usage or {} for call in ended]
    return Spending(
        calls=len(ended),
        lost_calls=lost,
        input_tokens=sum(usage.get("prompt_tokens") or 0 for usage in usages),
        output_tokens=sum(usage.get("completion_tokens") or 0 for usage in usages),
        cost=decimal_text(sum((Decimal(call.cost) for call in ended if call.cost is not None), Decimal(0))),
        unknown_calls=sum(call.cost is None for call in ended),
    )
