// Rows by keyboard: one tab stop, arrows or j and k walk, Enter opens, x selects; e, y, Delete act on the page.
import { isTyping } from "./page.js";

function rows() {
  return [...document.querySelectorAll("table[data-rows] tbody tr[id]")];
}

function focusRow(row) {
  for (const other of rows()) other.tabIndex = other === row ? 0 : -1;
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const list = rows();
  if (!list.length) return;
  const at = list.indexOf(document.activeElement?.closest("tr"));
  focusRow(list[at < 0 ? 0 : Math.max(0, Math.min(list.length - 1, at + by))]);
}

/** Follows the action that names the key, else the page's link to what the key stands for. */
function press(key, otherwise) {
  (document.querySelector(`[data-key="${key}" i]`) ?? document.querySelector(otherwise))?.click();
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  x: (row) => row?.querySelector(".pick input")?.click(),
  e: () => press("E", "main a[href$='/edit/']"),
  y: () => press("Y", ".tabs a[href$='/yaml/']"),
  Delete: () => press("Del", ".page-head .menu a.danger"),
  "?": () => document.getElementById("shortcuts")?.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (isTyping(event) || document.querySelector("dialog[open]")) return;
  const row = document.activeElement?.closest("table[data-rows] tbody tr[id]");
  if (row === document.activeElement) {
    if (event.key === "Enter") {
      row.querySelector(".name a, a")?.click();
      event.preventDefault();
      return;
    }
    const by = { ArrowDown: 1, ArrowUp: -1, Home: -rows().length, End: rows().length }[event.key];
    if (by) {
      step(by);
      event.preventDefault();
      return;
    }
  }
  if (KEYS[event.key]) {
    KEYS[event.key](row);
    event.preventDefault();
  }
});
