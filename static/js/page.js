// What the modules share: the translated words, the moments when new HTML arrives, and who has the keyboard.
export const root = document.documentElement;
export const language = root.lang || "en";

/** A sentence from components/script_words.html, with {names} filled in. */
export function say(name, values = {}) {
  const text = document.getElementById("words")?.dataset[name] ?? "";
  return text.replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
}

/** Calls `set` for every element that matches, now and whenever htmx or a live refresh brings new ones. */
export function whenPresent(selector, set) {
  const seen = new WeakSet();
  const look = () => {
    for (const element of document.querySelectorAll(selector)) {
      if (seen.has(element)) continue;
      seen.add(element);
      set(element);
    }
  };
  look();
  document.addEventListener("htmx:afterSettle", look);
  document.addEventListener("muster:refreshed", look);
}

/** Whether keys go into a field, so that single letters are text and not commands. */
export function isTyping(event) {
  const target = event.target;
  return event.ctrlKey || event.metaKey || event.altKey || target.isContentEditable
    || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && !/^(checkbox|radio|button|submit)$/.test(target.type);
}

export function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Storage may be refused; the choice lasts for this page then.
  }
}

/** Says a sentence to assistive technology and nobody else. */
export function announce(text) {
  let region = document.getElementById("announcer");
  if (!region) {
    region = document.createElement("div");
    region.id = "announcer";
    region.className = "visually-hidden";
    region.setAttribute("aria-live", "polite");
    document.body.append(region);
  }
  region.textContent = text;
}
