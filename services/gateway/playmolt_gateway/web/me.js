/** `/me`: an owner, opened by its key in this tab or by the session of a browser that is signed in. */

import { call, get, ownerKey, post, setCsrf, setOwnerKey } from "./parts/api.js";
import { SIGNED_IN, copied, kept, keptInTab, rewrite } from "./parts/browser.js";
import { announce, byHand, el, field, fill, focusOn, named, table } from "./parts/dom.js";
import { inWords } from "./parts/faults.js";
import { actionButton, page, sure, trouble } from "./parts/frame.js";
import { language, clock as moment, t, word } from "./parts/language.js";
import { forgetDrafts, keepDraft } from "./sessions/drafts.js";

const NAME_CHARS = 40;
const JOINING = "playmolt.joining";
const SHOWN_ONCE = ["owner_key", "api_key"];
const WEBHOOK = "/api/owners/me/webhook";
const WEBHOOK_EVENTS = ["turn", "game_over", "tournament", "moderation"];
const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";

const signIn = meta("sign-in");
let signedIn = meta("signed-in") === "yes";
let fault = meta("sign-in-fault");
/** What is shown only once: it stays until the person says that it is saved, also when the language changes. */
let secrets = [];
let note = "";

// Who went to join a sign-in keeps the key unless it worked: from then on the session opens the owner.
if (keptInTab.get(JOINING) && signedIn) setOwnerKey("");
keptInTab.remove(JOINING);
// The address of a sign-in that has failed would fail again.
if (location.pathname !== "/me") rewrite("/me");
page(() => t("head.me"), draw);

async function draw(main) {
  const again = (focus) => redraw(main, focus);
  const head = el("h1", {}, t("head.me"));
  const notices = [
    fault ? el("p", { class: "notice", role: "alert" }, t(`me.fault.${fault}`)) : null,
    note ? el("p", { class: "notice", role: "status" }, note) : null,
  ];
  if (signedIn && !ownerKey()) setCsrf(await csrf());
  let owner = null;
  let failed = null;
  if (ownerKey() || signedIn) {
    try {
      owner = await get("/api/owners/me", { as: "owner" });
    } catch (error) {
      if (error.status === 401) leave();
      failed = error.status === 401 ? el("p", { class: "notice", role: "alert" }, t("me.refused")) : trouble(error);
    }
  }
  fill(main, head, notices, failed, once(again), owner ? account(owner, again) : failed && (ownerKey() || signedIn) ? leaveRow(again) : strangers(again));
}

async function redraw(main, focus = "h1") {
  await draw(main);
  note = "";
  fault = "";
  focusOn(main.querySelector(focus));
}

/** The token of this browser's session; without one the session has ended. */
async function csrf() {
  kept.set(SIGNED_IN, "yes");
  try {
    return (await get("/auth/session", { as: "anonymous" })).csrf;
  } catch (error) {
    if (error.status === 401) signedIn = false;
    return "";
  }
}

/** Call as the owner. A session that has ended, or was replaced by a sign-in elsewhere, changes nothing and says so. */
async function mine(method, path, body) {
  try {
    return await call(method, path, body, { as: "owner", patient: false });
  } catch (error) {
    if (error.status === 401) throw said(error, "me.refused");
    if (error.code === "foreign_origin") throw said(error, "me.stale");
    throw error;
  }
}

/** A refusal with a text of this page. */
function said(error, name) {
  return Object.assign(error, { code: "", message: t(name), errors: [] });
}

/** This tab forgets the owner. */
function leave() {
  kept.remove(SIGNED_IN);
  setOwnerKey("");
  setCsrf("");
  signedIn = false;
}

/** A form whose faults are shown at its fields. `send` gets the trimmed values of the named controls. */
function form(name, fields, button, send, { first = false } = {}) {
  const place = el("div");
  const act = async () => {
    for (const one of fields) one.showFault("");
    const empty = fields.find(({ control }) => control.required && !control.value.trim());
    if (empty) {
      empty.showFault(t("form.required"));
      empty.control.focus();
      return;
    }
    try {
      await send(Object.fromEntries(fields.map(({ control }) => [control.name, control.value.trim()]).filter(([, value]) => value)), sent);
    } catch (error) {
      showFaults(fields, place, error);
    }
  };
  const node = el("form", { class: "stack", novalidate: true, onsubmit: (event) => event.preventDefault() },
    fields, place, el("div", { class: "row end" }, actionButton(button, act, { place, first, type: "submit" })));
  const sent = keepDraft(`me ${name}`, node);
  return node;
}

