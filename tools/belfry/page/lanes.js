// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

const BEYOND = 400;  // Pixels above and below the view that are drawn.
const ROOM = 170, LETTER = 10;  // Pixels for a text beside a dot, and for a letter.

// The picture: a column for each agent, a row for each step. Only rows in view exist.
class Lanes {
  constructor(box, trace, history, layout, words, choose) {
    Object.assign(this, { box, trace, history, layout, words, choose });
    this.selected = 0;
    this.head = element("div", { class: "head" });
    this.tall = element("div", { class: "tall" });
    box.append(this.head, this.tall);
    this.tall.addEventListener("click", (event) => this.choose(this.placeUnder(event)));
    box.addEventListener("scroll", () => this.drawSoon());
    new ResizeObserver(() => this.resize()).observe(box);
  }

  placeUnder(event) {
    const y = event.clientY - this.tall.getBoundingClientRect().top;
    return this.layout.places[Math.min(indexAt(this.layout.tops, y),
                                       this.layout.places.length - 1)] ?? -1;
  }

  resize() {
    const layout = this.layout;
    layout.resize(this.box.clientWidth);
    this.head.style.width = this.tall.style.width = `${layout.width}px`;
    this.tall.style.height = `${layout.height + ROW}px`;
    this.head.replaceChildren(...layout.lanes.map((agent, lane) => {
      const made = element("div", { class: `title ${agent.kind} ${agent.role ?? ""}` }, agent.name);
      made.style.left = `${layout.lefts[lane] + 8}px`;
      made.style.width = `${layout.laneWidth(lane) - 12}px`;
      return made;
    }));
    this.draw();
  }

  select(place) {
    this.selected = place;
    const y = this.layout.y(place), x = this.layout.point(this.trace.steps[place]).x;
    const top = this.box.scrollTop, view = this.box.clientHeight - this.head.offsetHeight;
    if (y < top + 2 * ROW || y > top + view - 4 * ROW) this.box.scrollTop = y - view / 2;
    const left = this.box.scrollLeft, width = this.box.clientWidth;
    if (x < left + GUTTER || x > left + width - NARROW_LANE) {
      this.box.scrollLeft = x - width / 2;
    }
    this.drawSoon();
  }

