#!/usr/bin/env bash
# genai-prices 0.2.3 (what calls of models cost; Pydantic AI and Logfire use it), installed 2026-11: usage of several calls, later.
# Guess: usages can be added with `+`, so the price of a game is that of its sum; priced again tomorrow from the stored usage
#        with the same release it is the same.
# Seen:  three calls with 100,000 tokens each cost 0.945 with Claude Sonnet 4.5, their sum 1.8675: the sum passes the limit of the
#        price for long prompts. Gemini 2.5 Pro and GPT-5.4 are similar; Grok 4, which has one price, is right. Without a time
#        `calc_price` takes the present: DeepSeek Chat costs 0.0281 in the morning, half of that at 18:45 UTC, and o3 a
#        fifth of what it was in May 2025.
# Why it matters: totals by game, agent or season are up to twice what the provider asks for, and a report on a stored
#        run differs by the hour in which it is written. Price each call with its own time, and add the prices.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check genai-prices==0.2.3
"$folder/venv/bin/python" - <<'PY'
from datetime import UTC, datetime
from decimal import Decimal

from genai_prices import Usage, calc_price


def price(usage, model, time=None):
    return calc_price(usage, model_ref=model, genai_request_timestamp=time).total_price


call = Usage(input_tokens=100_000, output_tokens=1000)
noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
for model, calls, summed in (
    ("claude-sonnet-4-5", "0.945", "1.8675"),
    ("gemini-2.5-pro", "0.405", "0.795"),
    ("gpt-5.4", "0.795", "1.5675"),
    ("grok-4", "0.945", "0.945"),
):
    found = 3 * price(call, model, noon), price(call + call + call, model, noon)
    print(f"{model}: three calls {found[0]}, their sum {found[1]}")
    assert found == (Decimal(calls), Decimal(summed)), "it changed"

evening, spring = datetime(2026, 11, 30, 18, 45, tzinfo=UTC), datetime(2025, 5, 1, tzinfo=UTC)
for model, first, second, times in (("deepseek-chat", noon, evening, 2), ("o3", spring, noon, 5)):
    found = price(call, model, first), price(call, model, second)
    print(f"{model}: {found[0]} on {first:%Y-%m-%d %H:%M}, {found[1]} on {second:%Y-%m-%d %H:%M}")
    assert found[0] == times * found[1], "it changed"
assert price(call, "o3") == price(call, "o3", noon), "it changed"
PY
