/** A JSON-RPC node given by the visitor, and the contract of a case on it. */

import { within } from "../parts/browser.js";
import { Problem } from "../parts/api.js";
import { t } from "../parts/language.js";

const SECONDS = 20;
/** The first bytes of `reading()` of JuryVoting. */
const READING = "0xfffd52c6";
/** Words before the jurors; each juror then has three. */
const HEAD = 7;
const OF_A_JUROR = 3;

export class Node {
  constructor(address) {
    this.address = address;
    this.calls = 0;
  }

  async call(method, ...params) {
    this.calls += 1;
    let answer;
    try {
      const sent = await fetch(this.address, {
        method: "POST", headers: { "Content-Type": "application/json" }, credentials: "omit", referrerPolicy: "no-referrer",
        body: JSON.stringify({ jsonrpc: "2.0", id: this.calls, method, params }), signal: within(SECONDS),
      });
      answer = await sent.json();
    } catch {
      throw new Problem(0, { code: "node", detail: t("onchain.unreachable") });
    }
    if (answer?.error || answer?.result === undefined) throw new Problem(0, { code: "node", detail: `${method}: ${answer?.error?.message ?? t("onchain.unreachable")}` });
    return answer.result;
  }
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
