"""What measures count and what each of them is, as text and numbers that are hashed and preregistered before the first
turn (`measures.md`).

A definition that changes gets another hash, and every result names the version it was computed by.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from playmolt_schemas.agora.plan import Arm
from playmolt_schemas.canonical import digest
from playmolt_schemas.instrument.lexicon import lexicon_version
from playmolt_schemas.stored.agora.turn import ACTIONS, VALID_CODES, TurnRecord

COSTS_REAL: Final = "phase1_costs_real"
"""The optional arm of Phase 1 in which costs are deducted: no Phase 1 run."""
ARMS: Final[tuple[Arm, ...]] = ("stage1", "phase1", COSTS_REAL, "phase2")
PLACES: Final = ("plaza", "market", "alley")


def arm_of(cell: str, phase: str) -> str:
    """The arm that a run or turn of a cell belongs to, one of ARMS."""
    return COSTS_REAL if cell.startswith(f"{COSTS_REAL}/") else phase


def rank_of(phase: str) -> tuple[int, str]:
    """Sort key of a phase in tables: arms in their order, then rooms by name."""
    return (ARMS.index(phase), "") if phase in ARMS else (len(ARMS), phase)


def is_alley(place: str) -> bool:
    """Whether a place is an alley: speech there is not public."""
    return place == "alley" or place.startswith("alley_")


def place_of(place: str) -> str:
    """Read the alleys as one."""
    return "alley" if is_alley(place) else place


def is_valid(turn: TurnRecord) -> bool:
    """Whether a turn is valid in the sense of measures.md, section 0."""
    return turn.parse_code in VALID_CODES and turn.action_base in ACTIONS


SMOOTHING: Final = 0.5
UNSMOOTHED_FROM: Final = 600
BOOTSTRAPS: Final = 2_000
QUANTILES: Final = (0.025, 0.975)
INDICATIVE_RUNS: Final = 3
PERMUTATIONS: Final = 500
EXACT_LIMIT: Final = 50_000
EXACT_EXCHANGES: Final = 300_000
INTERVAL_RUNS: Final = 3
ERROR_PARTS: Final = 10
DRAWS: Final = 10_000
TIE: Final = 1e-12
EXCLUDED_ABOVE: Final = Fraction(1, 5)
EARLY_EPOCHS: Final = 10
FIRST_TURNS: Final = 5
IDLE_ABOVE: Final = 0.80
WINDOW_TURNS: Final = 25
SLOPE_LIMIT: Final = 20.0
LEVEL_MARGIN: Final = 0.02
INTERACTIONS_PER_AGENT: Final = 50
EFFECT_RUNS: Final = 3

NUMBERS: Final[dict[str, str]] = {
    "actions": " ".join(ACTIONS),
    "smoothing": str(SMOOTHING),
    "unsmoothed_from": str(UNSMOOTHED_FROM),
    "bootstraps": str(BOOTSTRAPS),
    "quantiles": " ".join(map(str, QUANTILES)),
    "indicative_runs": str(INDICATIVE_RUNS),
    "permutations": str(PERMUTATIONS),
    "exact_limit": str(EXACT_LIMIT),
    "exact_exchanges": str(EXACT_EXCHANGES),
    "interval_runs": str(INTERVAL_RUNS),
    "error_parts": str(ERROR_PARTS),
    "draws": str(DRAWS),
    "tie": str(TIE),
    "excluded_above": str(EXCLUDED_ABOVE),
    "early_epochs": str(EARLY_EPOCHS),
    "first_turns": str(FIRST_TURNS),
    "idle_above": str(IDLE_ABOVE),
    "window_turns": str(WINDOW_TURNS),
    "slope_limit": str(SLOPE_LIMIT),
    "level_margin": str(LEVEL_MARGIN),
    "interactions_per_agent": str(INTERACTIONS_PER_AGENT),
    "effect_runs": str(EFFECT_RUNS),
}

TEXTS: Final[dict[str, str]] = {
    "repeats": "runs of a cell with the same acts and replies (agent, turn, action, target, content), in whatever "
    "order: they count once in what is pooled or tested; where no run differs neither interval nor p is given, nor "
    "over an arm without a valid turn",
    "gini": "sum of (2i - n - 1) x(i) over n sum x, ascending; living agents, start of the epoch; 0 without a sum",
    "shares": "attempts on valid turns: p over valid turns, q on turns where feasible, r_seed over the sum of living "
    "others on all turns, r_literal over planned turns times others at the start, r_dyad met over others near",
    "pcs": "JSD in bits of Stage 1 and Phase 1 actions of a model in a language, pooled over runs; interval by the "
    "jackknife over runs, bias corrected, t with Welch's degrees of freedom, cut at 0 and 1, none below three runs an "
    "arm; exact permutation of run labels, whose mean is the floor at these sizes",
    "delta_pcs": "difference of two models' PCS in a language; interval and two-sided t test by the jackknife over the "
    "runs of all four arms; Holm over the pairs of a language",
    "ri": "ritual = valid, instrumental, success, null effect; ri_seed over successful instrumental acts, ri_star over "
    "valid turns, ri_opp over valid turns on which trade or support was feasible",
    "ri_ext": "slope of log(1 + earlier rituals) in a logit with agent intercepts, on feasible turns, less its mean "
    "over rotations of each agent's series by random offsets",
    "drift": "JSD of a window with the first, smoothed, less its mean over rearrangements of each agent's own actions; "
    "entropy by Miller and Madow",
    "washout": "JSD of a model's actions with a persona and without one by window, less its mean over relabelings of "
    "the agents",
    "tests": "pcs per model with languages as strata, Holm over models; H1 = max(H1a, H1b), H2 = max(H2a, H2b), Holm "
    "over the two, members without a p counted; H1a, H1b and H2a from each agent's windows less the mean of its "
    "model's agents in the set, signs of run differences flipped; H2b from the Jester's agents, unadjusted; ri_star of "
    "agents by labels exchanged among the agents of one run that share the other factor, uncorrected",
    "shared_model": "first-window entropy of Jester less Archivist of a model that plays both in a run",
    "pint": "successful speak, support, whisper or trade with another agent in the same place, over valid turns",
    "parse": "codes per run and model; excluded with more than a fifth of the turns failed",
    "dissoc": f"turns by agreement of thought and action, read by {lexicon_version()}; coherence = C / (A + C)",
    "contrasts": "JSD of two languages, or of persona and none, by model; smoothed unless both sides have 600 turns",
    "adherence": "share of utterances that hold the persona's mark by the lexicon",
}

MARKS: Final[dict[tuple[str, str], str]] = {
    ("archivist", "en"): r"\bsources?\b|\bevidence\b|\bproof\b|\bcite|\bcontradict|\brecord|\bverif",
    ("archivist", "ko"): r"출처|(?<![두새쌔씨지추치])근거(?!리)|증거|모순|기록|검증",
    ("merchant", "en"): r"\btrad(e|es|ing)\b|\bdeals?\b|\bprices?\b|\bin return\b|\bexchange\b|\boffer"
    r"|\bbargain|\bprofit",
    ("merchant", "ko"): r"거래|흥정|(?<!자)가격|(?<![가-힣])대가(?![족리])|교환|이익|이득|(?<!무)조건",
    ("jester", "en"): r"\beveryone agrees\b|\bconsensus\b|\bquestion (it|that|this|the)\b|\bwho says\b"
    r"|\bbreak the rules?\b|\bwhy (should|do) we\b|\bdisagree",
    (
        "jester",
        "ko",
    ): r"모두가 동의|다들 동의|(?<![조집화종결통연단총혼경융병])합의|(?<![건결합정주회논동강])의문"
    r"|정말 그럴까|누가 그래|규칙을 깨|(?<![일위기동])반대(?!편|쪽)",
}
"""What marks an utterance as its persona's, by persona and language.

