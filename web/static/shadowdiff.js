// What a page does beyond being read: local times, telling when it has stopped being up to date, copying, and telling how
// long a form takes. Fetching it again on
// each event and morphing it into place are htmx's.
(() => {
  "use strict";
  const root = document.documentElement;
  const live = document.getElementById("live");
  const stream = document.getElementById("stream"); // not on a page whose matter does not change
  root.classList.add("js");

  // For screen readers, of what changes by itself: nothing that comes with each snapshot.
  const told = document.getElementById("told");
  const tell = (text) => { if (told.textContent !== text) told.textContent = text; };

  // Times: UTC from the server, local here, the exact one on hover. The foot alone says in which zone that is.
  const clock = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
  const zoned = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short"});
  const day = new Intl.DateTimeFormat(undefined, {day: "numeric", month: "short"});
  const localise = (t) => {
    const at = new Date(t.dateTime);
    if (Number.isNaN(at.getTime())) return;
    const dated = t.dataset.show === "moment" && at.toDateString() !== new Date().toDateString();
    const text = (dated ? day.format(at) + ", " : "") + ("zone" in t.dataset ? zoned : clock).format(at);
    if (t.textContent !== text) t.textContent = text;
    const exact = at.toISOString().replace(".000", "");
    if (t.title !== exact) t.title = exact;
  };
  const settle = () => { for (const t of document.querySelectorAll("time[data-show]")) localise(t); };

  htmx.registerExtension("keep", {
    // What a reader has opened stays open, and a meaning that was hidden stays hidden: the server knows nothing of it.
    htmx_before_morph_attr: (el, detail) => !(detail.attrName === "open" && /^(DETAILS|DIALOG)$/.test(el.tagName)) &&
      !(detail.attrName === "class" && el.classList.contains("quiet")),
    // A time that is there already is not written anew, as UTC, for one moment.
    htmx_before_morph_node: (el, detail) => {
      if (detail.newNode?.dataset?.show && detail.newNode.tagName === "TIME") localise(detail.newNode);
      return true;
    },
  });

  // Whether what is shown is of now: the stream is up, and the page was fetched when it had to be. While it is not, the
  // head says of when the page is.
  const WAIT = 300, TICK = 1000, EVERY = stream ? 10000 : 30000;
  let down = false, old = false, fetched = Date.now();
  const asOf = () => document.querySelector("#asof time")?.textContent ?? "";
  const show = () => {
    const was = root.classList.contains("stale"), is = down || old;
    if (was === is) return;
    root.classList.toggle("stale", is);
    tell(is ? "Updates are interrupted. The page is as of " + asOf() + "." : "The page is up to date again.");
  };
  const stale = (yes) => { down = yes; show(); };
  const fresh = () => { old = false; fetched = Date.now(); show(); };
  const refresh = () => htmx.trigger(live, "refresh");
  const begin = () => { if (stream && !document.hidden && !stream._htmx?.sse) htmx.trigger(stream, "begin"); };
  let check = 0;
  const catchUp = () => { // after sleep, or behind other tabs: what is shown may be hours old
    const since = fetched;
    clearTimeout(check);
    check = setTimeout(() => { if (fetched === since) { old = true; show(); } }, WAIT);
    begin();
    refresh();
  };
  let tick = Date.now();
  setInterval(() => {
    const now = Date.now(), slept = now - tick > 10 * TICK;
    tick = now;
    if (document.hidden) return;
    if (slept) catchUp();
    else if (stream && now - fetched > 3 * EVERY) { old = true; show(); }
  }, TICK);
  // Nothing flushes while shadowing is paused, but requests are still skipped and counted. A stream that never began, or
  // ended for good, is begun again here; htmx retries only one that broke.
  setInterval(() => {
    if (document.hidden || !stream && !document.querySelector(".is-problem")) return; // what does not change is not fetched anew
    begin();
    refresh();
  }, EVERY);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) catchUp(); });
  addEventListener("pageshow", (e) => { if (e.persisted) catchUp(); });
  addEventListener("online", catchUp);
  document.body.addEventListener("htmx:sse:after:connection", () => stale(false));
  document.body.addEventListener("htmx:sse:error", () => stale(true));
  document.body.addEventListener("htmx:sse:before:connection", (e) => {
    if (e.detail.connection.attempt > 0 && !document.hidden && Date.now() - shown > 5000) stale(true);
  });
  document.body.addEventListener("htmx:sse:close", () => { if (!document.hidden) stale(true); });
  let shown = 0; // when the page came to the front: its stream was put down on purpose before
  document.addEventListener("visibilitychange", () => { if (!document.hidden) shown = Date.now(); });

  // A text that is being selected is not pulled away.
  const HOLD = 30000;
  let held = 0;
  const selecting = () => {
    const s = getSelection();
    return s && !s.isCollapsed && live.contains(s.anchorNode) && Date.now() - held < HOLD;
  };
  document.addEventListener("selectionchange", () => { if (!getSelection().isCollapsed) held = Date.now(); });
  document.body.addEventListener("htmx:before:request", (e) => {
    const ctx = e.detail.ctx;
    if (ctx?.sourceElement === live && ctx.request.method === "GET" && selecting()) e.preventDefault();
  });

  // What the server refused is said above the page, which stays as it was. A fetch that works again takes it back.
  const said = document.getElementById("said");
  let dismissed = "";
  const say = (text, passing) => {
    if (passing && text === dismissed) return; // what a fetch in the background repeats was read already
    if (said.textContent.startsWith(text + " ")) return;
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
    if (ctx.sourceElement === stream) return;
    const get = ctx.request.method === "GET";
    if (get && document.querySelector(".is-problem")) return; // the page says it itself, and goes on trying
    if (get && ctx.response.status >= 500) { old = true; show(); }
    let text = "The page could not be fetched again (status " + ctx.response.status + ").";
    try { text = JSON.parse(ctx.text).detail || text; } catch { /* a proxy's page */ }
    say(text, get);
  });
  let title = document.title;
  document.body.addEventListener("htmx:after:swap", (e) => {
    if (e.detail.ctx.response?.status < 400) {
      dismissed = "";
      if (said.dataset.passing === "yes") said.replaceChildren();
      if (e.detail.ctx.target === live) fresh();
    }
    settle();
    if (document.title !== title) tell(document.title.split(" · ")[0].replace(/^[●◐○] /, "Verdict: "));
    title = document.title;
  });
  document.body.addEventListener("htmx:error", (e) => {
    if (e.detail.ctx?.sourceElement !== stream) old = true;
    else down = true;
    show();
  });

  // Paper has no folds: what is folded is printed.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("main details:not([open])")];
    for (const d of folded) d.open = true;
  });
  addEventListener("afterprint", () => { for (const d of folded) d.open = false; });

  // Copying: without leave to write to the clipboard, as on a page that is not served securely, by way of a selection.
  const write = async (text) => {
    if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("not copied");
  };
  const copy = async (button) => {
    const word = button.dataset.word ??= button.textContent;
    try {
      let text;
      if (button.dataset.copy) text = document.querySelector(button.dataset.copy).textContent;
      else {
        const answer = await fetch(button.dataset.copyFrom);
        if (!answer.ok) throw new Error(String(answer.status));
        text = await answer.text();
      }
      await write(text);
      button.textContent = "Copied ✓";
    } catch {
      button.textContent = "Not copied";
    }
    setTimeout(() => { button.textContent = word; }, 2500);
  };
  document.body.addEventListener("click", (e) => {
    const button = e.target.closest("[data-copy], [data-copy-from]");
    if (button) copy(button);
  });

  // The page waits for what a form asks for: it tells for how long by now.
  document.body.addEventListener("submit", (e) => {
    const form = e.target.closest("[data-waits]");
    if (!form) return;
    const said = form.querySelector(".waiting");
    const began = Date.now();
    const tell = () => { said.textContent = form.dataset.waits + " " + Math.round((Date.now() - began) / 1000) + " s"; };
    setTimeout(() => { for (const b of form.querySelectorAll("button")) b.disabled = true; }); // after the form is sent
    setTimeout(tell, 300);
    const ticking = setInterval(tell, 1000);
    addEventListener("pageshow", () => { // come back to by the browser's own button
      clearInterval(ticking);
      said.textContent = "";
      for (const b of form.querySelectorAll("button")) b.disabled = false;
    }, {once: true});
  });

  settle();
  document.addEventListener("DOMContentLoaded", begin); // htmx knows the stream from then on, and hears of it before
})();
