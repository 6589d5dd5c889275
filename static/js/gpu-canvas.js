// GPU map above 2,000 cells: one canvas, one typed array. The address in data-gpu-canvas answers
// {"groups": [{"name", "note", "racks": [{"name", "nodes": [{"name", "url", "values": [0…100 | code]}]}]}]};
// codes: 101 free, 102 unhealthy, 103 not measured, 104 cordoned, 110 + n the n-th category (owners).
import { say, whenPresent } from "./page.js";

const FREE = 101, SICK = 102, SILENT = 103, CORDONED = 104, CATEGORY = 110, HEAD = 20;

function palette() {
  const probe = document.createElement("i");
  document.body.append(probe);
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colours = {
    text: colour("text"), faint: colour("text-faint"), accent: colour("accent"),
    steps: Array.from({ length: 11 }, (_, i) => colour(`seq-${i}`)),
    categories: Array.from({ length: 8 }, (_, i) => colour(`cat-${i + 1}`)),
    [FREE]: colour("line"), [SICK]: colour("bad-solid"), [SILENT]: colour("line-strong"), [CORDONED]: colour("off-solid"),
  };
  probe.remove();
  return colours;
}

function fill(colours, value) {
  if (value >= CATEGORY) return colours.categories[(value - CATEGORY) % 8];
  return colours[value] ?? colours.steps[Math.round(value / 10)];
}

/** Where every cell lies: racks side by side, as many as fit, nodes below each other. */
function layOut(groups, width) {
  const widest = Math.max(1, ...groups.flatMap((g) => g.racks.flatMap((r) => r.nodes.map((n) => n.values.length))));
  const racks = groups.reduce((sum, g) => Math.max(sum, g.racks.length), 1);
  const most = Math.max(1, Math.floor(width / (widest * 4 + 6)));
  const across = Math.ceil(racks / Math.ceil(racks / most)); // lines of equal length
  const block = width / across;
  const pitch = Math.max(3, Math.min(16, Math.floor((block - 6) / widest)));
  const cells = [], titles = [];
  let top = 0;
  for (const group of groups) {
    titles.push({ text: group.name, note: group.note ?? "", y: top + 12 });
    top += HEAD;
    for (let first = 0; first < group.racks.length; first += across) {
      const line = group.racks.slice(first, first + across);
      line.forEach((rack, i) => rack.nodes.forEach((node, row) => node.values.forEach((value, gpu) => {
        cells.push({ x: i * block + gpu * pitch, y: top + row * pitch, value, node, rack, gpu });
      })));
      top += Math.max(...line.map((rack) => rack.nodes.length)) * pitch + 8;
    }
    top += 6;
  }
  return { cells, titles, pitch, height: top };
}

/** All cells, drawn once: choosing a cell then copies this picture and adds a ring. */
function picture(canvas, plan) {
  const colours = palette();
  const scale = devicePixelRatio;
  const whole = new OffscreenCanvas(Math.max(1, canvas.clientWidth * scale), Math.max(1, plan.height * scale));
  const g = whole.getContext("2d");
  g.scale(scale, scale);
  for (const title of plan.titles) {
    g.font = `500 12px ${getComputedStyle(canvas).fontFamily}`;
    g.fillStyle = colours.text;
    g.fillText(title.text, 0, title.y);
    const indent = g.measureText(title.text).width + 8;
    g.fillStyle = colours.faint;
    g.fillText(title.note, indent, title.y);
  }
  const side = plan.pitch - 1;
  for (const { x, y, value } of plan.cells) {
    g.fillStyle = fill(colours, value);
    g.fillRect(x, y, side, side);
    if (value === 0) {
      g.fillStyle = "rgb(255 255 255 / .8)"; // Zero is not the darkest of many: it carries a dot.
      g.fillRect(x + 1, y + 1, side - 2, side - 2);
    }
  }
  return { whole, scale, ring: colours.accent };
}

function show(canvas, plan, { whole, scale, ring }, current) {
  if (canvas.width !== whole.width || canvas.height !== whole.height) {
    canvas.width = whole.width;
    canvas.height = whole.height;
    canvas.style.height = `${plan.height}px`;
  }
  const g = canvas.getContext("2d");
  g.setTransform(1, 0, 0, 1, 0, 0);
  g.clearRect(0, 0, canvas.width, canvas.height);
  g.drawImage(whole, 0, 0);
  const cell = plan.cells[current];
  if (!cell) return;
  g.scale(scale, scale);
  g.strokeStyle = ring;
  g.lineWidth = 2;
  g.strokeRect(cell.x - 1, cell.y - 1, plan.pitch + 1, plan.pitch + 1);
}

whenPresent("canvas[data-gpu-canvas]", async (canvas) => {
  const tip = document.getElementById("map-tip");
  const answer = await fetch(canvas.dataset.gpuCanvas, { headers: { Accept: "application/json" } });
  if (!answer.ok) {
    tip.textContent = say("failed", { reason: `HTTP ${answer.status}` });
    return;
  }
  const { groups, words = {} } = await answer.json();
  let plan = null, drawn = null, current = -1;
  const draw = () => {
    plan = layOut(groups, canvas.clientWidth);
    drawn = picture(canvas, plan);
    show(canvas, plan, drawn, current);
  };
  const choose = (index) => {
    const cell = plan.cells[index];
    if (!cell) return;
    current = index;
    const value = cell.value <= 100 ? `${cell.value} %` : words[cell.value] ?? "";
    tip.textContent = `${cell.rack.name} › ${cell.node.name}, GPU ${cell.gpu}: ${value}`;
    show(canvas, plan, drawn, current);
  };
  const under = ({ offsetX: x, offsetY: y }) => plan.cells.findIndex((c) => x >= c.x && x < c.x + plan.pitch && y >= c.y && y < c.y + plan.pitch);
  canvas.addEventListener("pointermove", (event) => { const at = under(event); if (at >= 0 && at !== current) choose(at); });
  canvas.addEventListener("click", (event) => { const cell = plan.cells[under(event)]; if (cell?.node.url) location.assign(cell.node.url); });
  canvas.addEventListener("keydown", (event) => {
    const wide = plan.cells[Math.max(0, current)]?.node.values.length ?? 8;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: wide, ArrowUp: -wide }[event.key];
    if (event.key === "Enter" && current >= 0) location.assign(plan.cells[current].node.url);
    if (!step) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(plan.cells.length - 1, current + (current < 0 ? 1 : step))));
  });
  draw();
  new ResizeObserver(draw).observe(canvas.parentElement);
  document.addEventListener("muster:theme", draw);
});
