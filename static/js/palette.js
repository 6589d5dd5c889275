// Search of everything: / or Ctrl+K opens, arrows walk the results, Enter opens one, Esc closes.
import { isTyping } from "./page.js";

const palette = document.getElementById("palette");
const input = palette?.querySelector("input[type=search]");
const pages = [...(palette?.querySelectorAll("[data-page]") ?? [])].map((page) => page.cloneNode(true));

function open() {
  if (!palette || palette.open) return;
  palette.showModal();
  input.select();
  mark(0);
}

function results() {
  return [...palette.querySelectorAll("[role=option]")];
}

function mark(index) {
  const list = results();
  const at = list.length ? (index + list.length) % list.length : -1;
  list.forEach((option, i) => {
    option.id = `result-${i}`;
    option.setAttribute("aria-selected", String(i === at));
    if (i === at) option.scrollIntoView({ block: "nearest" });
  });
  if (at < 0) input.removeAttribute("aria-activedescendant");
  else input.setAttribute("aria-activedescendant", `result-${at}`);
}

function current() {
  return results().findIndex((option) => option.getAttribute("aria-selected") === "true");
}

if (palette) {
  document.querySelectorAll("[data-action=search]").forEach((button) => button.addEventListener("click", open));
  document.addEventListener("keydown", (event) => {
    const wanted = (event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !isTyping(event));
    if (!wanted || (document.querySelector("dialog[open]") && !palette.open)) return;
    event.preventDefault();
    open();
  });
  palette.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      mark(current() + step);
    } else if (event.key === "Escape") {
      event.preventDefault(); // the field would keep it for itself, to be emptied first
      palette.close();
    } else if (event.key === "Enter") {
      event.preventDefault();
      results()[Math.max(0, current())]?.click();
    }
  });
  input.addEventListener("input", () => {
    const words = input.value.trim().toLowerCase();
    if (words && input.hasAttribute("hx-get")) return;
    const fitting = pages.filter((page) => page.textContent.toLowerCase().includes(words));
    document.getElementById("palette-results").replaceChildren(...fitting.map((page) => page.cloneNode(true)));
    mark(0);
  });
  palette.addEventListener("htmx:afterSettle", () => mark(0));
}
