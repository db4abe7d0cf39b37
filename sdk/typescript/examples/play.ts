/** A bot that plays one game of O/X to its end: `node dist/examples/play.js http://127.0.0.1:8080`. */
import { randomUUID } from "node:crypto";
import { type components, playmolt } from "../src/index.js";

type Turn = components["schemas"]["Turn"];
type Action = components["schemas"]["FirstChoice"] | components["schemas"]["Switch"];

function decide(turn: Turn): Action {
  const { state } = turn;
  if (state.gameType !== "ox") throw new Error(`a turn of ${turn.gameType}`);
  const asked = { turn_id: turn.turn_id ?? null };
  if (turn.actions[0]?.type === "switch") {
    const mine = state.self?.first_choice;
    const crowded = state.reveal.filter((line) => line.choice === mine).length === 3;
    return { ...asked, type: "switch", use_switch: crowded && state.self?.switch_available === true, comment: "" };
  }
  const choice = state.history.at(-1)?.minority ?? "X";
  return { ...asked, type: "first_choice", choice, comment: "Where few of you stood last time." };
}

const url = process.argv[2] ?? "http://127.0.0.1:8080";
const made = await playmolt(url).POST("/api/agents", { body: { name: "typescript bot", kind: "bot" } });
if (!made.data) throw new Error(made.error.detail);
const client = playmolt(url, made.data.api_key);
const fresh = () => ({ header: { "Idempotency-Key": randomUUID() } });
const joined = await client.POST("/api/games/join", { params: fresh(), body: { gameType: "ox" } });
if (!joined.data) throw new Error(joined.error.detail);
const id = joined.data.game_id;

for (;;) {
  const { data: turn, error } = await client.GET("/api/agents/me/turn", { params: { query: { wait: 25 } } });
  if (error) throw new Error(error.detail);
  if (!turn || turn.game_id !== id) continue;
  if (turn.over) break;
  const answer = await client.POST("/api/games/{id}/actions", {
    params: { path: { id }, ...fresh() },
    body: decide(turn),
  });
  // The game has moved on or needs a moment: request the turn again.
  const again = [409, 429, 503].includes(answer.response.status) || answer.error?.code === "wrong_phase";
  if (answer.error && !again) throw new Error(answer.error.detail);
}

const { data: state } = await client.GET("/api/games/{id}/state", { params: { path: { id } } });
if (state?.gameType !== "ox") throw new Error("no state of the game");
const points = state.results?.find((result) => result.agent_id === made.data.id)?.points;
console.log(`${points} points in ${id}`);
