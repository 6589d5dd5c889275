// Menus are <details>: they open without script. Here they also close, and arrows walk their items.
function items(popup) {
  return [...popup.querySelectorAll(".menu :is(a, button, [tabindex])")];
}

function closeOthers(kept) {
  for (const popup of document.querySelectorAll("details[data-popup][open]")) {
    if (popup !== kept) popup.open = false;
  }
}

document.addEventListener("click", (event) => {
  const popup = event.target.closest("details[data-popup]");
  closeOthers(popup);
  if (popup && event.target.closest(".menu :is(a, button)") && !popup.querySelector("input, select")) popup.open = false;
});

document.addEventListener("keydown", (event) => {
  const popup = event.target.closest?.("details[data-popup]");
  if (!popup) return;
  if (event.key === "Escape" && popup.open) {
    popup.open = false;
    popup.querySelector("summary").focus();
    event.stopPropagation();
    return;
  }
  if (popup.querySelector("input:not([type=hidden]), select")) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !items(popup).length) return;
  event.preventDefault();
  popup.open = true;
  const list = items(popup);
  const at = list.indexOf(document.activeElement);
  list[(at + step + list.length) % list.length]?.focus();
});

document.addEventListener("focusout", (event) => {
  const popup = event.target.closest?.("details[data-popup][open]");
  const next = event.relatedTarget;
  // A press on a word of the popup gives the focus to what surrounds it (main): that is not leaving.
  if (popup && next && !popup.contains(next) && !next.contains(popup)) popup.open = false;
});
