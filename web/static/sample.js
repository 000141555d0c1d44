// The sample page beyond being read: n and p go to the next and the previous difference.
(() => {
  "use strict";

  // The difference that one is at is the one that was gone to last, or the first one below the middle of the window.
  let at = null;
  const stops = () => [...document.querySelectorAll("#body [data-stop]")].filter((el) => el.checkVisibility());
  const go = (el) => {
    at?.classList.remove("at");
    at = el;
    el.classList.add("at");
    el.scrollIntoView({block: "center"});
    el.focus({preventScroll: true});
  };
  const step = (by) => {
    const list = stops();
    const here = at && at.isConnected ? list.indexOf(at) : -1;
    if (here >= 0) {
      const next = list[here + by];
      if (next) return go(next);
      const more = by > 0 && document.querySelector("#body .compare > .rest:last-child a"); // differences that are not on the page yet
      if (more) more.click();
      return;
    }
    const middle = innerHeight / 2;
    const below = list.findIndex((el) => el.getBoundingClientRect().top > middle);
    const first = by > 0 ? (below < 0 ? list.length - 1 : below) : (below < 0 ? list.length - 1 : Math.max(below - 1, 0));
    if (list[at === null && scrollY < 40 && by > 0 ? 0 : first]) go(list[at === null && scrollY < 40 && by > 0 ? 0 : first]);
  };
  addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.altKey || e.metaKey || e.isComposing || document.querySelector("dialog[open]")) return;
    if (e.target.closest?.("input:not([type=radio]), textarea, select")) return;
    if (document.getElementById("keys-on")?.checked === false) return;
    if (e.key !== "n" && e.key !== "p") return;
    e.preventDefault();
    step(e.key === "n" ? 1 : -1);
  });
  const follow = () => {
    const named = location.hash.startsWith("#d") && document.getElementById(location.hash.slice(1));
    if (named) go(named.closest(".line"));
  };
  addEventListener("hashchange", follow);
  follow();
})();
