// What makes the explorer handier than plain pages: suggestions, highlighting, filters, edits, review by keys.
// Every name comes from data: it is only ever set as text.
"use strict";

const base = document.body.dataset.run;
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

function element(tag, text, values = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(values)) made.setAttribute(name, value);
  return made;
}

// Suggestions below an input: "go" opens what is chosen, "entity" puts its name into the input.
function suggest(input) {
  const goes = input.dataset.suggest === "go";
  const list = element("ul", "", { class: "suggestions", role: "listbox", id: "s" + Math.random().toString(36).slice(2) });
  list.hidden = true;
  input.parentElement.append(list);
  for (const [name, value] of [["role", "combobox"], ["aria-expanded", "false"], ["aria-controls", list.id], ["aria-autocomplete", "list"]])
    input.setAttribute(name, value);
  let found = [], chosen = -1, asked = 0, timer = 0, sought = "", answered = Promise.resolve();

  function show() {
    list.replaceChildren(...found.map((one, i) => {
      const item = element("li", "", { role: "option", id: `${list.id}-${i}`, "aria-selected": String(i === chosen) });
      item.append(element("span", one.label, { dir: "auto", title: one.label.slice(0, 300) }),
        element("span", one.kind === "relation" ? "relation" : `${one.facts} facts`));
      item.addEventListener("mousedown", (event) => { event.preventDefault(); take(i); });
      return item;
    }));
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (chosen >= 0) input.setAttribute("aria-activedescendant", `${list.id}-${chosen}`);
    else input.removeAttribute("aria-activedescendant");
  }
  function close() { found = []; chosen = -1; asked += 1; show(); }
  function take(i) {
    const one = found[i];
    if (goes) { location.href = one.link; return; }
    input.value = one.name;
    close();
  }
  function ask() {
    clearTimeout(timer);
    sought = input.value.trim();
    answered = find(sought);
  }
  async function find(query) {
    const mine = ++asked;
    if (!query) { close(); return; }
    const path = goes ? `${base}/search` : "/v1/entities";
    const values = new URLSearchParams({ query: query.slice(0, 200) });
    if (!goes) { values.set("run", decodeURIComponent(base.split("/").pop())); values.set("limit", "8"); }
    const answer = await fetch(`${path}?${values}`).catch(() => null);
    const now = answer && answer.ok ? await answer.json() : [];
    if (mine !== asked) return;
    found = now;
    chosen = -1;
    show();
  }
  // Who types fast presses a key while suggestions of an earlier text are shown: keys wait for those of this text.
  async function current() {
    if (sought !== input.value.trim()) ask();
    await answered;
  }
  input.addEventListener("input", () => { clearTimeout(timer); chosen = -1; timer = setTimeout(ask, 120); });
  input.addEventListener("blur", () => setTimeout(close, 100));
  input.addEventListener("keydown", async (event) => {
    if (event.key === "Escape") { close(); return; }
    if (event.key === "Enter" && input.value.trim() && (chosen >= 0 || goes)) {
      event.preventDefault();
      await current();
      if (found.length) take(Math.max(chosen, 0));
      else if (input.form) input.form.requestSubmit();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || list.hidden) return;
    event.preventDefault();
    await current();
    if (!found.length) return;
    chosen = (chosen + step + found.length) % found.length;
    show();
  });
}

// The path of one rule alone, or all.
function highlight(mark) {
  for (const part of $$(".picture [data-marks]"))
    part.classList.toggle("dim", mark !== null && !part.dataset.marks.split(" ").includes(mark));
  for (const button of $$("[data-highlight]")) {
    const is = button.dataset.highlight === mark;
    button.setAttribute("aria-pressed", String(is));
    button.closest("li").classList.toggle("chosen", is);
  }
}

function filterAnswers() {
  const range = $("[data-filter]"), hide = $("[data-hide-known]"), least = Number(range.value);
  let any = false;
  for (const item of $$("[data-answers] > li")) {
    item.hidden = Number(item.dataset.probability) < least || (hide.checked && item.classList.contains("known"));
    any ||= !item.hidden;
  }
  range.parentElement.querySelector("output").value = least.toFixed(2);
  $("[data-empty]").hidden = any;
}

// Rules that are banned or pinned are remembered by the browser until they are downloaded or cleared.
const editsKey = `rnnlogic-edits:${base}`;
function edits() {
  try { return JSON.parse(localStorage.getItem(editsKey)) || {}; } catch { return {}; }
}
function showEdits() {
  const all = edits(), form = $("[data-edits]");
  for (const button of $$("[data-edit]")) {
    button.hidden = false;
    button.setAttribute("aria-pressed", String(all[button.dataset.rule] === button.dataset.edit));
  }
  if (!form) return;
  const texts = Object.entries(all), of = (kind) => texts.filter(([, value]) => value === kind).length;
  form.hidden = !texts.length;
  $("[data-edits-text]").textContent = `${of("ban")} banned, ${of("pin")} pinned`;
  for (const old of $$("input[type=hidden]", form)) old.remove();
  for (const [text, kind] of texts) form.append(element("input", "", { type: "hidden", name: kind, value: text }));
}
function edit(button) {
  const all = edits(), { rule, edit: kind } = button.dataset;
  if (all[rule] === kind) delete all[rule]; else all[rule] = kind;
  localStorage.setItem(editsKey, JSON.stringify(all));
  showEdits();
}

