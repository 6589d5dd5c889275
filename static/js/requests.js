// What htmx does not do: say when an answer failed, and go to the sign-in page when the session ended.
import { announce, say } from "./page.js";

function notice(text) {
  const messages = document.getElementById("messages");
  if (!messages) return;
  const box = document.createElement("div");
  box.className = "notice bad";
  box.setAttribute("role", "alert");
  const words = document.createElement("p");
  words.textContent = text;
  box.append(words);
  messages.replaceChildren(box);
  announce(text);
}

// What a page fetches by itself (as it loads, by a timer) is no use of the session.
document.addEventListener("htmx:configRequest", (event) => {
  if (!event.detail.triggeringEvent) event.detail.headers["X-Live-Refresh"] = "1";
});
document.addEventListener("htmx:sendError", () => notice(say("failed", { reason: say("noConnection") })));
document.addEventListener("htmx:timeout", () => notice(say("failed", { reason: say("tooSlow") })));
document.addEventListener("htmx:responseError", (event) => {
  const { status } = event.detail.xhr;
  if (status === 401 || (status === 403 && event.detail.xhr.getResponseHeader("HX-Redirect"))) location.reload();
  else notice(say("failed", { reason: `HTTP ${status}` }));
});

// A signed-out session answers a fragment with the sign-in page: show that page instead of swapping it in.
document.addEventListener("htmx:beforeSwap", (event) => {
  const answer = event.detail.xhr;
  if (answer.responseURL && new URL(answer.responseURL).pathname.startsWith("/account/login")) {
    event.detail.shouldSwap = false;
    location.reload();
  }
});
