// Charts: figures are plotly JSON built on the server, in a data block (data-json) or behind an address (data-url).
// The library is loaded when the first chart comes into view. Colours come from the tokens: a trace or layout may
// name one as "var(--cat-1)".
import { language, say, whenPresent } from "./page.js";

const CONFIG = { displayModeBar: false, responsive: true, locale: language };
let library = null;

/** Names of months and days from the browser, since the bundle knows English only. */
function localeOf(name) {
  const names = (form, dates) => dates.map((date) => new Intl.DateTimeFormat(name, { ...form, timeZone: "UTC" }).format(date));
  const months = Array.from({ length: 12 }, (_, i) => new Date(Date.UTC(2026, i, 1)));
  const days = Array.from({ length: 7 }, (_, i) => new Date(Date.UTC(2026, 1, 1 + i))); // a Sunday first
  return {
    moduleType: "locale",
    name,
    dictionary: {},
    format: {
      months: names({ month: "long" }, months), shortMonths: names({ month: "short" }, months),
      days: names({ weekday: "long" }, days), shortDays: names({ weekday: "short" }, days),
      date: "%Y-%m-%d", time: "%H:%M", dateTime: "%Y-%m-%d %H:%M", periods: ["AM", "PM"],
      decimal: ".", thousands: ",", grouping: [3], currency: ["", ""],
      ...(name.startsWith("zh") && { year: "%Y年", month: "%Y年%-m月", dayMonth: "%-m月%-d日", dayMonthYear: "%Y年%-m月%-d日" }),
    },
  };
}

function load() {
  // Plotly adds its rules in a <style>, which the policy forbids; this mark tells it that they are in plotly.css.
  if (!document.getElementById("plotly.js-style-global")) {
    const mark = document.createElement("meta");
    mark.id = "plotly.js-style-global";
    mark.className = "no-inline-styles";
    document.head.append(mark);
  }
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = document.body.dataset.plotly;
    script.onload = () => {
      if (!language.startsWith("en")) window.Plotly.register(localeOf(language));
      resolve(window.Plotly);
    };
    script.onerror = () => reject(new Error("plotly"));
    document.head.append(script);
  });
  return library;
}

const probe = document.createElement("i");

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:00)$/;

/** A UTC moment as plotly wants it to stand on the axis in the viewer's zone. */
function local(moment) {
  const date = new Date(moment);
  return new Date(date - date.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
}

/** Puts the theme's colours in place of token names and the viewer's times in place of UTC, anywhere in a figure. */
function coloured(value) {
  if (Array.isArray(value)) return value.map(coloured);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, coloured(item)]));
  }
  if (typeof value !== "string") return value;
  if (MOMENT.test(value)) return local(value);
  if (!value.startsWith("var(--")) return value;
  probe.style.color = value;
  return getComputedStyle(probe).color;
}

function themed(layout) {
  const axis = {
    gridcolor: "var(--line)", linecolor: "var(--line-strong)", zerolinecolor: "var(--line-strong)",
    tickfont: { color: "var(--text-muted)", size: 11 }, fixedrange: true, automargin: true, tickangle: 0,
  };
  const font = { family: getComputedStyle(document.body).fontFamily, size: 11, color: "var(--text-muted)" };
  return {
    ...layout,
    font,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    hoverlabel: { bgcolor: "var(--overlay)", bordercolor: "var(--line-strong)", font: { color: "var(--text)" } },
    // Ticks without colour keep the first moment clear of the lowest figure.
    xaxis: { ...axis, showgrid: false, ticks: "outside", ticklen: 6, tickcolor: "rgba(0,0,0,0)", ...layout.xaxis },
    yaxis: { ...axis, rangemode: "tozero", ...layout.yaxis },
  };
}

async function figureOf(plot) {
  if (plot.dataset.json) return JSON.parse(document.getElementById(plot.dataset.json).textContent);
  const answer = await fetch(plot.dataset.url, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  return answer.json();
}

async function draw(plot) {
  try {
    const [plotly, figure] = await Promise.all([load(), figureOf(plot)]);
    document.body.append(probe);
    const { data, layout } = coloured({ data: figure.data, layout: themed(figure.layout ?? {}) });
    probe.remove();
    if (!plot.dataset.drawn) plot.replaceChildren();
    await plotly.react(plot, data, layout, CONFIG);
    plot.dataset.drawn = "yes";
  } catch {
    const words = document.createElement("p");
    words.className = "muted";
    words.textContent = say("chartFailed");
    plot.replaceChildren(words);
    delete plot.dataset.drawn;
  }
}

const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    draw(target);
  }
}, { rootMargin: "200px" });

whenPresent("[data-chart]", (plot) => seen.observe(plot));
const redraw = () => document.querySelectorAll("[data-chart][data-drawn]").forEach(draw);
document.addEventListener("muster:theme", redraw);
document.addEventListener("muster:refreshed", redraw);
