// GPU map of up to 2,000 HTML cells: one tab stop, arrows walk, Enter opens the node, the panel beside shows facts.
import { whenPresent } from "./page.js";

function neighbour(cells, from, key) {
  const at = cells.indexOf(from);
  if (key === "ArrowRight") return cells[at + 1];
  if (key === "ArrowLeft") return cells[at - 1];
  if (key === "Home") return from.parentElement.querySelector(".cell");
  if (key === "End") return [...from.parentElement.querySelectorAll(".cell")].at(-1);
  const column = [...from.parentElement.querySelectorAll(".cell")].indexOf(from);
  const nodes = [...new Set(cells.map((cell) => cell.parentElement))];
  const node = nodes[nodes.indexOf(from.parentElement) + (key === "ArrowDown" ? 1 : -1)];
  const row = [...(node?.querySelectorAll(".cell") ?? [])];
  return row[Math.min(column, row.length - 1)];
}

whenPresent("[data-gpu-map]", (map) => {
  const cells = () => [...map.querySelectorAll(".cell")];
  const stop = () => {
    const all = cells();
    if (!all.some((cell) => cell.tabIndex === 0) && all[0]) all[0].tabIndex = 0;
  };
  const facts = document.getElementById("cell-facts");
  const choose = (cell) => {
    for (const other of map.querySelectorAll(".cell[aria-current], .cell[tabindex='0']")) {
      other.removeAttribute("aria-current");
      other.tabIndex = -1;
    }
    cell.tabIndex = 0;
    cell.setAttribute("aria-current", "true");
    if (facts) facts.textContent = cell.getAttribute("aria-label");
  };
  stop();
  document.addEventListener("muster:refreshed", stop);
  map.addEventListener("keydown", (event) => {
    const cell = event.target.closest(".cell");
    if (!cell || !/^(Arrow|Home|End)/.test(event.key)) return;
    event.preventDefault();
    const to = neighbour(cells(), cell, event.key);
    if (!to) return;
    choose(to);
    to.focus();
  });
  map.addEventListener("click", (event) => {
    const cell = event.target.closest(".cell");
    if (!cell) return;
    if (cell.hasAttribute("aria-current") && cell.dataset.url) location.assign(cell.dataset.url);
    else choose(cell);
  });
  map.addEventListener("pointerover", (event) => {
    const cell = event.target.closest(".cell");
    if (cell && facts) facts.textContent = cell.getAttribute("aria-label");
  });
});
