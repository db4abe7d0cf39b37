#!/usr/bin/env bash
# parse-prometheus-text-format 1.1.1 with prom-client 15.1.3 (npm; metrics of a service read into JSON), installed 2026-11.
# Guess: a histogram with labels gives an entry for each set of labels, with its buckets, sum and count, as counters and gauges with labels do.
# Seen:  one entry for all: the buckets of the set that is listed last, without labels, sum and count. A summary is treated in the
#        same way. Without labels sum and count are there. Of a gauge that is listed twice, with two moments, the last is kept.
#        Nothing is reported; counters and gauges keep their labels.
# Why it matters: times to answer are histograms by service, route or agent: a script that reads `/metrics` to compare agents sees one
#        agent, which one depends on the order of the text, and takes it for all. Ask Prometheus itself, or another parser.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund parse-prometheus-text-format@1.1.1 prom-client@15.1.3
cat > metrics.mjs <<'JS'
import assert from "node:assert";
import parse from "parse-prometheus-text-format";
import client from "prom-client";

const registers = [new client.Registry()];
const options = { help: "of an agent", labelNames: ["agent"], registers };
const time = new client.Histogram({ name: "answer_seconds", buckets: [1], ...options });
const size = new client.Summary({ name: "answer_words", percentiles: [0.5], ...options });
const moves = new client.Counter({ name: "moves_total", ...options });
const plain = new client.Histogram({ name: "round_seconds", help: "of a round", buckets: [1], registers });
for (const [agent, seconds] of [["ada", [0.5, 2, 3]], ["ben", [0.2]]]) {
  for (const value of seconds) {
    time.observe({ agent }, value);
    size.observe({ agent }, value * 100);
    moves.inc({ agent });
    plain.observe(value);
  }
}
const text = await registers[0].metrics();
const found = Object.fromEntries(parse(text).map(({ name, metrics }) => [name, metrics]));
for (const [name, metrics] of Object.entries(found)) console.log(name, JSON.stringify(metrics));
assert.deepStrictEqual(found.moves_total,
  [{ value: "3", labels: { agent: "ada" } }, { value: "1", labels: { agent: "ben" } }]);
assert.deepStrictEqual(found.round_seconds, [{ buckets: { 1: "2", "+Inf": "4" }, count: "4", sum: "5.7" }]);
assert(text.includes('answer_seconds_count{agent="ada"} 3'));
assert.deepStrictEqual(found.answer_seconds, [{ buckets: { 1: "1", "+Inf": "1" } }], "it changed");
assert.deepStrictEqual(found.answer_words, [{ quantiles: { 0.5: "20" } }], "it changed");
const [{ metrics }] = parse("# TYPE seats gauge\nseats 1 1700000000000\nseats 2 1700000001000\n");
assert.deepStrictEqual(metrics, [{ value: "2", timestamp_ms: "1700000001000" }], "it changed");
JS
node metrics.mjs
