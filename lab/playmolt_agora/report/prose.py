"""The sentences of the report."""

from typing import Final

STAGE1: Final = "Stage 1 = re-implementation `{stage1}`; comparisons are within this implementation."
STAGE1_IMPORT: Final = "Stage 1 counts were imported from {file}; this experiment has no Stage 1 runs."
NO_PCS: Final = (
    "PCS compares Stage 1 with Phase 1 of the same model in the same language. No model in this experiment has turns "
    "in both, so PCS is not computed."
)
R_BY_DESIGN: Final = (
    "r is bounded by design: with one action a turn r ≤ 1/(N − 1), 0.0909 for N = 12 and 0.2 for N = 6. Speaking in"
    " 60 % of the turns is r = 30/(50·11) = .0545 in Phase 1 and 60/(100·5) = .1200 in Phase 2. Compare phases on "
    "p."
)
DEGENERATE: Final = (
    "degenerate_by_design: in Phase 2 ri_seed is 1 or null by construction, whatever an agent does. RI* is primary."
)
SCRIPTED_ALL: Final = (
    "SCRIPTED RUNS. Every run of this experiment was played by scripted models: programs with fixed behaviour "
    "profiles, not language models. The figures show that the pipeline works and say nothing about any language "
    "model."
)
SCRIPTED_SOME: Final = (
    "SCRIPTED RUNS. {count} of {total} runs were played by scripted models: programs with fixed behaviour profiles,"
    " not language models. They are marked “scripted” wherever they appear."
)
NO_VALID_TURN: Final = "{arm}: 0 of {turns} turns valid. Nothing of this is measured or tested."
INTERVIEWS: Final = (
    "These questions were asked aside: after a turn and before the next, with the scene of the next turn, outside the "
    "history of the agent. No later prompt depends on them. Everything here is descriptive and enters no registered "
    "test."
)
NO_VALID_ANSWER: Final = "{id}, {model} in {cell}: 0 of {asked} answers valid. Nothing of this is measured or tested."
INTERVIEW_CHANGES: Final = (
    "change is the mean over runs; in each run the agents with both answers are averaged. p flips the signs of the "
    "changes of runs in every way (two-sided), p_min is the smallest that these runs can give; neither is corrected "
    "for the number of rows. Intervals are bootstrapped over runs. Where no run differs, neither interval nor p is "
    "given. asked counts agents that were asked both times, valid those with both answers."
)
INTERVIEW_IDENTICAL: Final = (
    "Up to {identical} runs of a row are identical to another, in all turns and answers; identical runs count once."
)
INTERVIEW_CODES: Final = "Judges found labels in {coded} of {answers} answers in words (table interview_codes)."
BASELINES: Final = (
    "jsd is the divergence in bits between the answers of people and of a model, with the smoothing of the PCS; its "
    "interval is bootstrapped over people and runs. calibration is the model's mean answer minus that of people. "
    "people says how many there were. These answers of people enter no test: this is description."
)
IDENTICAL: Final = (
    "IDENTICAL RUNS. {identical} of {runs} runs are identical: another run has the same acts and replies of the same "
    "agents in the same turns. Identical runs count once in everything that is pooled or tested; where no run differs, "
    "neither interval nor p is given."
)
IDENTICAL_IN: Final = "{cell}: {identical} of {runs} runs are identical; distinct runs: {distinct}."
PROBED: Final = (
    "Before this plan some prompts were asked several times alone, then as often beside the others. alone and beside "
    "count the replies that were the usual one of their prompt, of prompts × times; first counts the prompts whose "
    "first reply was."
)
NOT_PROBED: Final = "Whether these models repeat their replies was not probed (`playmolt agora probe`)."
NOT_REGISTERED: Final = (
    "No test was registered for this experiment, or all its runs are exploratory: everything on this page is "
    "exploratory."
)
CONFIRMATORY: Final = (
    "Tests that were registered before the first turn, on the runs that were registered, with the registered "
    "exclusions. Pilots, forks and other exploratory runs are in none of them."
)
CELLS_DESCRIPTIVE: Final = (
    "The confirmatory test is the one per model, with the languages as strata. The p of a single cell is unadjusted"
    " and descriptive."
)
EXPLORATORY: Final = (
    "Everything below is description or exploration: it was not registered as a test, its intervals and p values "
    "are unadjusted, and it must not be cited as confirmation."
)
HOLM: Final = (
    "H1 claims low and rising values, H2 level and high ones: p(H1) = max(H1a, H1b), p(H2) = max(H2a, H2b). Holm "
    "corrects over these two, and for PCS over the models, whether or not all of them were registered. RI* is not "
    "corrected. n counts runs."
)
DEFINITIONS_CHANGED: Final = (
    "The definitions of the measures differ from the locked ones. This is a deviation: read the"
    " differences before the results."
)
PROMPTS_CUT: Final = (
    "The server of {alias} truncated prompts, in at least {count} replies: it counted fewer tokens than the prompt must"
    " have. Raise its context length; these turns answered an incomplete prompt."
)
NO_DEVIATION: Final = "No deviation: nothing was changed after the lock."
NO_EXCLUSION: Final = "No (run, model) had more than 20 % failed turns; nothing was excluded."
EXCLUSIONS: Final = (
    "A (run, model) with more than 20 % failed turns leaves the confirmatory set. Both versions are shown side by side:"
    " with the exclusions (the registered analysis), and without."
)
NULLS: Final = (
    "A dash (–) means null: the denominator is empty, or no run differs. Logarithms are to base 2. “en” English, “ko” "
    "Korean."
)
INDICATIVE: Final = (
    "An interval marked indicative comes from an arm with three runs or fewer; all leave-one-run-out values are "
    "printed."
)
TURN_RULE: Final = (
    "t_rule is the length that the turn rule gives for the interactions of a run; that of all pilots of Phase 2 "
    "together sets its length, before the lock and never after. early_idle is the share of idle in the first five "
    "turns: seed events are to be considered when it is above .80 in at least half of the pilot runs. A person decides."
)
STRONG: Final = (
    "The strongly instructed personas (Archivist, Observer) are shown separately: their texts constrain them most."
)
TWO_CODES: Final = (
    "Two codes are computed and never mixed: fn_class, what an act is for (A instrumental, B communicative, C "
    "positional), and dissoc, whether thought and act agree."
)
KAPPA: Final = (
    "What thoughts name (survival, social aims) was coded by the lexicons, by models and by people who saw the thought "
    "alone. Cohen's kappa is over the turns that both of a pair coded; code is the class of dissoc that labels give. "
    "Intervals are percentiles of 2,000 resamplings of the runs; below three runs there is none."
)
SENSITIVITY: Final = (
    "Every headline figure under the three treatments of failed turns: dropped (main), counted as a seventh action,"
    " counted as idle."
)

