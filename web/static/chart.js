// The chart of disagreement over time. Its figures come with the page, and each page that is fetched again brings new ones.
// Without this script the page shows the same as the server draws it.
(() => {
  "use strict";
  const root = document.documentElement;
  const clock = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
  const short = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
  const day = new Intl.DateTimeFormat(undefined, {day: "numeric", month: "short"});
  const whole = new Intl.NumberFormat("en");

  let chart = null;
  let drawn = "";
  let marks = {};
  let compared = [];

  // Candidate solid and warm, control dashed and cool.
  const colour = (name) => {
    const probe = document.createElement("i");
    probe.className = "probe-" + name;
    document.body.append(probe);
    const c = getComputedStyle(probe).color;
    probe.remove();
    return c;
  };

  // The two lines are to be told apart: the scale is theirs, and starts at 0 only where that costs little, or where they lie
  // so close together that it would make much of nothing.
  const range = (u, lo, hi) => {
    if (lo == null) return [0, 1];
    const pad = Math.max((hi - lo) * 0.25, 0.5);
    return [hi - lo < 0.5 || lo - pad < hi / 3 ? 0 : lo - pad, hi + pad > 100 ? 100 + pad / 4 : Math.max(hi + pad, 1)];
  };
  const moment = (seconds, span) => {
    const at = new Date(seconds * 1000);
    if (span > 36 * 3600) return day.format(at) + " " + short.format(at);
    return (span < 600 ? clock : short).format(at);
  };
  const spanOf = (u) => u.scales.x.max - u.scales.x.min;
  const percent = (v) => v == null ? "–" : v.toFixed(v < 1 ? 2 : 1) + "\u202f%";
  const width = (plot) => Math.max(200, plot.clientWidth);

  // What stands at the cursor, or at the latest point: a moment, its figures, and what happened there.
  const read = (u) => {
    const line = u.root.parentElement.querySelector(".reading");
    let i = u.cursor.idx ?? u.data[1].findLastIndex((v) => v != null);
    if (!line || i < 0) return;
    while (i > 0 && u.data[1][i] == null) i--;
    const at = u.data[0][i], next = u.data[0][i + 1] ?? at + 60;
    const parts = [[moment(at, spanOf(u) > 36 * 3600 ? Infinity : 0), ""], ["compared", whole.format(compared[i] ?? 0)],
      ["candidate", percent(u.data[1][i])]];
    if (u.data[2].some((v) => v != null)) parts.push(["control", percent(u.data[2][i])]);
    if (u.cursor.idx != null) {
      for (const m of marks.runs ?? []) if (m.at >= at && m.at < next) parts.push(["begins", m.name]);
      for (const m of marks.confirmed ?? []) if (m.at >= at && m.at < next) parts.push(["confirmed", m.what]);
    }
    line.replaceChildren(...parts.map(([word, value]) => {
      const part = document.createElement("span");
      part.append(word);
      if (value) {
        const b = document.createElement("b");
        b.textContent = value;
        part.append(" ", b);
      }
      return part;
    }));
  };

  // Where runs begin: a dotted line with the run's name. Where differences were confirmed: a mark on the axis.
  const mark = (u) => {
    const c = u.ctx, box = u.bbox, unit = devicePixelRatio;
    c.save();
    c.textAlign = "left";
    c.font = 11 * unit + "px Inter, system-ui, sans-serif";
    c.strokeStyle = c.fillStyle = colour("muted");
    c.lineWidth = unit;
    c.setLineDash([2 * unit, 3 * unit]);
    let free = -Infinity;
    for (const run of marks.runs ?? []) {
      const x = u.valToPos(run.at, "x", true);
      if (x < box.left || x > box.left + box.width) continue;
      c.beginPath();
      c.moveTo(x, box.top);
      c.lineTo(x, box.top + box.height);
      c.stroke();
      const name = run.name.length > 24 ? run.name.slice(0, 23) + "…" : run.name, long = c.measureText(name).width;
      const left = x + 4 * unit + long > box.left + box.width ? x - 4 * unit - long : x + 4 * unit;
      if (left > free) {
        c.fillText(name, left, box.top - 5 * unit);
        free = left + long + 8 * unit;
      }
    }
    c.setLineDash([]);
    c.fillStyle = colour("candidate");
    for (const m of marks.confirmed ?? []) {
      const x = Math.min(Math.max(u.valToPos(m.at, "x", true), box.left), box.left + box.width), y = box.top + box.height;
      c.beginPath();
      c.moveTo(x - 4 * unit, y + 8 * unit);
      c.lineTo(x + 4 * unit, y + 8 * unit);
      c.lineTo(x, y + unit);
      c.fill();
    }
    c.restore();
  };

  // Seconds between two moments on the axis: fine enough that a narrow chart has several, too.
  const incrs = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

  const options = (plot) => {
    const axis = {stroke: colour("muted"), font: "11px Inter, system-ui, sans-serif", ticks: {show: false}, grid: {stroke: colour("line"), width: 1}};
    const points = (u) => u.data[0].length < 60;
    return {
      width: width(plot), height: plot.clientWidth < 500 ? 150 : 200, legend: {show: false}, cursor: {y: false, points: {size: 6}},
      padding: [plot.clientWidth < 500 ? 18 : 30, 26, 0, 0], // the last moment of the axis is half as wide beyond it
      scales: {y: {range}}, hooks: {draw: [mark], setCursor: [read], setData: [read], ready: [read]},
      axes: [
        {...axis, grid: {show: false}, space: plot.clientWidth < 500 ? 70 : 90, incrs, size: 34, gap: 10, values: (u, splits) => splits.map((s) => moment(s, spanOf(u)))},
        {...axis, size: 54, space: 32, values: (u, vals) => vals.map((v) => +v.toFixed(2) + "\u202f%")},
      ],
      series: [
        {},
        {label: "candidate", stroke: colour("candidate"), width: 2, points: {show: points, size: 5, fill: colour("candidate")}},
        {label: "control", stroke: colour("control"), width: 1.5, dash: [4, 3], points: {show: points, size: 5, fill: colour("paper")}},
      ],
    };
  };

  // The plot can be walked through with the arrow keys, as with a pointer.
  const walk = (e) => {
    if (!chart || !["ArrowLeft", "ArrowRight", "Home", "End"].includes(e.key)) return;
    e.preventDefault();
    const last = chart.data[0].length - 1, step = e.key === "ArrowLeft" ? -1 : 1;
    let i = e.key === "Home" ? 0 : e.key === "End" ? last : Math.min(last, Math.max(0, (chart.cursor.idx ?? last) + step));
    while (i > 0 && i < last && chart.data[1][i] == null) i += step;
    chart.setCursor({left: chart.valToPos(chart.data[0][i], "x"), top: 0});
  };
  const prepare = (plot) => {
    if (plot.querySelector(".reading")) return;
    const line = document.createElement("p");
    line.className = "reading";
    line.setAttribute("aria-live", "polite");
    plot.append(line);
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", "Chart. The left and right arrow keys read its values; the table below has the latest.");
    plot.addEventListener("keydown", walk);
    plot.addEventListener("blur", () => chart?.setCursor({left: -10, top: -10}));
  };

  const draw = (anew) => {
    const figure = document.getElementById("chart");
    const plot = figure && figure.querySelector(".plot");
    if (!plot || typeof uPlot === "undefined") {
      chart?.destroy();
      chart = null;
      return;
    }
    if (chart && (anew || !plot.contains(chart.root))) {
      chart.destroy();
      chart = null;
    }
    const figures = figure.dataset.series + figure.dataset.marks;
    if (chart && drawn === figures) return;
    drawn = figures;
    marks = JSON.parse(figure.dataset.marks || "{}");
    const s = JSON.parse(figure.dataset.series);
    compared = s.compared;
    const data = [s.at, s.candidate, s.control];
    prepare(plot);
    if (chart) chart.setData(data);
    else chart = new uPlot(options(plot), data, plot);
  };

  new ResizeObserver(() => {
    const plot = document.querySelector("#chart .plot");
    if (chart && plot && chart.width !== width(plot)) chart.setSize({width: width(plot), height: chart.height});
  }).observe(document.getElementById("live"));
  document.body.addEventListener("htmx:after:swap", () => draw(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(true));
  const themeOf = () => getComputedStyle(root).colorScheme;
  let theme = themeOf();
  new MutationObserver(() => {
    if (theme === themeOf()) return;
    theme = themeOf();
    draw(true);
  }).observe(root, {attributes: true, attributeFilter: ["class"]});
  draw(false);
})();
