// The chart of disagreement over time. Its figures come with the page, and each page that is fetched again brings new ones.
(() => {
  "use strict";
  const clock = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
  const day = new Intl.DateTimeFormat(undefined, {day: "numeric", month: "short"});

  // Candidate solid and warm, control dashed and cool.
  let chart = null;
  let drawn = "";
  const colour = (name) => {
    const probe = document.createElement("i");
    probe.className = "probe-" + name;
    document.body.append(probe);
    const c = getComputedStyle(probe).color;
    probe.remove();
    return c;
  };
  // The two lines are to be told apart: the scale is theirs, and starts at 0 only where that costs little.
  const range = (u, lo, hi) => {
    if (lo == null) return [0, 1];
    const pad = Math.max((hi - lo) * 0.25, 0.5);
    return [lo - pad < hi / 3 ? 0 : lo - pad, hi + pad > 100 && hi <= 100 ? Math.max(100, hi + pad / 4) : hi + pad];
  };
  const short = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", hourCycle: "h23"});
  const times = (u, splits) => {
    const span = u.scales.x.max - u.scales.x.min;
    return splits.map((s) => {
      const at = new Date(s * 1000);
      if (span > 36 * 3600) return day.format(at) + " " + short.format(at);
      return (span < 600 ? clock : short).format(at);
    });
  };
  const width = (plot) => Math.max(200, plot.clientWidth);
  const options = (plot) => {
    const ink = colour("muted"), grid = colour("line");
    const axis = {stroke: ink, font: "11px Inter, system-ui, sans-serif", ticks: {show: false}, grid: {stroke: grid, width: 1}};
    const percent = (v) => v == null ? "–" : v.toFixed(v < 1 ? 2 : 1) + " %";
    const points = (u, i) => u.data[0].length < 60;
    return {
      width: width(plot), height: plot.clientWidth < 500 ? 150 : 190, legend: {live: true}, cursor: {y: false, points: {size: 6}},
      scales: {y: {range}},
      axes: [
        {...axis, grid: {show: false}, space: 80, size: 30, values: times},
        {...axis, size: 46, space: 32, values: (u, vals) => vals.map((v) => +v.toFixed(2) + " %")},
      ],
      series: [
        {value: (u, v) => v == null ? "–" : clock.format(new Date(v * 1000))},
        {label: "candidate", stroke: colour("candidate"), width: 2, value: (u, v) => percent(v), points: {show: points, size: 5, fill: colour("candidate")}},
        {label: "control", stroke: colour("control"), width: 1.5, dash: [4, 3], value: (u, v) => percent(v), points: {show: points, size: 5, fill: colour("paper")}},
      ],
    };
  };
  const draw = (anew) => {
    const figure = document.getElementById("chart");
    const plot = figure && figure.querySelector(".plot");
    if (!plot || typeof uPlot === "undefined") return;
    if (chart && (anew || !plot.contains(chart.root))) {
      chart.destroy();
      chart = null;
    }
    if (chart && drawn === figure.dataset.series) return;
    drawn = figure.dataset.series;
    const s = JSON.parse(drawn);
    if (s.at.length > 0 && s.at.at(-1) - s.at[0] < 60) { // a minute at least, so that one point is not a decade
      s.at.push(s.at[0] + 60);
      s.candidate.push(null);
      s.control.push(null);
    }
    const data = [s.at, s.candidate, s.control];
    if (chart) chart.setData(data);
    else chart = new uPlot(options(plot), data, plot);
  };
  new ResizeObserver(() => {
    const plot = document.querySelector("#chart .plot");
    if (chart && plot && chart.width !== width(plot)) chart.setSize({width: width(plot), height: chart.height});
  }).observe(document.getElementById("live"));

  document.body.addEventListener("htmx:after:swap", () => draw(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(true));
  draw(false);
})();
