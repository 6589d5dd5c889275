// How new HTML is merged into the page: what a person holds (focus, what is unfolded, ticks, drawn charts) stays, and
// so does what a part of the page has fetched for itself.
const HELD = "details, dialog";
const FETCHED = "[hx-get][hx-trigger^=load]";

function keepsNode(node, fresh) {
  if (!(node instanceof Element)) return false;
  if (node.matches(FETCHED)) return node.getAttribute("hx-get") === fresh?.getAttribute?.("hx-get");
  return node.matches(".pick input, [data-chart][data-drawn], [data-editor]");
}

function keepsAttribute(name, node) {
  if (name === "open" && node.matches(HELD)) return true;
  if (name === "tabindex") return true;
  return name === "aria-current" && node.matches(".cell");
}

const callbacks = {
  beforeNodeMorphed: (old, fresh) => !keepsNode(old, fresh),
  beforeAttributeUpdated: (name, node) => !keepsAttribute(name, node),
};

if (window.Idiomorph) {
  window.Idiomorph.defaults.ignoreActiveValue = true;
  Object.assign(window.Idiomorph.defaults.callbacks, callbacks);
}

// Whether a person has changed a control and not sent it yet.
export function isEdited(node) {
  if (node instanceof HTMLSelectElement) {
    const index = [...node.options].findIndex((option) => option.defaultSelected);
    return node.selectedIndex !== Math.max(index, 0);
  }
  if (node instanceof HTMLTextAreaElement) return node.value !== node.defaultValue;
  if (!(node instanceof HTMLInputElement)) return false;
  return node.value !== node.defaultValue || node.checked !== node.defaultChecked;
}

/** Merges `fresh` into `old`, both the same element of two versions of the page. What is being edited stays. */
export function merge(old, fresh) {
  const keeping = { beforeNodeMorphed: (node, other) => !keepsNode(node, other) && !isEdited(node) };
  window.Idiomorph.morph(old, fresh, { morphStyle: "outerHTML", callbacks: keeping });
}

function rowsOf(element) {
  return [...element.querySelectorAll("table[data-rows] tbody tr[id]")];
}

/** Whether somebody points at the rows of `list` or has one in focus, so that they must not move. */
export function isHeld(list) {
  const body = list.querySelector("table[data-rows] tbody");
  return Boolean(body && (body.matches(":hover") || body.contains(document.activeElement)));
}

/**
 * Merges a list whose rows must not move: figures change in place, rows that left turn faint, new ones wait.
 * Returns how many wait.
 */
export function mergeInPlace(old, fresh) {
  const rows = new Map(rowsOf(fresh).map((row) => [row.id, row]));
  for (const row of rowsOf(old)) {
    const next = rows.get(row.id);
    rows.delete(row.id);
    row.classList.toggle("gone", !next);
    if (next) merge(row, next);
  }
  for (const part of [".views", ".list-foot"]) {
    const [was, is] = [old.querySelector(part), fresh.querySelector(part)];
    if (was && is) merge(was, is);
  }
  return rows.size;
}
