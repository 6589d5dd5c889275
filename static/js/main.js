// Entry of every page. Each module looks for its own data attributes; none knows of another's.
import "./shell.js";
import "./popups.js";
import "./dialogs.js";
import "./rows.js";
import "./selection.js";
import "./filters.js";
import "./times.js";
import "./copy.js";
import "./palette.js";
import "./live.js";
import "./charts.js";
import "./gpu-map.js";
import "./gpu-canvas.js";
import "./icicle.js";
import "./order.js";
import "./editor.js";
import "./requests.js";