  drawSoon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const layout = this.layout, rows = layout.places.length;
    if (!layout.lefts || !this.box.clientHeight) return;
    const top = Math.max(this.box.scrollTop - BEYOND, 0);
    const bottom = this.box.scrollTop + this.box.clientHeight + BEYOND;
    this.top = top;
    this.bottom = Math.min(bottom, layout.height + ROW);
    this.svg = drawn("svg", { width: layout.width, height: this.bottom - top, "aria-hidden": "true",
                              viewBox: `0 ${top} ${layout.width} ${this.bottom - top}` });
    this.arrows = this.svg.cloneNode();
    this.svg.style.top = this.arrows.style.top = `${top}px`;
    this.texts = [];
    this.drawMarker();
    const first = indexAt(layout.tops, top);
    const places = [];
    for (let row = first; row < rows && layout.tops[row] < bottom; ++row) {
      places.push(layout.places[row]);
    }
    layout.lanes.forEach((agent, lane) => this.drawLane(agent, lane));
    for (const place of places) this.drawStep(this.trace.steps[place]);
    if (rows) this.drawEdges(this.trace.steps[this.selected]);
    this.tall.replaceChildren(this.svg, ...this.texts, this.arrows);
  }

  drawMarker() {
    const marker = drawn("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4,
                                     markerWidth: 7, markerHeight: 7, orient: "auto" });
    marker.append(drawn("path", { d: "M0 0L8 4L0 8z", class: "tip" }));
    this.arrows.append(marker);
  }

  line(x, from, to, kind) {
    const y1 = Math.max(from, this.top), y2 = Math.min(to, this.bottom);
    if (y1 < y2) this.svg.append(drawn("line", { x1: x, x2: x, y1, y2, class: kind }));
  }

  text(x, y, kind, text) {
    const made = element("div", { class: `text ${kind}`, title: text }, text);
    made.style.left = `${x}px`;
    made.style.top = `${y - ROW / 2}px`;
    made.style.maxWidth = `${Math.max(this.layout.width - x - 8, 40)}px`;
    this.texts.push(made);
    return made;
  }

  // A word at the left edge, which stays when lanes scroll to the left.
  number(y, text) {
    const left = this.box.scrollLeft;
    this.text(left, y, `number ${left > 0 ? "pinned" : ""}`, text);
  }

  // The line of an agent: solid while it runs, broken while it waits, thin while it is idle.
  drawLane(agent, lane) {
    const layout = this.layout, x = layout.x(lane), places = layout.shownOf.get(agent.id) ?? [];
    if (agent.kind === "stream") this.line(x, 0, layout.height, "life idle");
    const first = Math.max(indexAt(places, layout.places[indexAt(layout.tops, this.top)]) - 1, 0);
    for (let i = first; i <= places.length; ++i) {
      const from = places[i - 1] ?? -1, to = places[i];
      const y = from < 0 ? 0 : layout.y(from);
      if (y > this.bottom) break;
      if (to === undefined) this.drawLast(agent, lane, this.trace.steps[from]);
      else this.drawBetween(agent, lane, from, to);
    }
  }

  drawBetween(agent, lane, from, to) {
    const layout = this.layout, wait = this.history.waitBefore(from, to);
    const begin = layout.y(wait ? Math.max(wait.begin, 0) : to);
    const runs = agent.kind !== "stream" && from >= 0 &&
        !["end", "throw", "run_end"].includes(this.trace.steps[from].kind);
    if (runs) this.line(layout.x(lane), layout.y(from), begin, `life ${agent.kind}`);
    if (wait && (runs || agent.kind === "stream")) {
      this.drawWait(lane, wait.begin, to, this.history.waitText(this.trace.steps[to], wait.cause));
    }
  }

  drawLast(agent, lane, step) {
    const forever = this.history.waitsForever(step);
    if (forever) this.drawWait(lane, step.place, Infinity, forever);
  }

  // A broken line, with words in a row where they meet no others.
  drawWait(lane, from, to, text) {
    const layout = this.layout, rows = layout.places;
    const end = to === Infinity ? layout.height : layout.y(to);
    this.line(layout.x(lane), layout.y(from), end, "wait");
    if (layout.lanes[lane].kind === "host") return;
    const first = Math.max(layout.rowOf(from), indexAt(layout.tops, this.box.scrollTop)) + 1;
    for (let row = first; row < first + 12 && rows[row] < to; ++row) {
      const step = this.trace.steps[rows[row]], other = layout.laneOf.get(step.agent);
      if (!(other > lane) || this.isLeftward(layout.x(other), this.words.brief(step))) continue;
      const made = this.text(layout.x(lane) + 12, layout.tops[row] + ROW / 2, "waits", text);
      made.style.maxWidth = `${layout.laneWidth(lane) - 20}px`;
      return;
    }
  }

  drawStep(step) {
    const layout = this.layout, { x, y } = layout.point(step);
    const isChosen = step.place === this.selected;
    this.number(y, step.label);
    if (isChosen) {
      const height = step.kind === "merge" ? MERGE_ROW : ROW;
      this.svg.prepend(drawn("rect", { x: 0, y: y - ROW / 2, width: layout.width, height,
                                       class: "chosen" }));
    }
    if (step.kind === "merge") this.drawMerge(step, y);
    else if (step.kind.startsWith("run_")) this.drawRun(step, x, y, isChosen);
    else {
      const isInMerge = !layout.laneOf.has(step.agent);
      if (isInMerge) this.drawBar(step.merge, y - ROW / 2 - 4, ROW + 4, "inner");
      const agent = this.trace.agentOf(step);
      const bad = step.kind === "throw" ? "bad" : "";
      this.svg.append(drawn("circle", { cx: x, cy: y, r: isChosen ? 8 : 5.5,
                                        class: `dot ${agent.kind} ${agent.role ?? ""} ${bad}` }));
      const ground = isInMerge ? "inner" : isChosen ? "picked" : "";
      this.stepText(x, y, `${ground} ${bad}`, this.words.brief(step));
    }
  }

  // Whether a text stands to the left of its dot, because the right has no room.
  isLeftward(x, text) {
    return this.layout.width - x < Math.min(ROOM, LETTER * text.length) && x > 2 * ROOM;
  }

  stepText(x, y, kind, text) {
    const isLeft = this.isLeftward(x, text);
    const side = isLeft ? "leftward" : "";
    const made = this.text(isLeft ? x - 13 : x + 13, y, `${kind} ${side}`, text);
    if (isLeft) made.style.maxWidth = `${x - 2 * GUTTER}px`;
  }

  drawRun(step, x, y, isChosen) {
    const bad = step.failed ? "bad" : "";
    this.svg.append(drawn("line", { x1: x, x2: this.layout.width - 8, y1: y, y2: y,
                                    class: `run ${bad}` }));
    this.text(x + 13, y, `run ${bad} ${isChosen ? "chosen" : ""}`, this.words.brief(step));
  }

  // A bar over the lanes of the replicas, with gaps for others.
  drawBar(merge, top, height, kind) {
    const spans = this.layout.spans(merge), left = spans[0].left, right = spans.at(-1).right;
    const y = top + height / 2;
    if (spans.length > 1) this.svg.append(drawn("line", { x1: left, x2: right, y1: y, y2: y,
                                                          class: "bar" }));
    for (const { left, right } of spans) {
      this.svg.append(drawn("rect", { x: left, y: top, width: right - left, rx: 6, height,
                                      class: `bar ${kind}` }));
    }
    return { left, right };
  }

  // The name, and below what each replica brought and got.
  drawMerge(step, y) {
    const merge = step.merge, bad = merge.differs ? "bad" : "";
    const { left, right } = this.drawBar(merge, y - ROW / 2 + 2, MERGE_ROW - 4, bad);
    const name = (bad ? "differs: " : "") + this.words.brief(step);
    this.text(left + 10, y, "merge", name).style.maxWidth = `${right - left - 20}px`;
    this.number(y + 26, "brings");
    this.number(y + 51, "gets");
    for (const place of merge.arrivals) {
      const arrival = this.trace.steps[place], back = this.history.backOf(merge, arrival.agent);
      this.drawExchange(arrival, y + 26, valuesText(arrival.brings) || "—");
      this.drawExchange(arrival, y + 51, back ? valuesText(back.gets) || "—" : "not yet");
    }
  }

  drawExchange(arrival, y, text) {
    const lane = this.layout.laneOf.get(arrival.agent);
    if (lane === undefined) return;
    const made = this.text(this.layout.lefts[lane] + 14, y, "exchange", text);
    made.style.maxWidth = `${this.layout.laneWidth(lane) - 22}px`;
  }

  // Arrows from the steps that a step waited for, and to those that waited for it.
  drawEdges(step) {
    for (const place of step.after) this.drawEdge(this.trace.steps[place], step, "edge");
    for (const later of this.history.waitersOf(step)) this.drawEdge(step, later, "edge onward");
  }

  drawEdge(from, to, kind) {
    if (!this.layout.isShown(from) || !this.layout.isShown(to)) return;
    const a = this.layout.point(from), b = this.layout.point(to);
    a.y = Math.max(a.y, this.top - 2000);
    b.y = Math.min(b.y, this.bottom + 2000);
    const bend = Math.min((b.y - a.y) / 2, 60), side = a.x === b.x ? 30 : 0;
    const path = `M${a.x} ${a.y}C${a.x - side} ${a.y + bend} ${b.x - side} ${b.y - 10 - bend} ` +
        `${b.x} ${b.y - 9}`;
    this.arrows.append(drawn("path", { d: path, class: kind, "marker-end": "url(#tip)" }));
  }
}