function showFaults(fields, place, error) {
  const at = (one) => fields.find(({ control }) => control.name === one.field);
  const found = (error.errors ?? []).filter(at);
  for (const one of found) at(one).showFault(inWords(one).message);
  if (found.length && found.length === error.errors.length) at(found[0]).control.focus();
  else fill(place, trouble(error));
}

const text = (name, props = {}) => el("input", { type: "text", name, autocomplete: "off", ...props });
const secret = (name) => el("input", { type: "password", name, autocomplete: "off", required: true });
const nameField = (label, hint = "") => field(label, text("name", { maxlength: NAME_CHARS, required: true }), { hint });

function card(id, title, ...children) {
  return el("section", { class: "card", "aria-labelledby": id }, el("h2", { id }, title), children);
}

/** Ways to an owner for those who have opened none. */
function strangers(again) {
  const open = async ({ key }) => {
    setOwnerKey(key);
    try {
      await get("/api/owners/me", { as: "owner" });
    } catch (error) {
      setOwnerKey("");
      if (error.status !== 401) throw error;
      error.errors = [{ field: "key", message: t("me.key.wrong") }];
      throw error;
    }
    again();
  };
  const create = async (values, sent) => {
    const made = await post("/api/owners", values, { as: "anonymous", patient: false });
    sent();
    setOwnerKey(made.owner_key);
    secrets = secretsOf(made);
    again("#once");
  };
  const recover = async (values, sent) => {
    const { owner_key: key, codes_left: left } = await post("/api/owners/recover", values, { as: "anonymous", patient: false }).catch((error) => {
      throw error.status === 401 ? said(error, "me.recover.wrong") : error;
    });
    sent();
    setOwnerKey(key);
    secrets = secretsOf({ id: values.owner, owner_key: key });
    note = t("me.codes.left", { n: left });
    again("#once");
  };
  const begin = signIn ? `${signIn}?next=${encodeURIComponent("/me")}&lang=${language()}` : "";
  return [
    el("p", { class: "lead" }, t("me.lead")),
    el("div", { class: "even" },
      begin ? card("sign-in", t("me.sign_in"), el("p", {}, t("me.sign_in.lead")), el("p", { class: "row end" }, el("a", { class: "button first", href: begin }, t("me.sign_in")))) : null,
      card("open", t("me.enter"), form("open", [field(t("me.key"), secret("key"), { hint: t(lasting("me.key.hint", "me.key.hint.page")) })], t("me.open"), open)),
      card("create", t("me.create"), form("create", [nameField(t("me.name"), t("me.name.hint")), field(t("me.contact"), text("contact", { maxlength: 200 }), { hint: t("me.contact.hint") })], t("me.create.do"), create, { first: !begin })),
      card("recover", t("me.recover"), el("p", {}, t("me.recover.lead")),
        form("recover", [field(t("me.id"), text("owner", { required: true, maxlength: 64, spellcheck: "false" })), field(t("me.code"), secret("code"))], t("me.recover.do"), recover))),
  ];
}

/** Where the browser stores nothing, a key lasts as long as the page alone. */
const lasting = (tab, page) => (keptInTab.lasts() ? tab : page);

/** [label, value] of everything in an answer that is shown only once. */
function secretsOf(answer, name = "") {
  const keys = SHOWN_ONCE.filter((one) => answer[one]).map((one) => [t(`me.once.${one}`, { name }), answer[one]]);
  const codes = answer.recovery_codes ? [[t("me.once.codes"), answer.recovery_codes.join("\n")]] : [];
  return [...(answer.owner_key ? [[t("me.id"), answer.id]] : []), ...keys, ...codes];
}

/** The keys and codes that are shown only once. */
function once(again) {
  if (!secrets.length) return null;
  const place = el("div");
  const whole = secrets.map(([label, value]) => `${label}:\n${value}`).join("\n\n");
  const copy = async () => {
    if (await copied(whole)) announce(t("share.copied"));
    else byHand(place, whole.replaceAll("\n", " "));
  };
  const saved = async () => {
    secrets = [];
    again();
  };
  return el("section", { class: "card on", "aria-labelledby": "once" }, el("h2", { id: "once" }, t("me.once")),
    el("p", {}, t("me.once.lead")),
    secrets.map(([label, value]) => el("div", { class: "tight" }, el("h3", {}, label), value.split("\n").map((line) => el("p", {}, el("code", { "data-secret": "" }, line))))),
    place, el("div", { class: "row end" }, actionButton(t("me.copy"), copy, { place }), actionButton(t("me.saved"), saved, { first: true })));
}

/** Sign out, or close what a key opened. */
function leaveRow(again) {
  const place = el("div");
  const out = async () => {
    if (signedIn && !ownerKey()) await mine("POST", "/auth/logout");
    leave();
    secrets = [];
    note = t("me.left");
    again();
  };
  return el("div", { class: "row" }, el("span", { class: "quiet" }, ownerKey() ? t(lasting("me.by_key", "me.by_key.page")) : t("me.signed")),
    actionButton(t(ownerKey() ? "me.close" : "me.sign_out"), out, { place }), place);
}

