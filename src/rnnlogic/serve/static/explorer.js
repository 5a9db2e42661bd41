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
      const link = element("a", "", { href: one.link || `${base}/entity?${new URLSearchParams({ name: one.name })}`, tabindex: "-1" });
      link.append(element("span", one.label, { dir: "auto", title: one.label.slice(0, 300) }),
        element("span", one.kind === "relation" ? "relation" : `${one.facts} fact${one.facts === 1 ? "" : "s"}`));
      // As a link it opens in another tab; a plain click chooses it.
      const isPlain = (event) => !event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey;
      link.addEventListener("mousedown", (event) => { event.preventDefault(); if (isPlain(event)) take(i); });
      link.addEventListener("click", (event) => { if (isPlain(event)) event.preventDefault(); });
      item.append(link);
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
      // What does not begin so is not opened: the page of the unknown name offers it.
      if (chosen >= 0 || found[0]?.is_close) take(Math.max(chosen, 0));
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
// answers and the page of one fact work alike. Facts may join a list while it is open.
let deciding = null;
const session = { accept: 0, reject: 0, unsure: 0 };
function review(list) {
  const items = () => $$("[data-decision]", list), isQueue = list.matches("[data-queue]"), done = [];
  const isOpen = (item) => !item.dataset.decision && !item.classList.contains("known");
  let current = items().find(isOpen) || items()[0];
  const kind = (verdict) => (verdict === "other-reason" ? "accept" : verdict);
  const named = $("[data-name]");
  if (named) {
    named.value = localStorage.getItem("rnnlogic-name") || "";
    named.addEventListener("input", () => localStorage.setItem("rnnlogic-name", named.value));
  }
  function mark(item) {
    current?.classList.remove("current");
    current = item || current;
    if (current && (isQueue || items().length > 1)) current.classList.add("current");
  }
  function focus(item) {
    mark(item);
    current?.focus({ preventScroll: true });
    current?.scrollIntoView({ block: "nearest" });
  }
  function move(by) {
    const all = items();
    focus(all[Math.min(Math.max(all.indexOf(current) + by, 0), all.length - 1)]);
  }
  async function send(form, verdict) {
    const body = new URLSearchParams(form ? new FormData(form) : {});
    body.set("decision", verdict);
    if (named?.value) body.set("by", named.value);
    const answer = await fetch(`${base}/review`, { method: "POST", body, headers: { Accept: "application/json" } }).catch(() => null);
    return Boolean(answer && answer.ok);
  }
  async function decide(item, verdict) {
    const form = item && $("form.decide", item);
    if (!form) return;
    const is = await send(form, verdict);
    item.classList.toggle("failed", !is);
    if (!is) return;
    const before = kind(item.dataset.decision);
    if (before in session && done.includes(item)) session[before] -= 1;
    if (kind(verdict) in session) session[kind(verdict)] += 1;
    if (done.includes(item)) done.splice(done.indexOf(item), 1);
    if (verdict !== "undo") done.push(item);
    item.dataset.decision = verdict === "undo" ? "" : verdict;
    const progress = $("[data-progress]");
    if (progress) progress.textContent = `in this sitting ${session.accept} accepted, ${session.reject} rejected, ${session.unsure} unsure`;
    if (verdict !== "undo" && item === current && items().length > 1) move(1);
  }
  // The last decision of this page, or else the last one of the run.
  async function undo() {
    const last = done.at(-1);
    if (last) {
      await decide(last, "undo");
      focus(last);
    } else if (await send(null, "undo")) location.reload();
  }
  list.addEventListener("submit", (event) => {
    const item = event.target.closest("[data-decision]");
    if (!item || !event.target.matches(".decide")) return;
    event.preventDefault();
    if (isQueue) focus(item);
    decide(item, event.submitter?.value || "accept");
  });
  function key(event) {
    const verdict = { a: "accept", r: "reject", o: "other-reason", s: "unsure" }[event.key];
    if (verdict) { event.preventDefault(); decide(current, verdict); }
    if (event.key === "u" && $(".decide", list)) { event.preventDefault(); undo(); }
    const down = event.key === "j" || (isQueue && event.key === "ArrowDown"), up = event.key === "k" || (isQueue && event.key === "ArrowUp");
    if (down || up) { event.preventDefault(); move(down ? 1 : -1); }
    if (event.key === "w" && current && $(".why", current)) location.href = $(".why", current).href;
  }
  // Proposals that have been found since, each behind the one that precedes it; what is there stays as it is.
  function add(others) {
    const own = new Map(items().map((item) => [item.dataset.fact, item]));
    let last = null;
    for (const item of $$("li[data-fact]", others)) {
      const there = own.get(item.dataset.fact);
      if (!there && last) last.after(item);
      else if (!there) list.prepend(item);
      last = there || item;
    }
    if (items().length) for (const note of $$("li.note", list)) note.remove();
    if (!current) focus(items()[0]);
  }
  if (isQueue && current) focus(current); else mark(current);
  return { key, add };
}

