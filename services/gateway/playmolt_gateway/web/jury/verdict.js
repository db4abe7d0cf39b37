/** The vote on the blockchain, the verdict read from it, and the ending. */

import { download, get, post } from "../parts/api.js";
import { el, fill, focusOn, ofContent, table } from "../parts/dom.js";
import { actionButton, trouble } from "../parts/frame.js";
import { bandView, roundsOf } from "./jurors.js";
import { t, word } from "../parts/language.js";
import { shareCard } from "../share.js";

export function verdictPanel(game) {
  const panel = el("div", { class: "stack" });
  const place = el("div");
  let showing = null;
  /** Read the verdict; repeated until there is one. */
  const show = () => {
    showing ??= read().finally(() => {
      if (!panel.querySelector("article")) showing = null;
    });
    return showing;
  };
  const read = async () => {
    try {
      const verdict = await get(`${game.path}/verdict`);
      const ending = await get(`${game.path}/ending`);
      const { evidence } = await get(`${game.path}/evidence`);
      const head = el("h2", ofContent(), ending.title);
      fill(panel, story(verdict, ending, head, evidence), votes(game, verdict), kept(game), shareCard(game.path, "jury"));
      if (!game.history.over) focusOn(head);
    } catch (error) {
      if (error.code !== "not_finished") fill(place, trouble(error));
    }
  };
  const call = actionButton(t("game.call_vote"), async () => {
    await post(`${game.path}/vote`, {});
    await game.refresh();
  }, { place, first: true });
  const again = actionButton(t("game.retry_vote"), () => post(`${game.path}/retry`, {}), { place, first: true });
  const progress = el("ol", { class: "tight", "aria-live": "polite" });
  const draw = () => {
    const steps = game.messages.filter((message) => ["vote_decided", "contract_deployed", "vote_cast", "vote_missed", "chain_changed", "vote_retried"].includes(message.type));
    fill(progress, steps.map((message) => el("li", { class: "small quiet" }, game.narration.line(message))));
    call.hidden = votesFailed(game.messages) ? false : steps.length > 0;
    again.hidden = !chainChanged(game.messages);
    if (game.session.phase === "ended") show();  // not before: that phase redraws the panel
  };
  if (game.session.phase === "aborted") {
    fill(panel, el("p", { class: "notice" }, t("game.aborted")));
    return panel;
  }
  fill(panel, el("div", { class: "card" }, el("p", { class: "lead" }, t("game.hint.vote")),
    el("div", { class: "row" }, call, again), place, progress),
    el("h2", { class: "unseen" }, t("game.jurors")),
    el("ul", { class: "thirds", "aria-label": t("game.jurors") }, game.session.jurors.map((juror) =>
      el("li", { class: "card plain" }, el("h3", ofContent(), juror.name), bandView(juror.band, juror.stance)))),
    roundsOf(game));
  draw();
  game.listen(draw);
  return panel;
}

/** Whether a juror gave no usable vote and the vote must be called again. */
function votesFailed(messages) {
  const failed = new Set();
  for (const message of messages) {
    if (message.turn !== "vote") continue;
    if (message.type === "turn_failed") failed.add(message.juror_id);
    if (message.type === "turn_started") failed.delete(message.juror_id);
  }
  return failed.size > 0;
}

/** Whether the blockchain lost the case and the overseer must retry. */
function chainChanged(messages) {
  return messages.findLast((message) => ["chain_changed", "vote_retried"].includes(message.type))?.type === "chain_changed";
}

function story(verdict, ending, head, evidence) {
  const found = { open: evidence.filter((item) => !item.locked).length, all: evidence.length };
  return el("article", { class: "card story" },
    el("p", {}, el("span", { class: "tag" }, word("verdict", verdict.verdict)), " ",
      t("game.tally", { guilty: verdict.guilty, not: verdict.not_guilty })),
    head, el("p", { class: "prose", ...ofContent() }, ending.text),
    el("p", { class: "quiet small" }, t("game.found", found), " ", el("a", { href: "/game" }, t("game.again"))));
}

/** Buttons to save the transcript. */
function kept(game) {
  const place = el("div");
  const save = (format) => actionButton(format.toUpperCase(), () =>
    download(`${game.path}/transcript?format=${format}`, `${game.session.id}.${format}`, place), { place, "aria-label": t("game.transcript.as", { format: format.toUpperCase() }) });
  return el("section", { class: "card" }, el("div", { class: "row apart" }, el("h2", {}, t("game.transcript")),
    el("div", { class: "row" }, save("md"), save("html"))), place);
}

function votes(game, verdict) {
  const explored = (kind, value) => {
    const code = el("code", {}, value ?? "–");
    return verdict.explorer && value ? el("a", { href: `${verdict.explorer}/${kind}/${value}`, rel: "noreferrer" }, code) : code;
  };
  const rows = verdict.votes.map((vote) => [game.juror(vote.juror_id),
    vote.guilty === null ? t("abstained") : word("verdict", vote.guilty ? "guilty" : "not_guilty"),
    { number: vote.stance }, explored("tx", vote.tx_hash), explored("address", vote.address)]);
  return el("section", { class: "card" },
    table(t("game.votes"), [t("game.juror"), t("vote"), { number: t("game.stance") }, t("game.transaction"), t("game.address")], rows),
    ...(verdict.contract === null ? [el("p", { class: "quiet small" }, t("game.no_chain"))] : [
      el("dl", { class: "facts" },
        el("dt", {}, t("game.contract")), el("dd", {}, explored("address", verdict.contract)),
        el("dt", {}, t("game.chain")), el("dd", {}, String(verdict.chain_id)),
        el("dt", {}, t("game.log_hash")), el("dd", {}, el("code", {}, verdict.log_hash))),
      el("p", { class: "quiet small" }, t("game.verify"), " ", el("code", {}, `playmolt verify-verdict ${game.session.id}`)),
    ]));
}
