// The YAML editor: a textarea with line numbers, so it works without script and keeps what people typed. Problems
// (data-problems: id of a JSON list of {line, status, text}) mark their lines; a check's data-line jumps to it.
import { whenPresent } from "./page.js";

function lineStart(text, line) {
  let at = 0;
  for (let i = 1; i < line && at >= 0; i += 1) at = text.indexOf("\n", at) + 1 || -1;
  return Math.max(0, at);
}

function jump(area, line) {
  const start = lineStart(area.value, line);
  const end = area.value.indexOf("\n", start);
  area.focus();
  area.setSelectionRange(start, end < 0 ? area.value.length : end);
  area.scrollTop = (line - 4) * parseFloat(getComputedStyle(area).lineHeight);
}

function indent(area, event) {
  // Tab indents by two spaces; Escape first, then Tab, leaves the field, so nobody is trapped.
  if (event.key === "Escape") {
    area.dataset.leave = "yes";
    return;
  }
  if (event.key === "Tab" && !area.dataset.leave && !event.shiftKey) {
    event.preventDefault();
    area.setRangeText("  ", area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }
  if (event.key === "Enter" && !event.ctrlKey) {
    const before = area.value.slice(0, area.selectionStart);
    const spaces = /(?:^|\n)( *)(?:- )?[^\n]*$/.exec(before)?.[1] ?? "";
    if (!spaces) return;
    event.preventDefault();
    area.setRangeText(`\n${spaces}`, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

whenPresent("[data-editor]", (editor) => {
  const area = editor.querySelector("textarea");
  const gutter = editor.querySelector(".gutter");
  const problems = () => {
    const block = document.getElementById(editor.dataset.problems);
    return new Map((block ? JSON.parse(block.textContent) : []).map((problem) => [problem.line, problem]));
  };
  const number = () => {
    const marked = problems();
    const count = area.value.split("\n").length;
    gutter.replaceChildren(...Array.from({ length: count }, (_, i) => {
      const line = document.createElement("span");
      const problem = marked.get(i + 1);
      line.textContent = i + 1;
      if (problem) {
        line.className = problem.status;
        line.title = problem.text;
      }
      return line;
    }));
    area.rows = Math.max(16, Math.min(count + 1, 40));
  };
  area.addEventListener("input", number);
  area.addEventListener("scroll", () => { gutter.scrollTop = area.scrollTop; });
  area.addEventListener("keydown", (event) => indent(area, event));
  area.addEventListener("blur", () => delete area.dataset.leave);
  document.addEventListener("muster:refreshed", number);
  document.addEventListener("htmx:afterSettle", number);
  number();
});

document.addEventListener("click", (event) => {
  const line = Number(event.target.closest("[data-line]")?.dataset.line);
  const area = document.querySelector("[data-editor] textarea");
  if (line && area) {
    event.preventDefault();
    jump(area, line);
  }
});