function account(owner, again) {
  return [
    el("section", { class: "card", "aria-labelledby": "owner" }, el("h2", { id: "owner" }, named(owner.name)),
      el("p", { class: "quiet" }, `${t("me.id")}: `, el("code", {}, owner.id)),
      owner.contact ? el("p", { class: "quiet" }, `${t("me.contact")}: `, el("bdi", {}, owner.contact)) : null, leaveRow(again), joining()),
    notices(owner),
    el("section", { class: "card", "aria-labelledby": "agents" }, el("h2", { id: "agents" }, t("me.agents")),
      owner.agents.length ? el("ul", { class: "stack" }, owner.agents.map((agent) => agentRow(agent, again))) : el("p", { class: "quiet" }, t("me.agents.none"))),
    el("div", { class: "even" }, registration(again), claim(again)),
    webhook(owner, again), signIns(owner, again), safety(owner, again),
  ];
}

/** What the operator decided about this owner, and why. */
function notices({ notices: found }) {
  if (!found?.length) return null;
  const text = ({ kind, until }) => (kind === "banned" && until ? t("me.notice.banned.until", { at: moment(until) }) : t(`me.notice.${kind}`));
  return card("notices", t("me.notices"), el("ul", { class: "stack" }, found.map((one) => el("li", { class: "tight" },
    el("strong", {}, text(one)), one.note ? el("p", {}, el("bdi", {}, one.note)) : null, el("span", { class: "quiet small" }, moment(one.at))))));
}

/** Join a sign-in to the owner that a key has opened. */
function joining() {
  if (!signIn || !ownerKey()) return null;
  const there = new URL("/me", signIn);
  // The provider sends people back to that host alone, where a browser that began here has no cookie.
  if (there.origin !== location.origin) return el("p", {}, t("me.join.there", { address: there.href }));
  const place = el("div");
  const begin = async () => {
    const { url } = await mine("GET", `/auth/login?next=${encodeURIComponent("/me")}&lang=${language()}`);
    keptInTab.set(JOINING, "yes");
    location.assign(url);
  };
  return el("div", { class: "tight" }, el("p", {}, t("me.join.lead")), el("div", { class: "row" }, actionButton(t("me.join"), begin, { place })), place);
}

function agentRow(agent, again) {
  const path = `/api/owners/me/agents/${encodeURIComponent(agent.id)}`;
  const place = el("div");
  const renew = async () => {
    if (!(await sure(t("me.new_key.sure", { name: agent.name })))) return;
    secrets = secretsOf(await mine("POST", `${path}/keys`), agent.name);
    again("#once");
  };
  const release = async () => {
    if (!(await sure(t("me.let_go.sure", { name: agent.name })))) return;
    await mine("DELETE", path);
    note = t("me.let_go.done", { name: agent.name });
    again("#agents");
  };
  const rows = Object.keys(agent.games).map((type) => [word("game", type), { number: agent.games[type] }, { number: agent.ratings?.[type]?.rating ?? "–" }]);
  return el("li", { class: "tight" },
    el("div", { class: "row apart" }, el("a", { href: `/agents/${encodeURIComponent(agent.id)}` }, named(agent.name)),
      el("span", { class: "quiet small" }, [agent.handle, agent.version].filter(Boolean).join(" · "))),
    table(agent.name, [t("archive.type"), { number: t("agent.games") }, { number: t("agent.rating") }], rows, { hidden: true }),
    el("div", { class: "row end" },
      actionButton(t("me.new_key"), renew, { place, "aria-label": t("me.new_key.of", { name: agent.name }) }),
      actionButton(t("me.let_go"), release, { place, "aria-label": t("me.let_go.of", { name: agent.name }) })), place);
}

function registration(again) {
  const register = async (values, sent) => {
    const made = await mine("POST", "/api/owners/me/agents", values);
    sent();
    secrets = secretsOf(made, made.name);
    again("#once");
  };
  return card("register", t("me.register"), form("register", [nameField(t("me.agent_name")),
    field(t("me.version"), text("version", { maxlength: 40 }), { hint: t("optional") }),
    field(t("me.about"), text("about", { maxlength: 500 }), { hint: t("optional") })], t("me.register.do"), register));
}

function claim(again) {
  const send = async (values, sent) => {
    const { name } = await mine("POST", "/api/owners/me/claims", values);
    sent();
    note = t("me.claim.done", { name });
    again("#agents");
  };
  return card("claim", t("me.claim"), el("p", {}, t("me.claim.lead")), form("claim", [field(t("me.claim.key"), secret("api_key"))], t("me.claim.do"), send));
}

