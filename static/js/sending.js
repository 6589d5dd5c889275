// A form is sent once: pressed again while its answer is awaited, it would do the same thing twice.
const AGAIN_AFTER = 10_000;
let sent = new WeakSet();

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (sent.has(form)) {
    event.preventDefault();
    return;
  }
  sent.add(form);
  // Who stopped the browser, or waits for an answer that got lost, can press again.
  setTimeout(() => sent.delete(form), AGAIN_AFTER);
});

// Back to a page that the browser kept as it was.
window.addEventListener("pageshow", () => { sent = new WeakSet(); });
