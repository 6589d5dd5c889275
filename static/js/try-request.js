// The page of the API: sends one request as the person who is signed in, and shows its answer.
import { announce } from "./page.js";

const form = document.getElementById("try-request");
const field = (name) => form.elements.namedItem(name);
const shown = document.getElementById("try-answer");
const status = document.getElementById("try-status");

function headers(method) {
  const found = { Accept: "application/json", ...JSON.parse(document.body.getAttribute("hx-headers")) };
  if (method !== "GET") found["Content-Type"] = "application/json";
  if (field("match").value) found["If-Match"] = field("match").value;
  return found;
}

function address(method) {
  const url = new URL(field("path").value, location.origin);
  if (method !== "GET" && field("dry").checked) url.searchParams.set("dryRun", "true");
  return url;
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

async function send() {
  const method = field("method").value;
  const url = address(method);
  // Only this installation, and only its API: another address would be sent the CSRF token.
  if (url.origin !== location.origin || !/^\/(api|v1\/k8s)\//.test(url.pathname)) return form.dataset.elsewhere;
  const body = method === "GET" || !field("body").value.trim() ? undefined : field("body").value;
  const answer = await fetch(url, { method, body, headers: headers(method), signal: AbortSignal.timeout(60_000) });
  shown.textContent = pretty((await answer.text()).slice(0, 200_000));
  return `HTTP ${answer.status} ${answer.statusText}`;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("[type=submit]");
  shown.textContent = "";
  status.textContent = "…";
  button.disabled = true;
  try {
    status.textContent = await send();
  } catch {
    status.textContent = form.dataset.failed;
  } finally {
    button.disabled = false;
  }
  announce(status.textContent);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-try]");
  if (!button) return;
  const { method, path, body } = button.dataset;
  field("method").value = method;
  field("path").value = path;
  field("body").value = body ? pretty(body) : "";
  field("path").focus();
  form.scrollIntoView({ block: "start" });
});
