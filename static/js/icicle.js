// The topology tree by keyboard: arrows walk domains by where they lie, Enter zooms (follows the link), Esc goes out.
import { whenPresent } from "./page.js";

function middle(link) {
  const box = link.getBoundingClientRect();
  return box.left + box.width / 2;
}

function nearest(links, x) {
  return links.reduce((best, link) => (!best || Math.abs(middle(link) - x) < Math.abs(middle(best) - x) ? link : best), null);
}

function target(tree, from, key) {
  const links = [...tree.querySelectorAll("a[data-depth]")];
  const depth = Number(from.dataset.depth);
  const at = (level) => links.filter((link) => Number(link.dataset.depth) === level);
  if (key === "ArrowUp") return nearest(at(depth - 1), middle(from));
  if (key === "ArrowDown") return nearest(at(depth + 1), middle(from));
  const row = at(depth).sort((a, b) => middle(a) - middle(b));
  if (key === "Home") return row[0];
  if (key === "End") return row.at(-1);
  return row[row.indexOf(from) + (key === "ArrowRight" ? 1 : -1)];
}

whenPresent("[data-icicle]", (tree) => {
  tree.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && tree.dataset.up) {
      location.assign(tree.dataset.up);
      return;
    }
    const from = event.target.closest("a[data-depth]");
    if (!from || !/^(Arrow|Home|End)/.test(event.key)) return;
    event.preventDefault();
    const to = target(tree, from, event.key);
    if (!to) return;
    from.setAttribute("tabindex", "-1");
    to.setAttribute("tabindex", "0");
    to.focus();
  });
});
