#!/usr/bin/env bash
# ro-crate 3.7.2 (npm; reads and writes RO-Crate, the description of published data), installed 2026-12: values with a type or a language.
# Guess: a crate that is read and written again says the same: texts in two languages, a day that is marked as a date and a list that has an order
#        are values of JSON-LD, and a value that occurs twice is there twice, since numbers may be results.
# Seen:  each object with "@value" or "@list" becomes a reference to "entity-1", "entity-2" and so on, and no such entity is in the crate: date, both
#        texts and the list are lost, in reading as in writing, with `array` and `link` as without. A repeated value is left out, [3, 1, 3] is
#        [3, 1], unless `duplicate` is set. Plain texts, numbers and references stay. Nothing is reported.
# Why it matters: a tool that only adds a file to a data set of games takes away its abstracts in two languages, dates and orders of play, and what
#        it writes is still valid JSON. Keep such values as plain texts, or compare the file before and after.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund ro-crate@3.7.2
cat > crate.mjs <<'JS'
import assert from "node:assert";
import { ROCrate } from "ro-crate";

const root = {
  "@id": "./",
  "@type": "Dataset",
  name: "A season",
  datePublished: { "@value": "2026-12-01", "@type": "http://schema.org/Date" },
  description: [
    { "@value": "Votes of six juries", "@language": "en" },
    { "@value": "Stimmen von sechs Jurys", "@language": "de" },
  ],
  position: [3, 1, 3],
  result: { "@list": ["kim", "lee", "kim"] },
  hasPart: [{ "@id": "votes.csv" }],
};
const crate = {
  "@context": "https://w3id.org/ro/crate/1.1/context",
  "@graph": [
    {
      "@id": "ro-crate-metadata.json",
      "@type": "CreativeWork",
      conformsTo: { "@id": "https://w3id.org/ro/crate/1.1" },
      about: { "@id": "./" },
    },
    root,
    { "@id": "votes.csv", "@type": "File", name: "Votes" },
  ],
};
for (const [options, position] of [
  [{}, [3, 1]],
  [{ array: true, link: true }, [3, 1]],
  [{ duplicate: true }, [3, 1, 3]],
]) {
  const graph = new ROCrate(structuredClone(crate), options).toJSON()["@graph"];
  const written = graph.find((entity) => entity["@id"] === "./");
  console.log(JSON.stringify(options), JSON.stringify(written));
  assert.deepStrictEqual(graph.map((entity) => entity["@id"]), ["ro-crate-metadata.json", "./", "votes.csv"], "it changed");
  const references = [written.datePublished, ...written.description, written.result].map((value) => Object.keys(value).join());
  assert.deepStrictEqual(references, ["@id", "@id", "@id", "@id"], "it changed");
  assert(!JSON.stringify(graph).match(/2026|Votes of|Stimmen|kim/), "it changed");
  assert.deepStrictEqual(written.position, position, "it changed");
  assert.deepStrictEqual([written.name, written.hasPart], [root.name, root.hasPart]);
}
JS
node crate.mjs
