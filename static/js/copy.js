// Copy buttons: data-copy holds the text, data-copy-from the id of what holds it.
import { announce, say } from "./page.js";

async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // No permission, or the page is not served over HTTPS.
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copyFrom);
  const done = await write(button.dataset.copy ?? source?.value ?? source?.textContent ?? "");
  if (!done && source) getSelection().selectAllChildren(source);
  const words = say(done ? "copied" : "copyFailed");
  announce(words);
  button.dataset.said = words;
  setTimeout(() => delete button.dataset.said, 2000);
});