/** The accounts of providers that open this one: a thief's would stay after a recovery. */
function signIns(owner, again) {
  if (!owner.sign_ins?.length) return null;
  return card("sign-ins", t("me.sign_ins"), el("p", {}, t("me.sign_ins.lead")),
    el("ul", { class: "stack" }, owner.sign_ins.map((one) => signInRow(one, again))));
}

function signInRow({ id, issuer, at }, again) {
  const place = el("div");
  const names = { provider: new URL(issuer).host, when: moment(at) };
  const remove = async () => {
    if (!(await sure(t("me.sign_ins.sure", names)))) return;
    await mine("DELETE", `/api/owners/me/sign-ins/${encodeURIComponent(id)}`);
    note = t("me.sign_ins.done", names);
    again();
  };
  return el("li", { class: "row apart" }, el("span", {}, el("bdi", {}, names.provider), " · ", t("me.sign_ins.since", names)),
    actionButton(t("me.sign_ins.remove"), remove, { place, "aria-label": t("me.sign_ins.remove.of", names) }), place);
}

/** What is posted to a server of the owner's. */
function webhook({ webhook: found }, again) {
  const place = el("div");
  const list = el("div", { class: "stack" });
  const ticks = WEBHOOK_EVENTS.map((name) => el("input", { type: "checkbox", name: "events", value: name, checked: found ? found.events.includes(name) : true }));
  const events = el("fieldset", {}, el("legend", {}, t("me.webhook.events")), ticks.map((tick) =>
    el("label", { class: "choice" }, tick, el("span", {}, word("me.webhook.event", tick.value)))));
  const fault = el("span", { class: "fault", role: "alert" });
  events.append(fault);
  events.control = ticks[0];
  events.showFault = (message) => fill(fault, message);
  const address = field(t("me.webhook.url"), el("input", { type: "url", name: "url", autocomplete: "off", required: true, maxlength: 500, value: found?.url ?? "" }), { hint: t("me.webhook.url.hint") });
  const save = async ({ url }, sent) => {
    const chosen = ticks.filter((tick) => tick.checked).map((tick) => tick.value);
    if (!chosen.length) {
      events.showFault(t("form.choose"));
      ticks[0].focus();
      return;
    }
    const { secret } = await mine("PUT", WEBHOOK, { url, events: chosen });
    sent();
    secrets = [[t("me.webhook.secret"), secret]];
    again("#once");
  };
  const remove = async () => {
    if (!(await sure(t("me.webhook.remove.sure")))) return;
    await mine("DELETE", WEBHOOK);
    note = t("me.webhook.removed");
    again("#webhook");
  };
  const show = async () => {
    const { deliveries } = await mine("GET", `${WEBHOOK}/deliveries`);
    const rows = deliveries.map(({ type, when, status, tries }) => [moment(when), word("me.webhook.event", type), word("me.webhook.status", status), { number: tries }]);
    fill(list, rows.length ? table(t("me.webhook.deliveries"), [t("me.webhook.when"), t("me.webhook.what"), t("me.webhook.state"), { number: t("me.webhook.tries") }], rows)
      : el("p", { class: "quiet" }, t("me.webhook.none")));
  };
  return card("webhook", t("me.webhook"), el("p", {}, t("me.webhook.lead")),
    found?.off ? el("p", { class: "notice", role: "alert" }, t(`me.webhook.off.${found.off.reason}`, { when: moment(found.off.at) })) : null,
    form("webhook", [address, events], t(found ? "me.webhook.replace" : "me.webhook.set"), save),
    found ? el("div", { class: "row" }, actionButton(t("me.webhook.show"), show, { place }), actionButton(t("me.webhook.remove"), remove, { place })) : null,
    place, list);
}

function safety(owner, again) {
  const place = el("div");
  const codes = async () => {
    if (!(await sure(t("me.codes.sure")))) return;
    secrets = [[t("me.id"), owner.id], ...secretsOf(await mine("POST", "/api/owners/me/codes"))];
    again("#once");
  };
  const erase = async () => {
    if (!(await sure(t("me.erase.sure")))) return;
    await mine("DELETE", "/api/owners/me");
    forgetDrafts("me");
    leave();
    secrets = [];
    note = t("me.erased");
    again();
  };
  return card("safety", t("me.safety"), el("p", {}, t("me.safety.lead")),
    el("div", { class: "row" }, actionButton(t("me.codes"), codes, { place }), actionButton(t("me.erase"), erase, { place })),
    place, el("p", { class: "small" }, el("a", { href: "/privacy" }, t("foot.privacy"))));
}
