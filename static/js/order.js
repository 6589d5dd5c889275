// Reordering levels: drag by the grip, Alt with the arrow keys, or the two buttons; the form's order follows.
import { announce, say, whenPresent } from "./page.js";

function name(item) {
  return item.dataset.name ?? item.querySelector("input")?.value ?? item.textContent.trim();
}

function moved(list, item) {
  [...list.children].forEach((child, i) => {
    const number = child.querySelector("[data-position]");
    if (number) number.textContent = i + 1;
    const [up, down] = child.querySelectorAll("[data-move]");
    up?.toggleAttribute("disabled", i === 0);
    down?.toggleAttribute("disabled", i === list.children.length - 1);
  });
  if (!item) return;
  announce(say("moved", { name: name(item), n: [...list.children].indexOf(item) + 1 }));
  list.dispatchEvent(new Event("change", { bubbles: true }));
}

function move(list, item, by) {
  const other = by < 0 ? item.previousElementSibling : item.nextElementSibling;
  if (!other) return;
  if (by < 0) other.before(item);
  else other.after(item);
  moved(list, item);
}

whenPresent("[data-order]", (list) => {
  let dragged = null;
  list.addEventListener("click", (event) => {
    const button = event.target.closest("[data-move]");
    const item = event.target.closest("li");
    if (button) {
      event.preventDefault();
      move(list, item, button.dataset.move === "up" ? -1 : 1);
      (button.disabled ? item.querySelector("[data-move]:not([disabled])") : button)?.focus();
    } else if (event.target.closest("[data-remove]")) {
      event.preventDefault();
      const next = item.nextElementSibling ?? item.previousElementSibling;
      item.remove();
      moved(list);
      list.dispatchEvent(new Event("change", { bubbles: true }));
      next?.querySelector("button:not([disabled])")?.focus();
    }
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const item = event.target.closest("li");
    if (!by || !event.altKey || !item) return;
    event.preventDefault();
    const focused = document.activeElement;
    move(list, item, by);
    focused.focus();
  });
  list.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("li");
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", name(dragged));
    dragged.classList.add("dragged");
  });
  list.addEventListener("dragover", (event) => {
    const over = event.target.closest("li");
    if (!dragged || !over || over === dragged || over.parentElement !== list) return;
    event.preventDefault();
    const box = over.getBoundingClientRect();
    if (event.clientY < box.top + box.height / 2) over.before(dragged);
    else over.after(dragged);
  });
  list.addEventListener("dragend", () => {
    if (!dragged) return;
    dragged.classList.remove("dragged");
    moved(list, dragged);
    dragged = null;
  });
  moved(list);
});
