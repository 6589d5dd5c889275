// Moments in the viewer's time zone, with UTC in the tooltip; spans that grow while the page is open.
import { language, say } from "./page.js";

const FORMS = {
  time: { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  date: { dateStyle: "medium" },
  datetime: { dateStyle: "medium", timeStyle: "short", hourCycle: "h23" },
};
const formats = Object.fromEntries(
  Object.entries(FORMS).map(([kind, form]) => [kind, new Intl.DateTimeFormat(language, form)]),
);

/** The same units as the server's `duration` filter. */
export function span(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  const minutes = Math.floor(s / 60);
  const hours = Math.floor(s / 3600);
  if (s < 60) return say("seconds", { n: s });
  if (minutes < 60) return say("minutes", { n: minutes });
  if (hours < 10 && minutes % 60) return say("hoursMinutes", { h: hours, m: minutes % 60 });
  if (hours < 24) return say("hours", { n: hours });
  return say("days", { n: Math.floor(hours / 24) });
}

export function clock(date) {
  return formats.time.format(date);
}

function show(element) {
  const date = new Date(element.dateTime);
  if (Number.isNaN(date.getTime())) return;
  const kind = element.dataset.time;
  const text = kind === "ago" ? span((Date.now() - date) / 1000) : formats[kind]?.format(date);
  if (text && element.textContent !== text) element.textContent = text;
}

export function showTimes(within = document) {
  within.querySelectorAll("time[data-time]").forEach(show);
}

showTimes();
for (const type of ["htmx:afterSettle", "muster:refreshed"]) document.addEventListener(type, () => showTimes());
setInterval(() => {
  if (!document.hidden) document.querySelectorAll("time[data-time=ago]").forEach(show);
}, 10_000);
