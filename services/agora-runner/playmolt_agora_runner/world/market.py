"""The market: what a trade pays, how the pool is shared out, what the treasury gives back. Amounts are in units."""

from fractions import Fraction

from playmolt_schemas.stored.agora.run import MarketSettled
from playmolt_schemas.stored.agora.turn import Effect
from playmolt_schemas.stored.agora.world import Rules

from playmolt_agora_runner.world import ledger, world
from playmolt_agora_runner.world.state import RunState
from playmolt_agora_runner.world.world import MARKET


def tax(rules: Rules, rate: int, gain: int | str) -> int:
    """The tax on a gain of energy at a rate in percent, in units.

    `at_least_one` rounds half up and takes 1 at least; only a rate of 0 is free. `exact` takes the rate of the gain.
    """
    if rules.tax_rounding == "exact":
        return int(gain) * rate
    return max(1, (2 * int(gain) * rate + 100) // 200) if rate else 0


def effective_tax(state: RunState, rate: int) -> str:
    """The tax in energy on the world's first taxed act, as decimal text."""
    rules = state.rules
    gain = next((row.gain.energy for row in world.of(state).rows.values() if "tax" in row.rules), rules.rewards.trade)
    due = Fraction(tax(rules, rate, gain), rules.unit)
    return str(due.numerator) if due.denominator == 1 else ledger.decimal(due, 2)


def shares(rules: Rules, pool: int, trades: dict[str, int], idle: tuple[str, ...]) -> dict[str, int]:
    """Share a pool out: first the minimum to each of `idle`, the rest by trades, in whole energy; the remainder is
    lost, and so is the rest if no agent traded."""
    unit = rules.unit
    least = min(rules.non_trader_min, pool // unit // len(idle)) * unit if idle else 0
    paid = dict.fromkeys(idle, least)
    rest, total = pool - least * len(idle), sum(trades.values())
    for agent, count in trades.items():
        paid[agent] = rest * count // total // unit * unit
    return {agent: amount for agent, amount in paid.items() if amount}


def settled(state: RunState) -> MarketSettled:
    """The end of an epoch at the market: pool, then treasury."""
    rules = state.rules
    trades = state.trades
    markets = {
        place for row in world.of(state).rows.values() if "pool" in row.rules for place in row.where or (MARKET,)
    }
    idle = tuple(name for name in state.living if state.agents[name].place in markets and name not in trades)
    paid = shares(rules, state.pool, trades, idle)
    kept = rules.treasury_cap * rules.unit
    overflow = max(0, state.treasury - kept) if rules.treasury_overflow != "off" else 0
    base = state.pool if rules.treasury_overflow == "permanent" else rules.pool * rules.unit
    applied, shadow = ledger.reckoned(state, Effect(energy=ledger.moved(state, paid.items()), treasury=-overflow))
    return MarketSettled(
        turn=state.turn,
        pool=state.pool,
        trades=trades,
        minimum=idle,
        shares=paid,
        lost=state.pool - sum(paid.values()),
        tax_rate=state.tax_rate,
        effective_tax=effective_tax(state, state.tax_rate),
        overflow=overflow,
        treasury=state.treasury - overflow,
        next_pool=base + overflow,
        shadow=rules.energy.ledger != "real",
        effect_applied=applied,
        effect_shadow=shadow,
    )
