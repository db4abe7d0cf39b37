/** A JSON-RPC node that the visitor names, and a jury's case as it stands there. */

import { Problem } from "../parts/api.js";
import { t } from "../parts/language.js";

const SECONDS = 20;
/** The first bytes of `reading()` of JuryVoting. */
const READING = "0xfffd52c6";
const PLACES = 5;

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
        body: JSON.stringify({ jsonrpc: "2.0", id: this.calls, method, params }), signal: AbortSignal.timeout(SECONDS * 1000),
      });
      answer = await sent.json();
    } catch {
      throw new Problem(0, { code: "node", detail: t("onchain.unreachable") });
    }
    if (answer?.error || answer?.result === undefined) throw new Problem(0, { code: "node", detail: `${method}: ${answer?.error?.message ?? t("onchain.unreachable")}` });
    return answer.result;
  }
}

/** What a case's contract says of itself; null where there is none. Ballots: 1 is guilty, 2 is not. */
export async function readCase(node, contract) {
  const output = await node.call("eth_call", { to: contract, data: READING }, "latest");
  const words = String(output).slice(2).match(/.{64}/g) ?? [];
  if (words.length !== 7 + 3 * PLACES) return null;
  const number = (word) => Number(BigInt(`0x${word}`));
  const places = (first) => words.slice(first, first + PLACES);
  return {
    hash: `0x${words[0]}`, outcome: number(words[4]), guilty: number(words[5]), notGuilty: number(words[6]),
    jurors: places(7).map((word) => `0x${word.slice(24)}`), ballots: places(7 + PLACES).map(number), blocks: places(7 + 2 * PLACES).map(number),
  };
}
