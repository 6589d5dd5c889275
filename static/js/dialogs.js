// Dialogs: a link with data-dialog is a page of its own; here that page's dialog opens over this one.
// A destructive act needs its name typed: until then its button says why it does nothing.
import { say, whenPresent } from "./page.js";

const dialog = document.getElementById("dialog");
let opener = null;

/** What the page of a link has for a dialog; null where it has nothing or does not answer. */
async function bodyOf(link) {
  try {
    const page = await fetch(link.href, { headers: { Accept: "text/html" } });
    const found = new DOMParser().parseFromString(await page.text(), "text/html").querySelector("[data-dialog-body]");
    return page.ok ? found : null;
  } catch {
    return null;
  }
}

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-dialog]");
  if (!link || !dialog || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  opener = link.closest("details")?.querySelector("summary") ?? link;
  const body = await bodyOf(link);
  if (dialog.open) return; // pressed twice while the answer was awaited
  if (!body) {
    location.assign(link.href);
    return;
  }
  dialog.replaceChildren(...body.childNodes);
  const form = dialog.querySelector("form");
  if (form && !form.getAttribute("action")) form.action = link.href;
  document.dispatchEvent(new CustomEvent("muster:refreshed"));
  dialog.showModal();
  dialog.querySelector("[autofocus], input:not([type=hidden]), button")?.focus();
});

document.addEventListener("click", (event) => {
  const close = event.target.closest("[data-close]");
  const shown = close?.closest("dialog");
  if (!shown) return;
  event.preventDefault();
  shown.close();
});

dialog?.addEventListener("close", () => {
  dialog.replaceChildren();
  opener?.focus();
});

for (const shown of document.querySelectorAll("dialog")) {
  shown.addEventListener("click", (event) => {
    if (event.target === shown) shown.close();
  });
}

whenPresent("form[data-confirm-name]", (form) => {
  const input = form.querySelector("[name=confirm]");
  const button = form.querySelector("button.destroy");
  const check = () => {
    const matches = input.value === form.dataset.confirmName;
    if (matches) button.removeAttribute("aria-disabled");
    else button.setAttribute("aria-disabled", "true");
    button.title = matches ? "" : say("typeName", { name: form.dataset.confirmName });
  };
  input.addEventListener("input", check);
  check();
});

document.addEventListener("submit", (event) => {
  if (event.submitter?.getAttribute("aria-disabled") === "true") event.preventDefault();
}, true);
document.addEventListener("click", (event) => {
  if (event.target.closest("[aria-disabled=true]")) event.preventDefault();
}, true);
