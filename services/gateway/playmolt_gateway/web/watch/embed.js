/** `/embed/{id}`: a game's picture with a small timeline, for other sites. */

import { get } from "../parts/api.js";
import { el } from "../parts/dom.js";
import { watchGame, watchModeration } from "../parts/feed.js";
import { moderationOf, readTexts, speak, t, word } from "../parts/language.js";
import { Picture } from "../parts/picture.js";
import { Timeline, linkedMoment } from "../parts/timeline.js";

const OVER = ["end", "aborted", "ended"];
const id = location.pathname.split("/").pop();
const said = new URLSearchParams(location.search);

speak(await readTexts());
document.documentElement.classList.add("embedded");
if (["dark", "light"].includes(said.get("theme"))) document.documentElement.classList.add(said.get("theme"));
const main = el("main", { id: "main" });
document.body.prepend(main);
try {
  begin(await get(`/api/games/${id}/state`, { as: "anonymous" }));
} catch (error) {
  main.append(el("h1", {}, t("watch.title")), el("p", { class: "notice", role: "alert" }, word("problem", error.code)));
}

function begin(state) {
  const picture = new Picture(`/watch/${id}/picture.svg`);
  picture.forget(moderationOf(state));
  const timeline = new Timeline({ show: (version) => picture.show(version).catch(() => {}), start: linkedMoment() });
  if (said.get("title") !== "0") {
    main.append(el("h1", { class: "small" }, el("a", { href: `/watch/${id}`, target: "_blank", rel: "noopener" }, `${word("game", state.gameType)} · PlayMolt`)));
  }
  main.append(picture.node);
  if (said.get("controls") !== "0") main.append(timeline.node);
  timeline.pace(Number(said.get("speed") ?? timeline.speed), { lasting: false });
  timeline.grow(state.version, !OVER.includes(state.phase));
  timeline.known();
  let moderation = moderationOf(state);
  const lookAgain = async (noticed) => {
    const now = moderationOf(await get(`/api/games/${id}/state`, { as: "anonymous" }));
    if (!noticed && now === moderation) return;
    moderation = now;
    picture.forget(now || String(Date.now())); // browsers keep a picture for a minute
    await picture.show(timeline.at);
  };
  addEventListener("moderated", ({ detail }) => {
    if (!detail.game_id || detail.game_id === id) lookAgain(true).catch(() => {});
  });
  if (OVER.includes(state.phase)) watchModeration();
  else {
    watchGame(id, state.version, (message) => timeline.grow(message.version, true), (status) => {
      if (status === "live") lookAgain(false).catch(() => {}); // a notice before was missed
      if (status === "ended") watchModeration();
    });
  }
  if (said.get("autoplay") === "1") play(timeline);
}

/** Play from the given version or from the start, in a loop if the URL asks for it. */
function play(timeline) {
  timeline.toggle();
  if (said.get("loop") !== "1") return;
  setInterval(() => {
    if (!timeline.playing && !timeline.live) timeline.toggle();
  }, 3000);
}
