// Forms that their own answer replaces as they change. An answer to what a form no longer says is dropped, whichever
// field was changed meanwhile, and what it says now is asked for: nothing that somebody chose is ever set back.
const asked = new WeakMap(); // request → what the form said when it went out

function said(form) {
  return new URLSearchParams(new FormData(form)).toString();
}

document.addEventListener("htmx:beforeSend", ({ detail }) => {
  const { elt, target, xhr } = detail;
  if (elt instanceof HTMLFormElement && target?.contains(elt)) asked.set(xhr, said(elt));
});

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!asked.has(detail.xhr)) return;
  const form = detail.requestConfig.elt;
  if (asked.get(detail.xhr) === said(form)) return;
  detail.shouldSwap = false;
  form.dispatchEvent(new Event("change", { bubbles: true }));
});
