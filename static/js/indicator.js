// The light at the top of the page that says how live it is; figures that are old look old.
import { root } from "./page.js";

export const light = document.getElementById("live");
let fading = 0;

export function show(text, stale) {
  if (!light) return;
  light.classList.toggle("stale", stale);
  if (light.textContent !== text) light.textContent = text;
  // Figures stay, and after a minute look like what they are: the last that was known.
  if (stale) fading ||= setTimeout(() => root.classList.add("is-stale"), 60_000);
  else {
    clearTimeout(fading);
    fading = 0;
    root.classList.remove("is-stale");
  }
}
