// What a page does beyond being read: local times, the chart, and telling when it has stopped being up to date. Fetching
// it again on each event and morphing it into place are htmx's.
(() => {
  "use strict";
  const root = document.documentElement;
  const live = document.getElementById("live");
  root.classList.add("js");

  const stale = (yes) => root.classList.toggle("stale", yes);

  // Times: UTC from the server, local here, the exact one on hover.
  const clock = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
  const day = new Intl.DateTimeFormat(undefined, {day: "numeric", month: "short"});
  const localise = () => {
    const today = new Date().toDateString();
    for (const t of document.querySelectorAll("time[data-show]")) {
      const at = new Date(t.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      const dated = t.dataset.show === "moment" && at.toDateString() !== today;
      t.textContent = (dated ? day.format(at) + ", " : "") + clock.format(at);
      t.title = at.toISOString().replace(".000", "");
    }
  };

  // The chart: candidate solid and warm, control dashed and cool.
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
  }).observe(live);

  const settle = () => { localise(); draw(false); };

  // What the server refused is said above the page, which stays as it was. A fetch that works again takes it back.
  const said = document.getElementById("said");
  let dismissed = "";
  const say = (text, passing) => {
    if (passing && text === dismissed) return; // what a fetch in the background repeats was read already
    const note = document.createElement("p");
    note.className = "notice";
    note.append(text + " ");
    const close = document.createElement("button");
    close.textContent = "Dismiss";
    close.addEventListener("click", () => {
      dismissed = text;
      said.replaceChildren();
    });
    note.append(close);
    said.dataset.passing = passing ? "yes" : "no";
    said.replaceChildren(note);
  };
  document.body.addEventListener("htmx:response:error", (e) => {
    const ctx = e.detail.ctx;
    const get = ctx.request.method === "GET";
    if (get && document.querySelector(".is-problem")) return; // the page says it itself, and goes on trying
    let text = "The page could not be fetched again (status " + ctx.response.status + ").";
    try { text = JSON.parse(ctx.text).detail || text; } catch { /* a proxy's page */ }
    say(text, get);
  });
  document.body.addEventListener("htmx:after:swap", (e) => {
    if (e.detail.ctx.response?.status < 400) {
      dismissed = "";
      if (said.dataset.passing === "yes") said.replaceChildren();
    }
    settle();
  });
  document.body.addEventListener("htmx:error", () => stale(true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(true));

  // What a reader has opened stays open: the server knows nothing of it.
  htmx.registerExtension("keep-open", {
    htmx_before_morph_attr: (el, detail) => !(detail.attrName === "open" && el.tagName === "DETAILS"),
  });

  // While the stream is interrupted the head says how old the page is.
  document.body.addEventListener("htmx:sse:after:connection", () => stale(false));
  document.body.addEventListener("htmx:sse:error", () => stale(true));
  document.body.addEventListener("htmx:sse:before:connection", (e) => { if (e.detail.connection.attempt > 0) stale(true); });
  document.body.addEventListener("htmx:sse:close", () => stale(true));
  addEventListener("pageshow", (e) => { if (e.persisted) htmx.trigger(live, "refresh"); });

  // Nothing flushes while shadowing is paused, but requests are still skipped and counted.
  // A stream that never began, or ended for good, is begun again here; htmx retries only one that broke.
  const stream = document.getElementById("stream");
  setInterval(() => {
    if (document.hidden) return;
    htmx.trigger(live, "refresh");
    if (!stream._htmx?.sse) htmx.process(stream, true);
  }, 10000);

  // Escape closes what floats.
  addEventListener("keydown", (e) => {
    if (e.key !== "Escape") return;
    for (const d of document.querySelectorAll(".switch details[open]")) {
      d.open = false;
      d.querySelector("summary").focus();
    }
  });
  addEventListener("click", (e) => {
    for (const d of document.querySelectorAll(".switch details[open]")) if (!d.contains(e.target)) d.open = false;
  });

  settle();
})();
