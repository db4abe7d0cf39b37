// What a screen reader, tired eyes and a phone would stumble over in a page; everything that is found is told.

({ least }) => {
  const name = (node) => {
    const label = node.getAttribute("aria-labelledby");
    const own = ["BUTTON", "A", "SUMMARY"].includes(node.tagName) ? node.textContent || node.querySelector("img")?.alt : "";
    const labels = [...(node.labels ?? [])].map((one) => one.textContent).join(" ");
    return (node.getAttribute("aria-label") || labels || (label && document.getElementById(label)?.textContent) || own || "").trim();
  };
  const shown = (node) => node.outerHTML.slice(0, 120);
  const controls = "a, button, input, select, textarea, summary, [role=tab]";
  const nameless = [...document.querySelectorAll(controls)].filter((node) => !name(node)).map((node) => `no name: ${shown(node)}`);

  const broken = ["aria-labelledby", "aria-controls", "aria-describedby", "for"].flatMap((attribute) =>
    [...document.querySelectorAll(`[${attribute}]`)]
      .filter((node) => node.getAttribute(attribute).split(/\s+/).some((id) => !document.getElementById(id)))
      .map((node) => `${attribute} leads nowhere: ${shown(node)}`));

  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  const twice = ids.filter((id, place) => ids.indexOf(id) !== place).map((id) => `id twice: ${id}`);

  const rgb = (text) => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  // Relative luminance as WCAG 2 defines it.
  const light = ({ r, g, b }) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, place) => sum + v * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color.a > 0) return color;
    }
    return { r: 255, g: 255, b: 255 };
  };
  const faint = [];
  for (const node of document.querySelectorAll("body *")) {
    const text = [...node.childNodes].filter((child) => child.nodeType === 3).map((child) => child.data).join("").trim();
    if (!text || !node.checkVisibility() || node.disabled || node.closest("noscript, .unseen, .skip")) continue;
    const [ink, paper] = [light(rgb(getComputedStyle(node).color)), light(behind(node))];
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (contrast < least) faint.push(`contrast ${contrast.toFixed(2)}: ${text.slice(0, 60)}`);
  }

  const wide = document.documentElement.scrollWidth > innerWidth ? [`wider than the screen by ${document.documentElement.scrollWidth - innerWidth}`] : [];
  const once = ["h1", "main"].filter((tag) => document.querySelectorAll(tag).length !== 1).map((tag) => `not one ${tag}`);
  return [...nameless, ...broken, ...twice, ...faint, ...wide, ...once];
}
