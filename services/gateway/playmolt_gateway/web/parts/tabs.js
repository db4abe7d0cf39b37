/** Tabs as the ARIA pattern has them: arrows move, one panel shows. */

import { el } from "./dom.js";

/** `tabs` is [[id, label, panel node]]; `chosen` is called on a change. */
export function tabs(label, list, first, chosen = () => {}) {
  const buttons = list.map(([id, text, panel]) => {
    const button = el("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `panel-${id}`, "data-tab": id }, text);
    panel.id = `panel-${id}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", `tab-${id}`);
    button.addEventListener("click", () => show(id));
    return button;
  });
  const bar = el("div", { class: "row", role: "tablist", "aria-label": label }, buttons);
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const place = buttons.indexOf(document.activeElement);
    const next = buttons[(place + step + buttons.length) % buttons.length];
    show(next.dataset.tab);
    next.focus();
  });
  function show(id) {
    for (const [place, [own, , panel]] of list.entries()) {
      panel.hidden = own !== id;
      buttons[place].setAttribute("aria-selected", String(own === id));
      buttons[place].tabIndex = own === id ? 0 : -1;
    }
    chosen(id);
  }
  const node = el("div", { class: "stack" }, bar, list.map(([, , panel]) => panel));
  node.show = show;
  show(list.some(([id]) => id === first) ? first : list[0][0]);
  return node;
}
