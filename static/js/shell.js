// Theme, navigation drawer and fold, messages that can be closed.
import { remember, root, whenPresent } from "./page.js";

const nav = document.getElementById("nav");

function isDark() {
  if (root.dataset.theme) return root.dataset.theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function switchTheme() {
  root.dataset.theme = isDark() ? "light" : "dark";
  remember("muster-theme", root.dataset.theme);
  document.dispatchEvent(new CustomEvent("muster:theme"));
}

function setDrawer(open) {
  if (open) root.dataset.nav = "open";
  else if (root.dataset.nav === "open") delete root.dataset.nav;
  const button = document.querySelector("[data-action=nav]");
  button?.setAttribute("aria-expanded", String(open));
  const body = document.querySelector(".body");
  if (body) body.inert = open;
  if (open) (nav.querySelector("[aria-current]") ?? nav.querySelector("a")).focus();
  else button?.focus();
}

function fold() {
  const folded = root.dataset.nav === "folded";
  if (folded) delete root.dataset.nav;
  else root.dataset.nav = "folded";
  remember("muster-nav", folded ? null : "folded");
  document.querySelector("[data-action=fold]")?.setAttribute("aria-expanded", String(folded));
}

// What is drawn with the theme's colours is drawn anew when the system changes its own.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  document.dispatchEvent(new CustomEvent("muster:theme"));
});

const ACTIONS = {
  theme: switchTheme,
  nav: () => setDrawer(true),
  fold,
  shortcuts: () => document.getElementById("shortcuts")?.showModal(),
};

document.addEventListener("click", (event) => {
  const action = event.target.closest("[data-action]")?.dataset.action;
  if (action && ACTIONS[action]) {
    ACTIONS[action]();
    return;
  }
  event.target.closest("[data-dismiss]")?.closest(".notice")?.remove();
  if (root.dataset.nav === "open" && !event.target.closest(".nav")) setDrawer(false);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && root.dataset.nav === "open") setDrawer(false);
});

whenPresent("[data-action=fold]", (button) => {
  button.setAttribute("aria-expanded", String(root.dataset.nav !== "folded"));
});
