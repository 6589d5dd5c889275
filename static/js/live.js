// Live pages. Elements with an id and data-live="topic …" are fetched again when one of their topics changes and
// merged in place. One EventSource a page (data-live-url on body). Its messages: a JSON list of topics; event
// "state": {"stale": "what is wrong", "since": ISO time or ""} or {} when all is well. Without it the page polls.
import { light, show } from "./indicator.js";
import { isHeld, merge, mergeInPlace } from "./merge.js";
import { say } from "./page.js";
import { clock } from "./times.js";

const POLL_SECONDS = 15;
const SETTLE = 400;
const url = document.body.dataset.liveUrl;
let waiting = new Set();
let timer = 0;
let poll = 0;
let again = 0;
let lostAt = null;
let told = {};
let stream = null;
let ended = ""; // why this page can't be fetched any more: a word of components/script_words.html

function fragments() {
  return [...document.querySelectorAll("[data-live][id]")];
}

function concerns(element, topics) {
  const own = element.dataset.live.split(/\s+/);
  return topics.some((t) => own.some((o) => t === o || t.startsWith(`${o}.`) || t.startsWith(`${o}@`)));
}

function showState() {
  if (ended) show(say(ended), true);
  else if (lostAt) show(say("offline", { time: clock(lostAt) }), true);
  else if (told.since) show(`${say("stale", { time: clock(new Date(told.since)) })}: ${told.stale}`, true);
  else if (told.stale) show(told.stale, true);
  else if (poll) show(say("polling", { n: POLL_SECONDS }), false);
  else show(say("isLive"), false);
}

/** Why an answer says that there is nothing to wait for any more; "" when it doesn't. */
function endOf(answer) {
  const { pathname } = new URL(answer.url);
  if (answer.status === 401 || pathname.startsWith("/account/login")) return "signedOut";
  if (answer.status === 403) return "notPermitted";
  return answer.status === 404 || pathname !== location.pathname ? "gone" : "";
}

async function refresh(elements) {
  const targets = elements.filter((element) => element.isConnected);
  if (!targets.length || ended) return;
  try {
    const answer = await fetch(location.href, { headers: { "X-Live-Refresh": "1" }, signal: AbortSignal.timeout(20_000) });
    ended = endOf(answer);
    if (ended) {
      showState();
      return;
    }
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const old of targets) {
      const fresh = page.getElementById(old.id);
      if (fresh) apply(old, fresh);
    }
    const [was, is] = [document.getElementById("list-count"), page.getElementById("list-count")];
    if (was && is) was.textContent = is.textContent;
    lostAt = null;
    document.dispatchEvent(new CustomEvent("muster:refreshed"));
  } catch {
    lostAt ??= new Date();
    // The stream may be well and say nothing for long: what was not fetched is asked for again.
    again ||= setTimeout(() => { again = 0; if (!poll) refresh(fragments()); }, POLL_SECONDS * 1000);
  }
  showState();
}

function apply(old, fresh) {
  if (!isHeld(old)) {
    merge(old, fresh);
    return;
  }
  const count = mergeInPlace(old, fresh);
  const button = document.querySelector("[data-new-rows]");
  if (button) {
    button.hidden = count === 0;
    button.querySelector("span").textContent = say("new", { n: count });
  }
}

function schedule(topics) {
  for (const element of fragments()) if (concerns(element, topics)) waiting.add(element);
  if (timer || !waiting.size) return;
  timer = setTimeout(async () => {
    const elements = [...waiting];
    waiting = new Set();
    await refresh(elements);
    timer = 0;
    if (waiting.size) schedule([]);
  }, SETTLE);
}

function startPolling() {
  if (poll) return;
  poll = setInterval(() => { if (!document.hidden) refresh(fragments()); }, POLL_SECONDS * 1000);
  showState();
}

function stopPolling() {
  clearInterval(poll);
  poll = 0;
}

function listen() {
  const topics = new Set(fragments().flatMap((element) => element.dataset.live.split(/\s+/)));
  const address = new URL(url, location.href);
  for (const topic of topics) address.searchParams.append("topic", topic);
  stream?.close();
  stream = new EventSource(address);
  stream.addEventListener("open", () => {
    stopPolling();
    lostAt = null;
    showState();
    // Whatever changed between the page's making and this moment was told to nobody.
    refresh(fragments());
  });
  stream.addEventListener("message", (event) => schedule(JSON.parse(event.data)));
  stream.addEventListener("poll", startPolling);
  stream.addEventListener("state", (event) => { told = JSON.parse(event.data); showState(); });
  stream.addEventListener("error", () => {
    startPolling();
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, POLL_SECONDS * 1000);
  });
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-new-rows]")) {
    document.activeElement?.blur();
    location.reload();
  }
});
document.addEventListener("pointerout", (event) => {
  const list = event.target.closest?.("[data-live]");
  if (list?.querySelector("[data-new-rows]:not([hidden])") && !list.contains(event.relatedTarget)) refresh([list]);
});

if (url && fragments().length) {
  listen();
  window.addEventListener("pagehide", () => stream.close());
  // Back to a page that the browser kept as it was: its stream is closed and what it shows is of then.
  window.addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
} else if (light) light.hidden = true; // nothing on this page changes by itself
