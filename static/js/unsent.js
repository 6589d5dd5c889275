// What a person typed is not lost when the language is switched, or the session ended, in the middle of a form: the tab
// keeps it until the same person has the same page again. Forms that ask for a secret are never kept.
import { isEdited } from "./merge.js";
import { say } from "./page.js";

const KEY = "muster.unsent";
const { account } = document.body.dataset;

function stored() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null;
  }
}

function store(kept) {
  try {
    if (kept) sessionStorage.setItem(KEY, JSON.stringify(kept));
    else sessionStorage.removeItem(KEY);
  } catch {
    // Storage may be refused or full: nothing is kept then.
  }
}

function forms() {
  return [...document.querySelectorAll("main form[method=post]:not(.confirm, .bulk)")].filter((form) => !form.querySelector("[type=password]"));
}

function said(form) {
  return [...new FormData(form)].filter(([name, value]) => name !== "csrfmiddlewaretoken" && typeof value === "string");
}

/** Keeps what the forms say for the page at `address`; `away`: it is left without having been sent. */
function keep(address, away) {
  const { pathname } = new URL(address, location.href);
  if (account) store({ account, pathname, away, forms: forms().map(said) });
}

function set(form, fields) {
  const values = new Map();
  for (const [name, value] of fields) values.set(name, [...(values.get(name) ?? []), value]);
  for (const control of form.elements) {
    const own = values.get(control.name) ?? [];
    if (/^(checkbox|radio)$/.test(control.type)) control.checked = own.includes(control.value);
    else if (own.length && control.name !== "csrfmiddlewaretoken") control.value = own.shift();
  }
}

/** Puts `fields` back into `form`. One that the server draws as it changes is drawn by the server. */
function putBack(form, fields) {
  const verb = ["post", "get"].find((each) => form.hasAttribute(`hx-${each}`));
  if (!verb) {
    set(form, fields);
    return [...form.elements].some(isEdited);
  }
  const values = new FormData();
  for (const [name, value] of fields) values.append(name, value);
  const select = `#${form.id}`;
  window.htmx.ajax(verb.toUpperCase(), form.getAttribute(`hx-${verb}`), { target: select, select, swap: "outerHTML", values })
    .then(() => document.querySelector(select)?.dispatchEvent(new Event("change", { bubbles: true })));
  return true;
}

function tell() {
  const box = document.createElement("div");
  box.className = "notice info";
  box.setAttribute("role", "status");
  const words = document.createElement("p");
  words.textContent = say("unsent");
  box.append(words);
  document.getElementById("messages")?.append(box);
}

document.addEventListener("submit", ({ target, defaultPrevented }) => {
  if (defaultPrevented) return;
  if (target.hasAttribute("data-leaves")) store(null);
  else if (target.hasAttribute("data-stays")) keep(location.href, true);
  else if (forms().includes(target)) keep(target.getAttribute("action") || location.href, false);
});
// The session ended while a part of the page was asked for.
document.addEventListener("htmx:beforeOnLoad", ({ detail }) => {
  if (detail.xhr.status === 401) keep(location.href, true);
});

const kept = stored();
if (kept && account) {
  store(null);
  const signedIn = document.referrer && new URL(document.referrer).pathname.startsWith("/account/login");
  if ((kept.away || signedIn) && kept.account === account && kept.pathname === location.pathname) {
    const changed = forms().map((form, i) => Boolean(kept.forms[i]?.length) && putBack(form, kept.forms[i]));
    if (changed.includes(true)) tell();
  }
}
