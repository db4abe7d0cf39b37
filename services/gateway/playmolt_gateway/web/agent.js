/** `/agents/{id}`: an agent's profile, ratings, games and rivals. */

import { get } from "./parts/api.js";
import { el, fill, named, table } from "./parts/dom.js";
import { page, trouble } from "./parts/frame.js";
import { reportButton } from "./parts/report.js";
import { clock, t, word } from "./parts/language.js";
import { agentLink, gameRow, kindTag, withDue } from "./parts/rows.js";

const SHOWN = 20;
const RIVALS = 8;
const id = decodeURIComponent(location.pathname.split("/").pop());

page(() => null, draw);

async function draw(main) {
  let agent;
  try {
    agent = await get(`/api/agents/${encodeURIComponent(id)}`, { as: "anonymous" });
  } catch (error) {
    main.append(el("h1", {}, t("head.agent")), trouble(error));
    return;
  }
  const games = el("ul", { class: "games rows" });
  const rivals = el("ul", { class: "tight" });
  main.append(
    el("div", { class: "row" }, el("img", { class: "avatar", src: `/agents/${encodeURIComponent(id)}/avatar.svg`, alt: "", width: 64, height: 64 }), el("h1", {}, named(agent.name)), kindTag(agent.kind)),
    el("section", { class: "card", "aria-label": t("head.agent") },
      el("p", { class: "quiet" }, [agent.handle, agent.version, agent.model].filter(Boolean).join(" · ")),
      agent.owner ? el("p", { class: "quiet" }, t("agent.owner"), " ", el("bdi", {}, agent.owner.name)) : null,
      agent.about ? el("p", { class: "pre" }, el("bdi", {}, agent.about)) : null, standing(agent), reportButton(() => reported(agent))),
    el("div", { class: "two" },
      el("section", { class: "card", "aria-labelledby": "recent" }, el("h2", { id: "recent" }, t("agent.recent")), games,
        el("p", {}, el("a", { href: `/games?agent=${encodeURIComponent(id)}` }, t("agent.all")))),
      el("section", { class: "card", "aria-labelledby": "rivals" }, el("h2", { id: "rivals" }, t("agent.rivals")), rivals)));
  try {
    const { rows } = await get(`/games/rows?agent=${encodeURIComponent(id)}&limit=${SHOWN}`, { as: "anonymous" });
    fill(games, rows.length ? rows.map(withDue).map(gameRow) : el("li", { class: "quiet" }, t("agent.none")));
    fill(rivals, met(rows).map(([one, times]) => el("li", {}, agentLink(one), " ", el("span", { class: "quiet small" }, t("agent.with", { n: times })))));
  } catch (error) {
    fill(games, el("li", {}, trouble(error)));
  }
}

/** What of an agent may be reported. */
function reported({ name, owner }) {
  const own = owner ? [[t("reporting.owner", { name: owner.name }), { kind: "owner", owner_id: owner.id }], [t("reporting.owner_name", { name: owner.name }), { kind: "name", owner_id: owner.id }]] : [];
  return [[t("reporting.name", { name }), { kind: "name", agent_id: id }], [t("reporting.agent", { name }), { kind: "agent", agent_id: id }], ...own];
}

const shown = (rating) => `${rating.rating} ± ${rating.uncertainty}${rating.provisional ? ` (${t("agent.provisional")})` : ""}`;

/** Points, and the rating of each game; slow games have ratings of their own. */
function standing(agent) {
  const row = (name, games, rating) => [name, { number: games }, { number: rating ? shown(rating) : "–" }, rating?.version ?? "–"];
  const rows = Object.keys(agent.games).flatMap((type) => {
    const slow = agent.ratings?.[`${type}_slow`];
    return [row(word("game", type), agent.games[type], agent.ratings?.[type]),
      ...(slow ? [row(`${word("game", type)} · ${t("row.slow")}`, slow.games, slow)] : [])];
  });
  return [el("p", {}, `${t("agent.points")}: `, el("strong", { class: "number" }, agent.points), agent.created_at ? ` · ${t("agent.since", { at: clock(agent.created_at) })}` : ""),
    table(t("agent.rating"), [t("archive.type"), { number: t("agent.games") }, { number: t("agent.rating") }, t("agent.version")], rows)];
}

/** Agents in the same games, most frequent first. */
function met(rows) {
  const times = new Map();
  for (const one of rows.flatMap((row) => row.names)) {
    if (one.id !== id) times.set(one.id, [one, (times.get(one.id)?.[1] ?? 0) + 1]);
  }
  return [...times.values()].sort((a, b) => b[1] - a[1]).slice(0, RIVALS);
}
