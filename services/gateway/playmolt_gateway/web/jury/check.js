/**
 * `/shared/{token}/check`: compares a shared verdict with the blockchain in this browser, through the visitor's node.
 * The page's policy allows only the host of that node, so a different host reloads the page. The rest of the address,
 * which may contain a key, stays in this window.
 */

import { keptInTab } from "../parts/browser.js";
import { lines } from "../parts/api.js";
import { canHash, firstBroken, sha256 } from "../parts/chain.js";
import { el, field, fill } from "../parts/dom.js";
import { actionButton, page } from "../parts/frame.js";
import { t, word } from "../parts/language.js";
import { Node, hasVote, readCase, voteLogs } from "./node.js";

const PENDING = "playmolt.node";
/** Hashes of the contract code by number of jurors. */
const CODES = {
  3: "9e993b111fcf6baae6a44f169d81e5a07d2614f922ee186af147932a0eefac54",
  5: "73ce6b7233dfa2e5aab794c8247769b78f2df2fbfe25b52c95226b2032852139",
  7: "dfdfc85fc8aed212d0d389296255a76bb40b7151179c86510a4662f2a0f42e55",
  9: "283fe5a21d66a14d6982727f4297e5f46cc8eb886f9b1842875f6d4006987c07",
};
/** The first bytes of `vote(bool)`. */
const VOTE = "0x4b9f5c98";
const BALLOTS = { null: 0, true: 1, false: 2 };

page(() => t("head.check"), draw);

const allowed = () => new URLSearchParams(location.search).get("node");

async function draw(main) {
  const log = `${location.pathname.replace(/check$/, "")}log.jsonl`;
  const records = await lines(log, "anonymous");
  const said = records.find((record) => record.type === "verdict_read").data;
  if (said.contract === null) {
    main.append(el("h1", {}, t("head.check")), el("p", { class: "lead" }, t("game.no_chain")),
      el("p", {}, el("a", { href: log, download: "" }, t("shared.log"))));
    return;
  }
  const input = el("input", { type: "url", autocomplete: "off", spellcheck: "false" });
  const address = field(t("onchain.node"), input, { hint: t("onchain.hint", { id: said.chain_id }) });
  const place = el("div");
  const found = el("div", { class: "stack", role: "status" });
  const check = async () => {
    const node = nodeAt(input.value);
    address.showFault(node ? "" : t("onchain.address"));
    if (!node) return;
    if (node.origin !== allowed()) {
      visit(node);
      return;
    }
    fill(found);
    fill(found, pointList(await compared(records, said, new Node(node.href))));
  };
  const button = actionButton(t("onchain.run"), check, { place, first: true });
  main.append(el("h1", {}, t("head.check")), el("p", { class: "lead" }, t(canHash() ? "onchain.lead" : "check.insecure")),
    canHash() ? el("section", { class: "card" }, address, place, el("div", { class: "row end" }, button), found) : null,
    el("section", { class: "card" }, el("p", {}, t("onchain.command")),
      el("p", {}, el("code", {}, `playmolt verify-verdict --log log.jsonl --rpc URL`)),
      el("p", {}, el("a", { href: log, download: "" }, t("shared.log")))));
  input.value = allowed() ?? "";
  const pending = nodeAt(keptInTab.get(PENDING) ?? "");
  keptInTab.remove(PENDING);
  // Check at once only if the button was pressed before the reload for this host.
  if (pending && pending.origin === allowed()) {
    input.value = pending.href;
    button.click();
  }
}

function nodeAt(text) {
  try {
    const node = new URL(text.trim());
    return ["http:", "https:"].includes(node.protocol) && !node.username && !node.password ? node : null;
  } catch {
    return null;
  }
}

function visit(node) {
  keptInTab.set(PENDING, node.href);
  const address = new URL(location.href);
  address.searchParams.set("node", node.origin);
  location.assign(address);
}

/** [[description, whether it matches, note]]. */
async function compared(records, said, node) {
  const began = records.findLast((record) => record.type === "phase_changed" && record.data.to === "vote");
  const withheld = records.filter((record) => (record.sealed ? !record.seal_key : record.withheld?.length)).length;
  const hash = `0x${began?.hash}`;
  const points = [[t("onchain.log", { n: records.length, withheld }), (await firstBroken(records[0].stream, records)) === 0]];
  points.push([t("onchain.chain", { id: said.chain_id }), Number(await node.call("eth_chainId")) === said.chain_id]);
  const code = await node.call("eth_getCode", said.contract, "latest");
  points.push([t("onchain.code", { address: said.contract }), (await sha256(String(code).toLowerCase())) === CODES[said.votes.length]]);
  const there = await readCase(node, said.contract);
  points.push([t("onchain.hash", { hash }), hash === said.log_hash && hash === there?.hash]);
  const names = new Map(records[0].data.jurors.map((juror) => [juror.id, juror.name]));
  for (const [seat, vote] of said.votes.entries()) {
    const shown = vote.guilty === null ? t("abstained") : word("verdict", vote.guilty ? "guilty" : "not_guilty");
    const name = names.get(vote.juror_id) ?? vote.juror_id;
    const [fits, note] = await cast(node, said.contract, there, seat, vote);
    points.push([t("onchain.vote", { name, vote: shown, hash: vote.tx_hash || "–" }), fits, note]);
  }
  const outcome = { guilty: 1, not_guilty: 2 }[said.verdict];
  points.push([t("onchain.verdict", { verdict: word("verdict", said.verdict), guilty: said.guilty, not: said.not_guilty }),
    there?.outcome === outcome && there.guilty === said.guilty && there.notGuilty === said.not_guilty]);
  return points;
}

/** Whether the blockchain has this juror's vote in the logged transaction, and what this node could not show of it. */
async function cast(node, contract, there, seat, vote) {
  const who = vote.address.toLowerCase();
  if (there?.jurors[seat] !== who || there.ballots[seat] !== BALLOTS[vote.guilty]) return [false];
  if (vote.guilty === null) return [true];
  const sent = await node.call("eth_getTransactionByHash", vote.tx_hash);
  const mined = await node.call("eth_getTransactionReceipt", vote.tx_hash);
  if (!sent || !mined) return forgotten(node, contract, there, seat, vote);
  return [sent.from?.toLowerCase() === who && sent.to?.toLowerCase() === contract.toLowerCase()
    && (sent.input ?? sent.data) === VOTE + String(Number(vote.guilty)).padStart(64, "0")
    && Number(mined.status) === 1 && hasVote(mined.logs, contract, who, vote.guilty)];
}

/** Nodes drop old transactions, some old events too; the contract's state alone does not name the transaction. */
async function forgotten(node, contract, there, seat, vote) {
  const logs = await voteLogs(node, contract, vote.address, there.blocks[seat]);
  if (!logs.length) return [true, t("onchain.forgot_event")];
  const own = logs.filter((log) => log.transactionHash?.toLowerCase() === vote.tx_hash.toLowerCase());
  return hasVote(own, contract, vote.address, vote.guilty) ? [true, t("onchain.forgot")] : [false];
}

function pointList(points) {
  const wrong = points.filter(([, fits]) => !fits).length;
  return [el("p", { class: wrong ? "notice" : "lead" }, el("strong", {}, wrong ? t("onchain.differ", { n: wrong, of: points.length }) : t("onchain.agree"))),
    el("ol", { class: "stack" }, points.map(([text, fits, note]) => el("li", { class: "point" },
      el("span", { class: `tag${fits ? " plain" : ""}` }, t(fits ? "onchain.fits" : "onchain.not")), " ", el("span", {}, text), note ? el("p", { class: "quiet" }, note) : null)))];
}