// What is not there yet is fetched until it is: parts of a page that are marked, or all of it. Who is typing
// meanwhile keeps the text.
const later = (time) => new Promise((resolve) => setTimeout(resolve, time));
async function fill() {
  let pause = 200;
  while (document.body.hasAttribute("data-filling") || $("[data-fill]")) {
    await later(pause);
    pause = Math.min(1.5 * pause, 3000);
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
    if (!answer) { for (const text of $$(".working")) text.textContent = "The server does not answer; it is asked again."; continue; }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const isFilling = answer.ok && page.body.hasAttribute("data-filling");
    const parts = answer.ok ? $$("[data-fill]") : [];
    for (const part of parts) {
      const made = page.getElementById(part.id);
      if (made) exchange(part, document.adoptNode(made)); else part.remove();
    }
    const queue = $("[data-queue]");
    if (queue && answer.ok) deciding.add(document.adoptNode($("[data-queue]", page)));
    else if (!parts.length && !isFilling) exchange($("main"), document.adoptNode($("main", page)));
    document.body.toggleAttribute("data-filling", isFilling);
  }
}
function exchange(old, made) {
  old.replaceWith(made);
  start(made);
}

// The picture of a neighbourhood: a sign opens the facts of an entity in place; the reason of a proposal is told below.
async function turn(link) {
  const figure = $("#around"), address = link.getAttribute("href");
  figure.setAttribute("aria-busy", "true");
  const answer = await fetch(address, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer || !answer.ok) { location.href = address; return; }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const left = $("[data-scroll]", figure).scrollLeft;
  exchange(figure, document.adoptNode(page.getElementById("around")));
  history.replaceState(null, "", address);
  $("#around [data-scroll]").scrollLeft = left;
  $(`#around [data-turn="${link.dataset.turn}"]`)?.focus({ preventScroll: true });
}
function tellReasons(figure) {
  const text = $("[data-why-text]", figure), before = [...text.childNodes];
  for (const one of $$("[data-why]", figure)) {
    for (const event of ["mouseenter", "focus"]) one.addEventListener(event, () => text.replaceChildren(one.dataset.why));
    for (const event of ["mouseleave", "blur"]) one.addEventListener(event, () => text.replaceChildren(...before));
  }
}

// A hint below what goes on beyond the right edge, until it has been moved.
function hint(region) {
  const text = region.nextElementSibling;
  const show = () => { text.hidden = region.scrollWidth <= region.clientWidth + 2 || region.scrollLeft > 0; };
  region.addEventListener("scroll", show);
  new ResizeObserver(show).observe(region);
}

// Give a part of the page, or all of it, its behaviour.
function start(root) {
  const all = (selector) => [...(root.matches?.(selector) ? [root] : []), ...$$(selector, root)];
  all("[data-suggest]").forEach(suggest);
  all("[data-highlight]").forEach((button) => button.addEventListener("click", () =>
    highlight(button.getAttribute("aria-pressed") === "true" ? null : button.dataset.highlight)));
  for (const input of all("[data-filter], [data-hide-known]")) input.addEventListener("input", filterAnswers);
  all("[data-edit]").forEach((button) => button.addEventListener("click", (event) => { event.preventDefault(); edit(button); }));
  all("[data-edits-clear]").forEach((button) => button.addEventListener("click", () => { localStorage.removeItem(editsKey); showEdits(); }));
  if (all("[data-edits]").length) showEdits();
  all("[data-review]").forEach((list) => { deciding = review(list); });
  all("[data-scroll]").forEach(hint);
  all("#around").forEach(tellReasons);
  all("[data-turn]").forEach((link) => link.addEventListener("click", (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    turn(link);
  }));
  all("[data-copy]").filter(() => navigator.clipboard).forEach((copy) => {
    copy.hidden = false;
    copy.addEventListener("click", async () => { await navigator.clipboard.writeText(location.href); copy.textContent = "Copied"; });
  });
}

start(document);
fill();
const keys = $("[data-keys]"), keysButton = $("[data-keys-button]");
const showKeys = () => { if (keys.open) keys.close(); else keys.showModal(); };
if (keysButton) { keysButton.hidden = false; keysButton.addEventListener("click", showKeys); }
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  if (event.key === "?") { event.preventDefault(); showKeys(); }
  if (keys.open) return;
  if (event.key === "/") { event.preventDefault(); $(".search input")?.focus(); }
  deciding?.key(event);
});
