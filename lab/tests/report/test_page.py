"""The report: one page that opens offline, says what it is of, and keeps confirmation and exploration apart."""

import re
from collections.abc import Callable, Mapping
from html.parser import HTMLParser

import msgspec
import pyarrow as arrow
import pytest
from playmolt_agora.own_measures.running import MeasureResult
from playmolt_agora.report import page
from playmolt_agora.report.page import forks
from playmolt_agora.report.plots.gallery import Plot, gallery
from playmolt_agora.report.study import OwnContent, StudyData
from playmolt_agora.report.vega import size
from playmolt_schemas.instrument import measure_file
from playmolt_schemas.instrument.measure_file import MeasureDeclaration
from playmolt_schemas.stored.agora.plan import Folder

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Checked(HTMLParser):
    """Whether tags are balanced, and which ids, references and texts there are."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.addresses: list[str] = []
        self.names: set[str] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            elif name == "aria-labelledby":
                self.references += str(value).split()
            elif name in {"href", "src"}:
                self.addresses.append(str(value))
            assert not name.startswith("on"), f"a script in {tag} {name}"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes something else"


@pytest.fixture(scope="module")
def drawn(study: StudyData) -> Mapping[str, Plot]:
    return gallery(study)


@pytest.fixture(scope="module")
def html(study: StudyData, drawn: Mapping[str, Plot]) -> str:
    return page.render(study, drawn)


def undrawn(study: StudyData) -> str:
    """The page without its figures, which take most of the time."""
    return page.render(study, {})


def part(html: str, anchor: str) -> str:
    return html.split(f'<section id="{anchor}"', 1)[1].split("</section>", 1)[0]


def test_tags_are_balanced_ids_are_unique_and_references_lead_somewhere(html: str) -> None:
    checked = Checked(html)
    assert checked.open == []
    assert len(checked.ids) == len(set(checked.ids))
    assert set(checked.references) <= set(checked.ids)
    assert {each[1:] for each in checked.addresses if each.startswith("#")} <= set(checked.ids)


def test_nothing_is_loaded_and_nothing_runs(html: str) -> None:
    checked = Checked(html)
    assert not checked.names & {"script", "link", "img", "iframe", "object", "embed", "form"}
    assert all(each.startswith(("#", "/api/agora/runs/")) for each in checked.addresses)
    assert "default-src 'none'" in html
    assert not re.search(r"@import|url\(", html)


def test_it_has_a_language_landmarks_and_a_way_past_them(html: str) -> None:
    assert '<html lang="en">' in html
    assert {"header", "nav", "main", "h1"} <= Checked(html).names
    assert '<a class="skip" href="#content">' in html


def test_every_picture_has_a_title_and_says_in_words_what_it_shows(html: str, drawn: Mapping[str, Plot]) -> None:
    for name, figure in drawn.items():
        assert f'<figure id="{name}">' in html
        assert f'<title id="fig-{name}-t">{figure.title}</title>' in figure.svg
        said = re.search(f'<desc id="fig-{name}-d">([^<]*)</desc>', figure.svg)
        assert said is not None
        assert re.match(r"[0-9,]+ values?, from [−0-9.,]+ \(.+\) to [−0-9.,]+ \(.+\)\.$", said[1]), (name, said[1])


def test_all_plots_are_there(drawn: Mapping[str, Plot]) -> None:
    assert list(drawn) == [
        "pcs", "pcs-parts", "action-mix", "occupancy", "ri-star", "drift", "entropy", "washout", "network-support",
        "network-whisper", "gini", "treasury", "parse-codes", "dissoc", "contrasts",
    ]  # fmt: skip


@pytest.mark.parametrize("value", [0.0, None])
def test_pictures_of_zeros_and_of_nothing_have_a_size(
    value: float | None, study: StudyData, drawn: Mapping[str, Plot], changed: Callable[..., StudyData]
) -> None:
    tables = {
        name: [{column: value if isinstance(each, float) else each for column, each in row.items()} for row in table]
        for name, table in study.tables.items()
    }
    treasury = [{**row, "treasury": 0} for row in study.treasury]
    empty = gallery(changed(tables=tables, treasury=treasury))
    assert set(drawn) - set(empty) <= {"pcs", "pcs-parts"}
    assert all(1 < size(figure.svg)[1] < 1000 and "NaN" not in figure.svg for figure in empty.values())


def test_the_ritual_index_is_not_drawn_without_phase_2(study: StudyData, changed: Callable[..., StudyData]) -> None:
    rows = [{**row, "phase": "phase1"} for row in study.tables["ri"]]
    assert "ri-star" not in gallery(changed(tables={**study.tables, "ri": rows}))


def test_the_treasury_is_drawn_of_a_study_without_turns(changed: Callable[..., StudyData]) -> None:
    assert list(gallery(changed(turns=(), tables={}))) == ["treasury"]


def test_every_figure_names_its_definition_its_runs_and_leads_to_their_events(html: str) -> None:
    for body in html.split("<figure ")[1:]:
        figure = body.split("</figure>", 1)[0]
        assert re.search(
            r'class="source">Definition <code>[\w.]+</code> of <code>measures@0123456789ab</code> · \d+ runs', figure
        )
        assert re.search(r'<a href="/api/agora/runs/agora-[\w-]+/events\?after=0">[^<]+</a>.*?events 1–\d+', figure)


def test_in_a_bundle_events_are_lines_of_its_files(changed: Callable[..., StudyData]) -> None:
    html = page.render(changed(events_at="bundle"))
    assert 'href="events/agora-set-A-1.jsonl#1"' in html
    assert "/api/" not in html


def test_without_events_beside_it_a_page_leads_nowhere_but_to_itself(
    study: StudyData, changed: Callable[..., StudyData]
) -> None:
    html = page.render(changed(events_at=""))
    assert all(each.startswith("#") for each in Checked(html).addresses)
    assert study.runs[0].label in html


def test_an_address_leads_to_what_comes_after_the_version_before(
    study: StudyData, changed: Callable[..., StudyData]
) -> None:
    runs = (msgspec.structs.replace(study.runs[0], run="agora-x", first=7),)
    assert 'href="/api/agora/runs/agora-x/events?after=6"' in page.render(changed(runs=runs))
    assert 'href="events/agora-x.jsonl#7"' in page.render(changed(runs=runs, events_at="bundle"))


def test_stage_1_is_named_as_a_re_implementation(html: str) -> None:
    notice = "Stage 1 = re-implementation <code>stage1@abcdef012345</code>; comparisons are within this implementation."
    assert notice in html.split("<nav", 1)[0]
    assert notice in part(html, "confirmatory")


def test_without_stage_1_there_is_no_pcs_and_no_notice(study: StudyData, changed: Callable[..., StudyData]) -> None:
    pcs = [{**row, "pcs": None} for row in study.tables["pcs"]]
    runs = tuple(run for run in study.runs if run.phase != "stage1")
    html = page.render(changed(runs=runs, tables={**study.tables, "pcs": pcs}))
    assert "re-implementation" not in html
    assert "No model in this experiment has turns in both" in part(html, "confirmatory")
    assert 'id="fig-pcs' not in html


def test_imported_stage_1_counts_name_their_file(changed: Callable[..., StudyData]) -> None:
    assert "imported from earlier.csv" in undrawn(changed(stage1_import="earlier.csv"))


def test_scripted_runs_are_marked_plainly(
    html: str, study: StudyData, drawn: Mapping[str, Plot], changed: Callable[..., StudyData]
) -> None:
    assert "SCRIPTED RUNS. Every run" in html
    assert html.count('<span class="badge">scripted</span>') == len(drawn)
    live = tuple(msgspec.structs.replace(run, scripted=False) for run in study.runs)
    assert "SCRIPTED" not in page.render(changed(runs=live))
    some = (msgspec.structs.replace(live[0], scripted=True), *live[1:])
    assert f"SCRIPTED RUNS. 1 of {len(live)} runs" in undrawn(changed(runs=some))


def test_r_appears_beside_its_warning_and_ri_seed_beside_its_flag(html: str) -> None:
    assert "30/(50·11) = .0545 in Phase 1 and 60/(100·5) = .1200 in Phase 2" in part(html, "rates")
    assert "r_seed †" in part(html, "rates")
    assert "1.0000, degenerate_by_design" in part(html, "ritual")


def test_no_class_goes_by_a_bare_name(html: str) -> None:
    assert not re.search(r"Type [ABC]\b", html)


def test_registered_tests_are_confirmatory_and_others_are_not(html: str) -> None:
    confirmatory, exploratory = part(html, "confirmatory"), part(html, "exploratory-tests")
    for name in ("pcs:scripted-steady", "H1", "H1a", "H2", "H2b"):
        assert f">{name}<" in confirmatory
        assert f">{name}<" not in exploratory
    assert ">ri_star:model<" in exploratory
    assert ">ri_star:model<" not in confirmatory
    assert "&lt; 0.0001" in exploratory


def test_a_decision_follows_p_by_holm_and_the_registered_level(html: str) -> None:
    rows = dict(re.findall(r">(pcs:[\w-]+|H[12])</td>.*?>(holds|not shown)</td>", part(html, "confirmatory")))
    assert rows == {
        "pcs:scripted-steady": "holds", "pcs:scripted-trader": "not shown", "H1": "holds", "H2": "not shown",
    }  # fmt: skip


def test_a_registered_test_without_a_result_is_named(study: StudyData, changed: Callable[..., StudyData]) -> None:
    without = {**study.tables, "tests": study.tables["tests"][:2]}
    assert "Registered but without a result: H1, H1a, H1b, H2, H2a, H2b." in undrawn(changed(tables=without))


def test_pilots_and_forks_are_in_no_figure(study: StudyData, drawn: Mapping[str, Plot]) -> None:
    for figure in drawn.values():
        assert not {"agora-pilot", "agora-fork"} & {run.run for run in figure.runs}, figure.name
    shown = sum(line[5] for line in drawn["action-mix"].lines)  # type: ignore[misc]
    counted = [turn for turn in study.turns if not turn.exploratory and turn.run != "agora-fork" and turn.action]
    assert shown == len(counted)


@pytest.mark.parametrize("change", ["unregistered", "no test", "pilots only"])
def test_without_registration_or_registered_runs_everything_is_exploratory(
    change: str, study: StudyData, changed: Callable[..., StudyData]
) -> None:
    pilots = tuple(msgspec.structs.replace(run, exploratory=True) for run in study.runs)
    changes = {
        "unregistered": {"lock": None},
        "no test": {"lock": msgspec.structs.replace(study.lock, tests=())},  # type: ignore[type-var]
        "pilots only": {"runs": pilots},
    }
    html = page.render(changed(**changes[change]))
    assert "<p>PlayMolt Agora · exploratory</p>" in html
    assert "everything on this page is exploratory" in part(html, "confirmatory")
    assert ">H1</td>" not in part(html, "confirmatory")
    assert ">H1</td>" in part(html, "exploratory-tests")
    assert "PCS per model and language" in part(html, "exploratory-tests")


def test_deviations_are_printed_and_their_absence_is_said(html: str, changed: Callable[..., StudyData]) -> None:
    assert "budget raised &lt;again&gt;" in part(html, "registration")
    assert "No deviation" in undrawn(changed(deviations=()))


def test_definitions_other_than_the_locked_ones_are_a_notice(changed: Callable[..., StudyData]) -> None:
    html = undrawn(changed(definitions="measures@ffffffffffff"))
    assert "differ from the locked ones" in part(html, "registration")


def test_pilots_of_phase_2_are_pooled_and_forks_are_none(study: StudyData, changed: Callable[..., StudyData]) -> None:
    pilots = [run for run in study.runs if run.exploratory]
    other = msgspec.structs.replace(pilots[0], run="agora-pilot-2")
    early = msgspec.structs.replace(pilots[0], run="agora-pilot-3", phase="phase1")
    names = ["agora-pilot", "agora-pilot-2", "agora-pilot-3", "agora-fork", "agora-set-A-1"]
    pint = [
        {"run": name, "valid": valid, "interactions": met, "p_int": 0.5, "t_rule": 100, "early_idle": idle}
        for name, valid, met, idle in zip(
            names, (100, 60, 100, 100, 100), (50, 10, 90, 90, 90), (0.9, 0.8, 0.9, 0.9, 0.9), strict=True
        )
    ]
    html = undrawn(changed(runs=(*study.runs, other, early), tables={**study.tables, "pint": pint}))
    pooled = part(html, "interaction").split("The pilots together</caption>")[1].split("</table>")[0]
    cells = [cell for cell in re.sub("<[^>]+>", "|", pooled).split("|") if cell]
    assert dict(zip(cells[2::2], cells[3::2], strict=True)) == {
        "pilot runs of Phase 2": "2", "valid turns, n": "160", "interactions, i": "60", "P_int = i / n": "0.3750",
        "turn rule, T": "140", "runs with early_idle above .80": "1 of 2", "consider seed events (L18)": "yes",
    }  # fmt: skip
    without = [{**row, "run": f"x{number}"} for number, row in enumerate(pint)]
    assert "The pilots together" not in undrawn(changed(tables={**study.tables, "pint": without}))


def test_the_plans_remarks_are_repeated(html: str) -> None:
    assert "allow_unbalanced: true" in part(html, "registration")


def test_excluded_runs_are_named_and_results_stand_both_ways(
    html: str, study: StudyData, changed: Callable[..., StudyData]
) -> None:
    excluded = part(html, "exclusions")
    assert study.tables["parse"][0]["run"] in excluded
    assert "Tests both ways" in excluded
    assert "PCS, all runs" in excluded
    assert "beta_excess, all runs" in excluded
    kept = {**study.tables, "parse": [{**study.tables["parse"][0], "excluded": False}]}
    assert "nothing was excluded" in undrawn(changed(tables=kept))


def test_an_indicative_interval_comes_with_all_leave_one_out_values(html: str) -> None:
    confirmatory = part(html, "confirmatory")
    assert "marked indicative" in confirmatory
    assert "0.3521" in confirmatory


def test_the_three_treatments_of_failed_turns_are_shown(html: str) -> None:
    assert "counted as a seventh action" in part(html, "contrasts-section")
    assert "0.3100" in part(html, "contrasts-section")


def test_a_fork_in_a_world_of_ones_own_diverges_by_what_acts_count_as(
    study: StudyData, changed: Callable[..., StudyData]
) -> None:
    own = [msgspec.structs.replace(turn, action=turn.action and f"own_{turn.action}") for turn in study.turns]
    _, _, divergence = next(forks(study))
    assert any(value for _, value in divergence)
    assert next(forks(changed(turns=own)))[2] == divergence


def test_a_fork_is_shown_beside_its_parent(html: str, study: StudyData) -> None:
    _, first, divergence = next(forks(study))
    assert first is not None
    assert (first[0].turn, first[0].agent) == (first[1].turn, first[1].agent)
    assert first[0].turn > 8
    assert [window for window, _ in divergence] == [1, 2]
    body = part(html, "forks")
    assert "model=other" in body
    assert "Cost of the fork: 0.125" in body


def test_what_comes_from_outside_is_text(study: StudyData, changed: Callable[..., StudyData]) -> None:
    evil = "<script>alert(1)</script>\"'\x00"
    pcs = [{**row, "model": evil} for row in study.tables["pcs"]]
    html = page.render(changed(name=evil, tables={**study.tables, "pcs": pcs}))
    assert "script" not in Checked(html).names
    assert "&lt;script&gt;alert(1)" in html
    assert "\x00" not in html


def test_an_experiment_without_turns_has_a_page(changed: Callable[..., StudyData]) -> None:
    html = page.render(changed(runs=(), turns=(), tables={}, treasury=(), deviations=()))
    assert Checked(html).open == []
    assert "0 runs, 0 turns" in html
    assert "<figure" not in html


def test_empty_cells_are_null_and_not_0(study: StudyData, changed: Callable[..., StudyData]) -> None:
    first, *others = study.tables["pcs"]
    empty = dict.fromkeys(first)
    pcs = [first, *({**empty, "model": row["model"], "language": row["language"]} for row in others)]
    html = page.render(changed(tables={**study.tables, "pcs": pcs}))
    assert "null: an arm has no valid turn" in html
    assert ">0.0000<" not in part(html, "confirmatory").split("PCS and its companions")[1].split("</table>")[0]


def test_equal_studies_give_equal_bytes(html: str, study: StudyData) -> None:
    assert page.render(study) == html


def test_truncated_prompts_are_reported(html: str, changed: Callable[..., StudyData]) -> None:
    assert "truncated prompts" not in html
    warned = undrawn(changed(prompt_cut={"fake": 7}))
    assert "The server of fake truncated prompts, in at least 7 replies" in warned


def test_the_first_page_names_identical_runs_and_arms_without_a_valid_turn(
    study: StudyData, changed: Callable[..., StudyData]
) -> None:
    silent = tuple(
        msgspec.structs.replace(turn, parse_code="cut") if turn.model == "scripted-wild" else turn
        for turn in study.turns
    )
    repeats = [
        {"phase": "phase1", "set": None, "language": "ko", "model": "scripted-steady", "exploratory": False, "runs": 3,
         "identical": 3, "distinct": 1},
        {"phase": "phase2", "set": "A", "language": "ko", "model": "m, n", "exploratory": False, "runs": 2,
         "identical": 0, "distinct": 2},
    ]  # fmt: skip
    probe = {"model": "scripted-steady", "at": "today", "prompts": 3, "times": 4, "alone": 9, "first": 0, "beside": 5}
    found = undrawn(changed(turns=silent, tables={**study.tables, "repeats": repeats}, plan={"probes": [probe]}))
    first = found.partition("<main")[0]
    turns = sum(turn.model == "scripted-wild" for turn in silent)
    assert f"scripted-wild: 0 of {turns} turns valid" in first
    assert "3 of 5 runs are identical" in first
    assert "phase1 · scripted-steady · ko: 3 of 3 runs are identical; distinct runs: 1" in first
    assert "Reproducibility of replies" in found
    assert "0 of" not in undrawn(study).partition("<main")[0]


def test_words_in_a_fork_are_marked_for_a_page_for_strangers(
    study: StudyData, changed: Callable[..., StudyData]
) -> None:
    turns = tuple(
        msgspec.structs.replace(turn, content="a <secret>", target="a secret") if turn.run == "agora-fork" else turn
        for turn in study.turns
    )
    runs = tuple(
        msgspec.structs.replace(run, parent=msgspec.structs.replace(run.parent, change="content=another secret"))
        if run.parent
        else run
        for run in study.runs
    )
    found = part(undrawn(changed(turns=turns, runs=runs)), "forks")
    assert "<p data-private>Content in the fork: a &lt;secret&gt;</p>" in found
    assert "content=<span data-private>another secret</span>" in found
    assert "<span data-private>a secret</span></td>" in found
    assert found.count("secret") == 3


def test_texts_of_custom_measures_are_marked_for_a_page_for_strangers(changed: Callable[..., StudyData]) -> None:
    declared = measure_file.read(
        "loud",
        'KEYS = ("agent",)\nCOLUMNS = {"agent": "str", "model": "str", "said": "str", "times": "int"}\n'
        'LABELS = {"model": {"ko": "모델", "en": "Model"}, "said": {"ko": "말", "en": "Words"},'
        '          "times": {"ko": "번", "en": "Times"}}\n'
        "def measure(turns):\n    return turns\n",
    )
    assert isinstance(declared, MeasureDeclaration), declared
    rows = [{"agent": "agent_01", "model": "scripted", "said": "a <secret>", "times": 2}]
    made = MeasureResult(name="loud", table=arrow.Table.from_pylist(rows), declared=declared)
    failed = MeasureResult(name="broken", code="measure_failed", detail="KeyError: 'a secret'")
    own = OwnContent(folder=Folder(hash="", files=()), measures=(made, failed))
    found = undrawn(changed(own=own))
    assert "<td>agent_01</td>" in found.replace(' class="s"', "")
    assert found.count("secret") == found.count("<span data-private>a &lt;secret&gt;</span>") + found.count(
        "measure_failed: <span data-private>KeyError: &#39;a secret&#39;</span>"
    )
    assert found.count("secret") == 2
