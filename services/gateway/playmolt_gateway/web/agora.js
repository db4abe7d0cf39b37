/** `/agora`: public runs and, with the operator key, their experiments. */

import { go } from "./parts/browser.js";
import { download, get, inOrder, operatorKey, post, result, setOperatorKey } from "./parts/api.js";
import { el, field, fill, filler, focusOn, table } from "./parts/dom.js";
import { actionButton, page, trouble } from "./parts/frame.js";
import { clock, t, word } from "./parts/language.js";
import { runRow } from "./parts/rows.js";
import { shareCard } from "./share.js";

const REFRESH_MS = 3000;
const RUNS = 50;
const EXAMPLE = {
  name: "a first look", seed: "1", models: ["scripted-social", "scripted-trader"], languages: ["en"],
  phases: { phase1: { runs: 1, turns: 3 } }, exploratory: true,
};

page(() => t("agora.title"), draw);

const operator = { as: "operator" };
const asked = () => new URLSearchParams(location.search).get("experiment");

async function draw(main) {
  if (asked() && operatorKey()) return experiment(main, asked());
  return overview(main);
}

async function overview(main) {
  const runs = el("div", { class: "room-of-runs" });
  main.append(el("div", { class: "tight" }, el("h1", {}, t("agora.title")), el("p", { class: "lead" }, t("agora.lead"))),
    el("div", { class: "two" },
      el("div", { class: "stack" }, el("section", { class: "card", "aria-labelledby": "live" }, el("h2", { id: "live" }, t("runs")), runs)),
      el("div", { class: "stack" }, operatorKey() ? await experiments() : door())));
  if (operatorKey()) main.append(planner());
  const show = filler(runs);
  const refresh = async () => {
    try {
      const { rows: found } = await get(`/games/rows?runs=true&limit=${RUNS}`, { as: "anonymous" });
      show(found, () => (found.length ? el("ul", { class: "games rows" }, found.map(runRow)) : el("p", { class: "quiet" }, t("agora.none"))));
    } catch (error) {
      show(error.message, () => trouble(error));
    }
  };
  await refresh();
  const timer = setInterval(refresh, REFRESH_MS);
  return () => clearInterval(timer);
}

function door() {
  const input = el("input", { type: "password", autocomplete: "off" });
  const place = el("div");
  const enter = async () => {
    setOperatorKey(input.value.trim());
    try {
      await get("/api/agora/experiments", operator);
    } catch (error) {
      setOperatorKey("");
      throw error;
    }
    go(location.href);
  };
  return el("section", { class: "card", "aria-labelledby": "door" }, el("h2", { id: "door" }, t("agora.operator")),
    el("p", { class: "quiet" }, t("agora.operator_text")), field(t("agora.key"), input), place,
    el("div", { class: "row end" }, actionButton(t("agora.enter"), enter, { place, first: true })));
}

async function experiments() {
  const card = el("section", { class: "card", "aria-labelledby": "experiments" });
  try {
    const { experiments: found } = await get("/api/agora/experiments", operator);
    fill(card, el("div", { class: "row apart" }, el("h2", { id: "experiments" }, t("agora.experiments")),
      el("button", { type: "button", class: "bare", onclick: () => {
        setOperatorKey("");
        go("/agora");
      } }, t("agora.leave"))),
      found.length ? el("ul", { class: "games" }, found.map((one) => el("li", {}, el("a", { href: `/agora?experiment=${one.experiment}` },
        el("strong", {}, one.name), el("span", { class: "tag plain" }, word("status", one.status)),
        el("span", { class: "side" }, `${one.progress.finished} / ${one.progress.runs}`))))) : el("p", { class: "quiet" }, t("agora.no_experiments")));
  } catch (error) {
    if (["unauthorized", "operator_only"].includes(error.code)) setOperatorKey("");
    fill(card, trouble(error));
  }
  return card;
}