// Review: the current fact is decided by a key; the server has saved it before it is shown as decided. Lists of
// answers and the page of one fact work alike.
function review(list) {
  const items = $$("[data-decision]", list), isQueue = list.matches("[data-queue]"), done = [];
  let current = Math.max(items.findIndex((item) => !item.dataset.decision && !item.classList.contains("known")), 0);
  const session = { accept: 0, reject: 0, unsure: 0 }, named = $("[data-name]");
  const kind = (verdict) => (verdict === "other-reason" ? "accept" : verdict);
  if (named) {
    named.value = localStorage.getItem("rnnlogic-name") || "";
    named.addEventListener("input", () => localStorage.setItem("rnnlogic-name", named.value));
  }
  function focus(i) {
    items[current]?.classList.remove("current");
    current = Math.min(Math.max(i, 0), items.length - 1);
    items[current]?.classList.add("current");
    items[current]?.focus({ preventScroll: true });
    items[current]?.scrollIntoView({ block: "nearest" });
  }
  async function send(form, verdict) {
    const body = new URLSearchParams(form ? new FormData(form) : {});
    body.set("decision", verdict);
    if (named?.value) body.set("by", named.value);
    const answer = await fetch(`${base}/review`, { method: "POST", body, headers: { Accept: "application/json" } }).catch(() => null);
    return Boolean(answer && answer.ok);
  }
  async function decide(i, verdict) {
    const item = items[i], form = item && $("form", item);
    if (!form) return;
    const is = await send(form, verdict);
    item.classList.toggle("failed", !is);
    if (!is) return;
    const before = kind(item.dataset.decision);
    if (before in session && done.includes(i)) session[before] -= 1;
    if (kind(verdict) in session) session[kind(verdict)] += 1;
    if (done.includes(i)) done.splice(done.indexOf(i), 1);
    if (verdict !== "undo") done.push(i);
    item.dataset.decision = verdict === "undo" ? "" : verdict;
    const progress = $("[data-progress]");
    if (progress) progress.textContent = `in this sitting ${session.accept} accepted, ${session.reject} rejected, ${session.unsure} unsure`;
    if (verdict !== "undo" && i === current && items.length > 1) focus(i + 1);
  }
  // The last decision of this page, or else the last one of the run.
  async function undo() {
    if (done.length) {
      const last = done.at(-1);
      await decide(last, "undo");
      focus(last);
    } else if (await send(null, "undo")) location.reload();
  }
  items.forEach((item, i) => {
    $("form", item)?.addEventListener("submit", (event) => {
      event.preventDefault();
      if (isQueue) focus(i);
      decide(i, event.submitter?.value || "accept");
    });
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    const verdict = { a: "accept", r: "reject", o: "other-reason", s: "unsure" }[event.key];
    if (verdict) { event.preventDefault(); decide(current, verdict); }
    if (event.key === "u" && $(".decide", list)) { event.preventDefault(); undo(); }
    if (event.key === "?" && $("[data-keys]")) $("[data-keys]").open = !$("[data-keys]").open;
    const down = event.key === "j" || (isQueue && event.key === "ArrowDown"), up = event.key === "k" || (isQueue && event.key === "ArrowUp");
    if (down || up) { event.preventDefault(); focus(current + (down ? 1 : -1)); }
    if (event.key === "w" && $(".why", items[current])) location.href = $(".why", items[current]).href;
  });
  if (items.length && isQueue) focus(current);
  else if (items.length > 1) items[current].classList.add("current");
}

// How well relations are answered is measured after the start of the server; ask until it is there. Only the table
// is replaced: who is typing meanwhile keeps the text.
async function awaitFigures(tries) {
  const answer = await fetch(location.href).catch(() => null);
  const page = answer && answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  const table = page && $("[data-relations]:not([data-pending])", page);
  if (table) {
    $("[data-pending]").replaceWith(document.adoptNode(table));
    $("[data-pending-note]").remove();
  } else if (tries > 0) setTimeout(() => awaitFigures(tries - 1), 3000);
}

$$("[data-suggest]").forEach(suggest);
$$("[data-highlight]").forEach((button) => button.addEventListener("click", () =>
  highlight(button.getAttribute("aria-pressed") === "true" ? null : button.dataset.highlight)));
if ($("[data-filter]")) {
  for (const input of [$("[data-filter]"), $("[data-hide-known]")]) input.addEventListener("input", filterAnswers);
}
$$("[data-edit]").forEach((button) => button.addEventListener("click", (event) => { event.preventDefault(); edit(button); }));
$("[data-edits-clear]")?.addEventListener("click", () => { localStorage.removeItem(editsKey); showEdits(); });
if ($("[data-edits]")) showEdits();
if ($("[data-review]")) review($("[data-review]"));
if ($("[data-pending]")) setTimeout(() => awaitFigures(100), 2000);
const copy = $("[data-copy]");
if (copy && navigator.clipboard) {
  copy.hidden = false;
  copy.addEventListener("click", async () => { await navigator.clipboard.writeText(location.href); copy.textContent = "Copied"; });
}
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.matches("input, select, textarea")) { event.preventDefault(); $(".search input")?.focus(); }
});
