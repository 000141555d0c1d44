// Keys: / searches, j and k go along the rows, o opens one, g and a letter goes to a view, ? tells of them, Escape closes
// what floats. None is taken while somebody types, and they can be turned off.
(() => {
  "use strict";
  const dialog = document.getElementById("keys");
  const base = dialog.dataset.base;
  const on = document.getElementById("keys-on");
  const views = {o: "/", r: "/rules", u: "/runs", a: "/activity", s: "/settings"};

  try { on.checked = localStorage.getItem("keys") !== "off"; } catch { /* not kept */ }
  on.addEventListener("change", () => {
    try { localStorage.setItem("keys", on.checked ? "on" : "off"); } catch { /* not kept */ }
  });

  const visible = (el) => el.checkVisibility({visibilityProperty: true, contentVisibilityAuto: false});
  const rows = () => [...document.querySelectorAll("#main [data-row]")].filter(visible);
  const grip = (row) => row.matches("a[href], button") ? row : row.querySelector("a[href], summary, button") ?? row;
  const here = (list) => list.findLastIndex((row) => row.contains(document.activeElement));

  // The focus itself goes along, so that it is seen, read out, and opened by Enter.
  const move = (by) => {
    const list = rows();
    if (list.length === 0) return;
    const at = here(list);
    const first = list.findIndex((row) => row.getBoundingClientRect().top >= 0);
    const next = at < 0 ? (by > 0 ? Math.max(first, 0) : list.length - 1) : Math.min(Math.max(at + by, 0), list.length - 1);
    const to = grip(list[next]);
    if (to === list[next] && to.tabIndex < 0) to.tabIndex = -1;
    to.focus({preventScroll: true, focusVisible: true});
    list[next].scrollIntoView({block: "nearest"});
  };
  const search = () => {
    const field = [...document.querySelectorAll("[data-search]")].find(visible);
    field?.focus();
    field?.select?.();
    return Boolean(field);
  };

  const floating = () => [...document.querySelectorAll("details[open]")].filter((d) => d.querySelector(":scope > .popover"));
  const close = () => {
    for (const d of floating()) {
      d.open = false;
      d.querySelector("summary").focus();
    }
    for (const word of document.querySelectorAll(".word:is(:hover, :focus)")) {
      word.classList.add("quiet");
      for (const gone of ["blur", "pointerleave"]) word.addEventListener(gone, () => word.classList.remove("quiet"), {once: true});
    }
  };
  addEventListener("click", (e) => { for (const d of floating()) if (!d.contains(e.target)) d.open = false; });

  const typing = (el) => el.matches?.("input:not([type=checkbox], [type=radio], [type=button], [type=submit]), textarea, select, [contenteditable]");
  let going = 0; // until when a letter after g is waited for
  addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.isComposing || e.ctrlKey || e.altKey || e.metaKey) return;
    if (e.key === "Escape") {
      if (dialog.open) return; // it closes by itself
      if (typing(e.target) && !e.target.closest(".popover")) e.target.blur();
      close();
      return;
    }
    if (!on.checked || dialog.open || typing(e.target)) return;
    const view = Date.now() < going && views[e.key];
    going = 0;
    if (view) location.assign(base + view);
    else if (e.key === "g") going = Date.now() + 1500;
    else if (e.key === "j") move(1);
    else if (e.key === "k") move(-1);
    else if (e.key === "o") {
      const list = rows(), at = here(list);
      if (at < 0) return;
      grip(list[at]).click();
    } else if (e.key === "/") {
      if (!search()) return;
    } else if (e.key === "?") dialog.showModal();
    else return;
    e.preventDefault();
  });
})();
