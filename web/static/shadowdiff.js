// What a page does beyond being read: local times, and telling when it has stopped being up to date. Fetching
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
    localise();
  });
  document.body.addEventListener("htmx:error", () => stale(true));

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

  localise();
})();