function planner() {
  const text = el("textarea", { class: "code", spellcheck: "false" });
  text.value = JSON.stringify(EXAMPLE, null, 2);
  const place = el("div");
  const shown = el("div", { class: "stack", "aria-live": "polite" });
  const plan = () => {
    try {
      return JSON.parse(text.value);
    } catch (error) {
      throw new Error(t("agora.no_json", { why: error.message }));
    }
  };
  const check = async () => fill(shown, preview(await examined("/api/agora/experiments?dry=1", plan())));
  const run = async () => {
    const made = await examined("/api/agora/experiments", plan());
    go(`/agora?experiment=${made.experiment}`);
  };
  return el("section", { class: "card", "aria-labelledby": "plan" }, el("h2", { id: "plan" }, t("agora.new")),
    el("p", { class: "quiet" }, t("agora.plan_text")), field(t("agora.plan"), text), place,
    el("div", { class: "row end" }, actionButton(t("agora.check"), check, { place }), actionButton(t("agora.lock"), run, { place, first: true })), shown);
}

/** The result of a plan. A large one is examined for minutes, and so is a small one by a busy platform. */
async function examined(path, plan) {
  const sent = await post(path, plan, operator);
  return sent.pending ? result(`/api/agora/plans/${sent.plan}`, operator) : sent;
}

function preview(found) {
  const faults = found.faults ?? [];
  return [
    faults.length ? el("div", { class: "notice", role: "alert" }, el("ul", {}, faults.map((fault) => el("li", {}, `${fault.field}: ${fault.message}`)))) : null,
    found.warnings.length ? el("ul", { class: "notice" }, found.warnings.map((text) => el("li", {}, text))) : null,
    el("dl", { class: "facts" }, [["runs", found.runs], ["agora.agents", found.agents], ["agora.turns", found.turns], ["agora.calls", `${found.calls} – ${found.calls_most}`], ["agora.tokens", found.tokens], ["agora.cost", found.cost ?? t("unknown")],
      ...(found.interviews ? [["agora.interviews", found.interviews]] : [])]
      .map(([name, value]) => [el("dt", {}, t(name)), el("dd", { class: "number" }, String(value))])),
    table(t("agora.matrix"), [t("agora.cell"), t("agora.language"), { number: t("runs") }, { number: t("agora.agents") }, { number: t("agora.turns") }],
      found.matrix.map((row) => [row.cell, word("language", row.language), { number: row.runs }, { number: row.agents }, { number: row.turns }])),
    found.tests.length ? table(t("agora.tests"), [t("agora.test"), "n", "α", "p min"], found.tests.map((test) => [test.test, test.n, test.alpha, test.p_exact ?? "–"])) : null];
}

async function experiment(main, id) {
  const path = `/api/agora/experiments/${encodeURIComponent(id)}`;
  const head = el("h1", { tabindex: "-1" });
  const body = el("div", { class: "stack" });
  const runs = el("section", { class: "card" });
  const place = el("div");
  const notice = el("div");
  const reason = el("input", { type: "text", maxlength: 2000 });
  const stop = actionButton(t("agora.stop"), async () => {
    await post(`${path}/stop`, reason.value.trim() ? { reason: reason.value.trim() } : {}, operator);
    await refresh();
  }, { place });
  const resume = actionButton(t("agora.resume"), async () => {
    await post(`${path}/resume`, {}, operator);
    await refresh();
  }, { place });
  const look = actionButton(t("agora.look"), async () => {
    await post(`${path}/look`, {}, operator);
    await refresh();
  }, { place });
  const save = (kind, ending) => actionButton(t(`agora.${kind}`), () => download(`${path}/${kind}`, `${id}.${ending}`, place, { as: "operator", late: true }), { place });
  const back = el("p", { class: "small" }, el("a", { href: "/agora" }, `‹ ${t("agora.experiments")}`));
  const tools = el("section", { class: "card" }, el("div", { class: "row" }, save("report", "html"), save("bundle", "zip"), look, stop, resume), field(`${t("agora.reason")} (${t("optional")})`, reason), place);
  const begin = inOrder();
  const [showBody, showRuns] = [body, runs].map(filler);

  async function refresh() {
    const newest = begin();
    const [state, { runs: found }] = await Promise.all([get(path, operator), get(`${path}/runs`, operator)]);
    const over = ["finished", "aborted"].includes(state.status);
    if (!newest()) return over;
    head.textContent = state.name;
    stop.disabled = state.status !== "running";
    look.hidden = over || state.pcs_cells.length === 0;
    resume.disabled = !["stopped", "budget_stopped"].includes(state.status);
    fill(notice);
    showBody(state, () => summary(state));
    showRuns(found, () => table(t("runs"), [t("agora.cell"), t("agora.watch"), t("agora.status"), { number: t("agora.turns") }, { number: t("agora.tokens") }, { number: t("agora.cost") }],
      found.map((run) => [`${run.cell} · ${run.number}${run.parent ? ` (${t("agora.fork")})` : ""}`,
        run.status === "planned" ? "–" : el("a", { href: `/watch/${run.run}`, "data-focus": run.run }, t("agora.watch")),
        word("status", run.status), { number: `${run.spent.turns} / ${run.turns_planned}` }, { number: run.spent.tokens }, { number: cost(run.spent) }])));
    return over;
  }

  try {
    await refresh();
  } catch (error) {
    main.append(back, el("h1", {}, t("agora.title")), trouble(error));
    return undefined;
  }
  main.append(back, head, notice, body, tools, runs, shareCard(path, "agora", operator));
  focusOn(head);
  const again = () => refresh().then((over) => over && clearInterval(timer)).catch((error) => fill(notice, trouble(error)));
  const timer = setInterval(again, REFRESH_MS);
  return () => clearInterval(timer);
}