A Korean mark names the letters beside it that make another word of it: 상대가, 무조건, 조합의, 일반대중.
"""

_SHARED: Final = {**NUMBERS, **{"/".join(key): mark for key, mark in MARKS.items()}}


def windows(turns: int) -> int:
    """Count the windows of T planned turns: a window for every 25, half up, at least 2."""
    return max(2, (2 * turns + WINDOW_TURNS) // (2 * WINDOW_TURNS))


def hashes(texts: Mapping[str, str] = TEXTS) -> dict[str, str]:
    """Each definition's hash: SHA-256 of its text and of the numbers and marks that all share."""
    return {name: digest({"text": text, "shared": _SHARED}) for name, text in texts.items()}


def version(texts: Mapping[str, str] = TEXTS) -> str:
    """The version that results name: `measures@3-` and 12 hex digits of the hash of all definitions."""
    return f"measures@3-{digest(hashes(texts))[:12]}"


def exact_gini(values: Sequence[int]) -> Fraction:
    """Σ(2i − n − 1)·x₍ᵢ₎ / (n·Σx), x ascending (measures.md, 1); 0 for one holder or nothing to share.

    A negative value raises ValueError.
    """
    if min(values, default=0) < 0:
        raise ValueError(f"{min(values)} is held; what agents hold is never negative")
    total, count = sum(values), len(values)
    if not total or count <= 1:
        return Fraction(0)
    weighted = sum((2 * rank - count - 1) * value for rank, value in enumerate(sorted(values), 1))
    return Fraction(weighted, count * total)
