// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

const KEYS = [
  ["↓ or j, ↑ or k", "step on, step back"],
  ["→, ←", "next step, step before, of the same lane"],
  ["n, p", "next merge, merge before"],
  ["Page down, Page up", "20 steps on or back"],
  ["Home, End", "first step, last step"],
  ["d", "next place where replicas differ"],
  ["t", "table in place of lanes"],
  ["s, b", "show or hide streams, bookkeeping"],
  ["?", "this list"],
];
const SIGNS = [
  ["solid line", "the replica or host runs"],
  ["broken line", "it waits"],
  ["bar over lanes", "a merge: below its name, what each replica brings and gets"],
  ["arrow", "a step that the selected step waited for, or that waited for it"],
];

const id = (name) => document.getElementById(name);

class Page {
  constructor() {
    const choose = (place) => this.reveal(place);
    this.trace = new Trace(unpacked(id("trace").textContent.trim()));
    this.history = new History(this.trace);
    this.words = new Words(this.trace);
    this.layout = new Layout(this.trace, this.history);
    new Banner(id("banner"), this.trace, this.history, choose).show();
    const sources = JSON.parse(id("sources").textContent);
    this.panel = new Panel(id("panel"), this.trace, this.history, this.words, sources, choose);
    this.table = new StepTable(id("table"), this.trace, this.layout, choose);
    this.lanes = new Lanes(id("lanes"), this.trace, this.history, this.layout, this.words, choose);
    this.listen();
    this.describeKeys();
    this.rearrange();
    this.followHash();
  }

  listen() {
    document.addEventListener("keydown", (event) => this.press(event));
    for (const button of document.querySelectorAll("[data-key]")) {
      button.addEventListener("click", () => this.act(button.dataset.key));
    }
    id("slider").addEventListener("input", () => this.select(this.layout.places[id("slider").value]));
    id("streams").addEventListener("change", () => this.rearrange());
    id("bookkeeping").addEventListener("change", () => this.rearrange());
    window.addEventListener("hashchange", () => this.followHash());
    id("streams").checked = this.layout.streams;
    id("streams").parentElement.hidden = this.layout.streamCount === 0;
    id("streams-label").textContent = count(this.layout.streamCount, "stream");
  }

  describeKeys() {
    const list = (rows) => {
      const made = element("dl", {});
      for (const [name, text] of rows) made.append(element("dt", {}, name), element("dd", {}, text));
      return made;
    };
    id("keys").append(list(KEYS), list(SIGNS));
  }

  // Shows or hides streams and bookkeeping.
  rearrange() {
    this.layout.streams = id("streams").checked;
    this.layout.bookkeeping = id("bookkeeping").checked;
    this.layout.arrange();
    id("slider").max = Math.max(this.layout.places.length - 1, 0);
    this.lanes.resize();
    if (this.step) this.select(this.step.place);
  }

  followHash() {
    const wanted = /step=([\d:]+)/.exec(location.hash);
    this.reveal(this.trace.places.get(wanted?.[1]) ?? this.firstPlace());
  }

  // After a failure the last step, else the begin of the first run.
  firstPlace() {
    if (this.trace.steps.some((step) => step.failed)) return this.layout.places.at(-1) ?? -1;
    return this.trace.steps.findIndex((step) => step.kind === "run_begin");
  }

  // Selects a step, and shows what hides it.
  reveal(place) {
    const step = this.trace.steps[place];
    if (step && !this.layout.isShown(step)) {
      id("bookkeeping").checked ||= Boolean(step.bookkeeping);
      id("streams").checked ||= this.trace.agentOf(step).kind === "stream";
      this.rearrange();
    }
    this.select(place);
  }

  // Selects a step, or of a hidden step the step before.
  select(place) {
    const shown = this.layout.places[this.layout.rowOf(place)];
    if (shown === undefined) return;
    this.step = this.trace.steps[shown];
    this.lanes.select(shown);
    this.panel.show(this.step);
    this.table.show(this.step);
    const text = `step ${this.step.label} of ${this.trace.steps.at(-1).label}`;
    id("position").textContent = text;
    id("slider").value = this.layout.rowOf(shown);
    id("slider").setAttribute("aria-valuetext", text);
    id("said").textContent = `${text}. ${this.step.words}`;
    clearTimeout(this.hashTimer);
    this.hashTimer = setTimeout(
        () => history.replaceState(null, "", `#step=${this.step.label}`), 300);
  }

  move(by) {
    const row = this.layout.rowOf(this.step.place) + by;
    this.select(this.layout.places[Math.max(Math.min(row, this.layout.places.length - 1), 0)]);
  }

  moveInLane(by) {
    const places = this.layout.shownOf.get(this.step.agent);
    this.select(places[places.indexOf(this.step.place) + by] ?? this.step.place);
  }

  // The place after or before the selected among ascending places.
  among(places, by) {
    const at = lastAt(places, by > 0 ? this.step.place : this.step.place - 1);
    const place = places[by > 0 ? at + 1 : at];
    if (place !== undefined) this.select(place);
  }

  press(event) {
    const inField = ["range", "checkbox"].includes(event.target.type);
    const presses = event.target.tagName === "BUTTON" || event.target.tagName === "SUMMARY";
    if (event.ctrlKey || event.metaKey || event.altKey || (presses && event.key === "Enter")) return;
    if (inField && event.target.type === "range" && event.key.length > 1) return;
    if (event.target.id === "panel" && event.key.startsWith("Page")) return;  // They scroll it.
    if (this.act(event.key)) event.preventDefault();
  }

  // Does what a key says; false for another key.
  act(key) {
    if (!this.step) return false;
    const merges = () => this.history.merges.map((merge) => merge.place);
    const actions = {
      ArrowDown: () => this.move(1), j: () => this.move(1),
      ArrowUp: () => this.move(-1), k: () => this.move(-1),
      PageDown: () => this.move(20), PageUp: () => this.move(-20),
      Home: () => this.move(-Infinity), End: () => this.move(Infinity),
      ArrowRight: () => this.moveInLane(1), ArrowLeft: () => this.moveInLane(-1),
      n: () => this.among(merges(), 1), p: () => this.among(merges(), -1),
      d: () => this.among(this.history.differences.map((found) => found.place), 1),
      t: () => this.toggleTable(), s: () => id("streams").click(),
      b: () => id("bookkeeping").click(), "?": () => this.toggleKeys(),
    };
    if (!Object.hasOwn(actions, key)) return false;
    actions[key]();
    return true;
  }

  toggleTable() {
    const isTable = document.body.classList.toggle("as-table");
    id("as-table").setAttribute("aria-pressed", isTable);
    this.table.show(this.step);
    if (isTable) id("table").focus();
    else this.lanes.resize();
  }

  toggleKeys() {
    id("keys").hidden = !id("keys").hidden;
    id("help").setAttribute("aria-expanded", !id("keys").hidden);
  }
}

new Page();
document.documentElement.dataset.ready = "yes";
