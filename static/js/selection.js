// Selecting rows: all on the page, a range with Shift, and the count in the bulk bar.
import { announce } from "./page.js";

let last = null;

function boxes(list) {
  return [...list.querySelectorAll("tbody .pick input")];
}

function update(list) {
  const all = boxes(list);
  const chosen = all.filter((box) => box.checked);
  const head = list.querySelector("[data-select-all]");
  if (head) {
    head.checked = all.length > 0 && chosen.length === all.length;
    head.indeterminate = chosen.length > 0 && chosen.length < all.length;
  }
  const count = list.querySelector("[data-selected-count]");
  if (!count) return;
  count.textContent = (chosen.length === 1 ? count.dataset.one : count.dataset.many).replace("{n}", chosen.length);
  if (chosen.length) announce(count.textContent);
}

document.addEventListener("click", (event) => {
  const box = event.target.closest("tbody .pick input");
  if (!box) return;
  const list = box.closest(".list-area");
  const all = boxes(list);
  if (event.shiftKey && last && all.includes(last)) {
    const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
    for (const other of all.slice(from, to + 1)) other.checked = box.checked;
  }
  last = box;
  update(list);
});

document.addEventListener("change", (event) => {
  const head = event.target.closest("[data-select-all]");
  if (!head) return;
  const list = head.closest(".list-area");
  for (const box of boxes(list)) box.checked = head.checked;
  update(list);
});

document.addEventListener("reset", (event) => {
  const list = event.target.closest(".list-area");
  if (!list || event.target.id !== "bulk") return;
  setTimeout(() => {
    for (const box of boxes(list)) box.checked = false;
    update(list);
  });
});

for (const type of ["htmx:afterSettle", "muster:refreshed"]) {
  document.addEventListener(type, () => document.querySelectorAll(".list-area").forEach(update));
}
document.querySelectorAll(".list-area").forEach(update);