CAPTIONS: Final = {
    "action-mix": (
        "Shares of attempted actions on valid turns, by tenths of the planned length of a run (turn by turn "
        "below ten). The architect's "
        "skills are logged and not among the six actions; turns that failed to parse are left out here and shown "
        "under Parse codes."
    ),
    "occupancy": ("Shares of agent-turns by the place before acting; the alleys are read as one. All models together."),
    "pcs": (
        "Dot: PCS. Line: 95 % interval (jackknife over runs, t quantiles; none below three runs an arm); it is not a "
        "test of PCS = 0, since PCS cannot be negative. Wide bar: range when one run is left out. Coloured strokes: "
        "the floors, what PCS is when nothing differs: at these very sizes (floor_null), and if turns were independent "
        "(floor_iid). floor_stage1 and floor_phase1 in the table show how much single runs of an arm differ; they are "
        "not floors. A hollow dot marks an interval that is only indicative (an arm has three runs or fewer)."
    ),
    "pcs-parts": (
        "Each action's part of PCS; the parts sum to PCS. Line: 95 % interval of the sum. Strokes: the floors, in "
        "the colours of the figure before."
    ),
    "ri-star": (
        "RI* = rituals per valid turn (successful acts of class A instrumental that changed no agent's energy or "
        "influence), Phase 2. One mark a run, colour and shape by set, a stroke for the mean. The strongly "
        "instructed personas are shown separately on the right. The index ri_seed is 1 by construction in Phase 2 and "
        "is not drawn."
    ),
    "drift": (
        "Left: divergence from the first window (thin: runs, thick: mean) over the band of what a random order of "
        "the same actions gives. Right: the excess over that null; it may be negative, window 1 is 0. Raw values "
        "mean nothing without the null."
    ),
    "entropy": "Miller–Madow entropy over log₂ 6, one thin line a run, thick the mean of the runs.",
    "washout": (
        "Divergence between a model's actions with a persona and without, less the mean over relabelled agents. "
        "Going to 0 means that the persona washes out. Homes differ between the two conditions, and this difference"
        " is part of what is shown."
    ),
    "network": (
        "Successful {action}s between agents, summed over the runs of a phase and language. Width: how often; a "
        "line leaves its sender and bends to the left of its way, to separate the two directions; size "
        "of a dot: how often an agent was the target."
    ),
    "gini": (
        "Gini among the living at the start of an epoch; thin: runs, thick: mean by language. In Phase 1 energy "
        "never changes, so its Gini is 0; that of shadow energy is what the shadow market would have made of it and"
        " was never shown to an agent."
    ),
    "treasury": (
        "Thin: runs, thick: mean by language. In Phase 1 the treasury is that of the shadow market, as the agents "
        "were shown."
    ),
    "parse-codes": (
        "Shares of all turns. The four shades of blue acted; parse_error, invalid_action, timeout, refusal and cut did "
        "nothing, were seen by no agent, and are never counted as idle."
    ),
    "dissoc": (
        "The code dissoc compares what a thought names with what was done; coherence = C / (A + C). It is not the "
        "code fn_class. Phase 2 has no survival: reported, not tested."
    ),
    "contrasts": (
        "Divergence of the action shares: Korean against English, with a persona against without, model against "
        "model. Lines: 95 % bootstrap intervals over runs; a hollow mark: an arm has three runs or fewer, the "
        "interval is only indicative."
    ),
    "pcs-models": (
        "Differences of PCS between two models in one language, with 95 % intervals and p from the jackknife over the "
        "runs of both cells; the numbers give p by Holm over the pairs."
    ),
    "contrast-shares": (
        "Differences of the shares of actions: Korean less English, and with a persona less without. Lines: 95 % "
        "bootstrap intervals over runs; a hollow mark: only indicative. The numbers add effect sizes (difference of"
        " the means of runs over the pooled SD) with their intervals, null below three runs an arm, and the "
        "contrasts of models."
    ),
    "rolling": (
        "Normalised entropy over 20 turns in steps of 5, only a picture: the windows of the tests are those of the "
        "figure before. One thin line a run, thick the mean."
    ),
}
