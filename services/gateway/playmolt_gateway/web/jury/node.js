/** A JSON-RPC node given by the visitor, and the contract of a case on it. */

import { spaceDenied, spaceOptions, within } from "../parts/browser.js";
import { Problem } from "../parts/api.js";
import { t } from "../parts/language.js";

const SECONDS = 20;
/** The first bytes of `reading()` of JuryVoting. */
const READING = "0xfffd52c6";
/** Topic of its event `Voted(address,bool)`. */
const VOTED = "0x8eb81cb806dbb3d8a2f94981614331a55dfd90e06a42fdc362ca3ca96981d92f";
/** Words before the jurors; each juror then has three. */
const HEAD = 7;
const OF_A_JUROR = 3;

export class Node {
  constructor(address) {
    this.address = address;
    this.host = new URL(address).hostname;
    this.calls = 0;
  }

  async call(method, ...params) {
    this.calls += 1;
    let answer;
    try {
      const sent = await fetch(this.address, {
        method: "POST", headers: { "Content-Type": "application/json" }, credentials: "omit", referrerPolicy: "no-referrer",
        body: JSON.stringify({ jsonrpc: "2.0", id: this.calls, method, params }), signal: within(SECONDS), ...spaceOptions(this.host),
      });
      answer = await sent.json();
    } catch {
      throw new Problem(0, { code: "node", detail: t((await spaceDenied(this.host)) ? "onchain.denied" : "onchain.unreachable") });
    }
    if (answer?.error || answer?.result === undefined) throw new Problem(0, { code: "node", detail: `${method}: ${answer?.error?.message ?? t("onchain.unreachable")}` });
    return answer.result;
  }
}

/** Whether a list of events has this juror's vote: [address of the contract, address of the juror, guilty]. */
export function hasVote(logs, contract, juror, guilty) {
  return (logs ?? []).some((log) => log.address?.toLowerCase() === contract.toLowerCase() && log.topics?.[0]?.toLowerCase() === VOTED
    && log.topics[1]?.slice(-40).toLowerCase() === juror.slice(2).toLowerCase() && Number(log.data) === Number(guilty));
}

/** The events of a juror's votes in this block, or, where the node counts blocks otherwise than its contracts, in any. */
export async function voteLogs(node, contract, juror, block) {
  const topics = [VOTED, `0x${juror.slice(2).toLowerCase().padStart(64, "0")}`];
  const at = `0x${block.toString(16)}`;
  for (const [fromBlock, toBlock] of [[at, at], ["earliest", "latest"]]) {
    try {
      const logs = await node.call("eth_getLogs", { address: contract, fromBlock, toBlock, topics });
      if (logs?.length) return logs;
    } catch {
      // A node refuses a range that is too long, or blocks that it has dropped.
    }
  }
  return [];
}

/** The state of a case's contract, or null. Ballots: 1 is guilty, 2 is not guilty. */
export async function readCase(node, contract) {
  const output = await node.call("eth_call", { to: contract, data: READING }, "latest");
  const words = String(output).slice(2).match(/.{64}/g) ?? [];
  const seats = (words.length - HEAD) / OF_A_JUROR;
  if (seats < 1 || !Number.isInteger(seats)) return null;
  const number = (word) => Number(BigInt(`0x${word}`));
  const places = (first) => words.slice(HEAD + first * seats, HEAD + (first + 1) * seats);
  return {
    hash: `0x${words[0]}`, outcome: number(words[4]), guilty: number(words[5]), notGuilty: number(words[6]),
    jurors: places(0).map((word) => `0x${word.slice(24)}`), ballots: places(1).map(number), blocks: places(2).map(number),
  };
}