function summary(state) {
  const { progress, spent } = state;
  const done = spent.turns;
  const facts = [["agora.status", word("status", state.status)], ["runs", `${progress.finished} / ${progress.runs}`], ["agora.turns", `${done} / ${progress.turns_planned}`],
    ["agora.calls", spent.calls], ["agora.tokens", spent.tokens], ["agora.cost", cost(spent)], ["agora.models", state.models.join(", ")], ["agora.plan_hash", el("code", {}, state.plan_hash)]];
  return el("section", { class: "card" },
    el("div", { class: "row" }, state.scripted ? el("span", { class: "tag plain" }, t("agora.scripted")) : null, state.exploratory ? el("span", { class: "tag plain" }, t("agora.exploratory")) : null),
    state.reason ? el("p", { class: "notice" }, state.reason) : null,
    el("progress", { max: Math.max(1, progress.turns_planned), value: done, "aria-label": t("agora.progress") }),
    el("dl", { class: "facts" }, facts.map(([name, value]) => [el("dt", {}, t(name)), el("dd", { class: "number" }, value)])),
    state.tests.length ? el("p", { class: "small" }, `${t("agora.tests")}: ${state.tests.join(" · ")}`) : null,
    pcs(state),
    state.looks.length ? el("details", { "data-open": "looks" }, el("summary", { "data-focus": "looks" }, t("agora.looks", { n: state.looks.length })), el("ul", { class: "tight" }, state.looks.map((look) =>
      el("li", { class: "small" }, `${clock(look.at)} · ${look.measure} · ${seen(look)}`)))) : null,
    state.deviations.length ? table(t("agora.deviations"), ["#", t("agora.field"), t("agora.before"), t("agora.after"), t("agora.reason")],
      state.deviations.map((one) => [one.n, one.field, one.before, one.after, one.count ? `${one.reason} (${one.count})` : one.reason])) : null,
    el("details", { "data-open": "plan" }, el("summary", { "data-focus": "plan" }, t("agora.plan")), el("pre", { class: "pre small" }, pretty(state.plan))));
}

/** The known cost, with the number of calls of unknown cost. */
function cost(spent) {
  return spent.unknown_calls ? `≥ ${spent.known}, ${spent.unknown_calls} × ${t("unknown")}` : spent.known;
}

/** The latest look at PCS and its floors, the values expected without any difference. */
function pcs(state) {
  const last = state.looks.findLast((look) => look.turns !== null);
  if (!last) return null;
  const floors = (found) => [found.floor_iid, found.floor_null].map((floor) => floor ?? "–").join(" / ");
  return table(t("agora.pcs", { turns: last.turns }), [t("agora.cell"), { number: "PCS" }, { number: t("agora.floors") }, { number: t("agora.valid") }],
    Object.entries(last.pcs).map(([cell, found]) => [cell, { number: found.pcs }, { number: floors(found) }, { number: `${found.n_stage1} / ${found.n_phase1}` }]));
}

function seen(look) {
  const intervals = Object.entries(look.intervals).map(([cell, [low, high]]) => `${cell} ${low} – ${high}`);
  return [...intervals, ...Object.entries(look.pcs).map(([cell, found]) => `${cell} ${found.pcs}`)].join(", ");
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    return text;
  }
}
