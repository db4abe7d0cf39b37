#!/usr/bin/env bash
# brackets-manager 1.11.1 with brackets-memory-db 1.0.6, duel 3.2.0 (npm; brackets of tournaments), installed 2026-11: places.
# Guess: a place counts those ahead, as in sport: after two who share the third comes the fifth. Whether a match for the third
#        place is played changes nothing for those who went out earlier.
# Seen:  brackets-manager goes on with the next number: in a bracket of eight the four who lost their first match are 4th. With
#        `consolationFinal`, in which none of them plays, they are 5th. With double elimination two are 5th, two 6th. In a round
#        robin where two share the lead the next two are 2nd, though two are ahead of them. duel counts as in sport.
# Why it matters: "the first four go on" takes all eight of the bracket, "the first two" all four of the group, and places of one
#        season cannot be averaged with those of another package. Count those ahead from the standings yourself.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund brackets-manager@1.11.1 brackets-memory-db@1.0.6 duel@3.2.0
cat > places.mjs <<'JS'
import assert from "node:assert";
import manager from "brackets-manager";
import memory from "brackets-memory-db";
import Duel from "duel";

const NAMES = ["A", "B", "C", "D", "E", "F", "G", "H"];
const READY = 2;

async function places(type, count, settings, winner, ranking) {
  const storage = new memory.InMemoryDatabase();
  const brackets = new manager.BracketsManager(storage);
  const stage = await brackets.create.stage({ tournamentId: 0, name: "cup", type, seeding: NAMES.slice(0, count), settings });
  const names = new Map((await storage.select("participant")).map(({ id, name }) => [id, name]));
  for (;;) {
    const match = (await storage.select("match")).find(({ status }) => status === READY);
    if (!match) break;
    const [first, second] = [match.opponent1, match.opponent2].map(({ id }) => names.get(id));
    const won = winner(first, second) === first;
    const results = won ? ["win", "loss"] : ["loss", "win"];
    await brackets.update.match({ id: match.id, opponent1: { result: results[0] }, opponent2: { result: results[1] } });
  }
  return (await brackets.get.finalStandings(stage.id, ranking)).map(({ rank }) => rank).sort();
}

const earlier = (first, second) => (first < second ? first : second);
const WINNERS = { AB: "A", AC: "C", AD: "A", BC: "B", BD: "B", CD: "D" };
const twoAhead = (first, second) => WINNERS[[first, second].sort().join("")];
for (const [name, found, expected] of [
  ["one loss", await places("single_elimination", 8, {}, earlier), [1, 2, 3, 3, 4, 4, 4, 4]],
  ["one loss, match for the third place", await places("single_elimination", 8, { consolationFinal: true }, earlier), [1, 2, 3, 4, 5, 5, 5, 5]],
  ["two losses", await places("double_elimination", 8, { grandFinal: "simple" }, earlier), [1, 2, 3, 4, 5, 5, 6, 6]],
  ["round robin", await places("round_robin", 4, { groupCount: 1 }, twoAhead, { rankingFormula: ({ wins }) => wins }), [1, 1, 2, 2]],
]) {
  console.log(`brackets-manager, ${name}: ${found}`);
  assert.deepStrictEqual(found, expected, "it changed");
}
for (const [name, options, expected] of [
  ["one loss", { short: true }, [1, 2, 3, 3, 5, 5, 5, 5]],
  ["two losses", { last: 2 }, [1, 2, 3, 4, 5, 5, 7, 7]],
]) {
  const duel = new Duel(8, options);
  while (!duel.isDone()) {
    for (const { id, p: [first, second], m: played } of duel.matches) {
      const score = first < second ? [1, 0] : [0, 1];
      if (!played && !duel.unscorable(id, score)) duel.score(id, score);
    }
  }
  const found = duel.results().map(({ pos }) => pos).sort();
  console.log(`duel, ${name}: ${found}`);
  assert.deepStrictEqual(found, expected, "it changed");
}
JS
node places.mjs
