// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

const ROW = 28, MERGE_ROW = 82, GUTTER = 70;
// Widths of lanes: of a host, the least, and the least of many replicas.
const HOST_LANE = 84, LEAST_LANE = 148, NARROW_LANE = 88;

// The index of the last of ascending numbers that is at most `wanted`; 0 if there is none.
const indexAt = (numbers, wanted) => Math.max(lastAt(numbers, wanted), 0);

// Where lanes and rows are, in pixels. A row is a step that is shown.
class Layout {
  constructor(trace, history) {
    this.trace = trace;
    this.history = history;
    this.streams = true;
    this.bookkeeping = false;
    this.places = [];
    this.arrange();
    this.streams = this.lanes.length <= 9;
    this.streamCount = this.lanes.filter((agent) => agent.kind === "stream").length;
    this.arrange();
  }

  arrange() {
    this.places = this.trace.steps.filter((step) => this.isShown(step)).map((step) => step.place);
    const tops = new Float64Array(this.places.length + 1);
    this.places.forEach((place, row) => {
      tops[row + 1] = tops[row] + (this.trace.steps[place].kind === "merge" ? MERGE_ROW : ROW);
    });
    this.tops = tops;
    this.shownOf = new Map();
    for (const place of this.places) {
      const id = this.trace.steps[place].agent;
      if (!this.shownOf.has(id)) this.shownOf.set(id, []);
      this.shownOf.get(id).push(place);
    }
    this.lanes = [...this.trace.agents.values()].filter(
        (agent) => agent.kind !== "merge" && this.shownOf.has(agent.id));
    this.laneOf = new Map(this.lanes.map((agent, lane) => [agent.id, lane]));
  }

  isShown(step) {
    if (step.bookkeeping && !this.bookkeeping) return false;
    return this.streams || this.trace.agentOf(step).kind !== "stream";
  }

  resize(width) {
    const hosts = this.lanes.filter((agent) => agent.kind === "host").length;
    const others = Math.max(this.lanes.length - hosts, 1);
    const replicas = this.lanes.filter((agent) => agent.kind === "replica").length;
    const least = { stream: LEAST_LANE, replica: replicas > 4 ? NARROW_LANE : LEAST_LANE };
    const even = Math.floor((width - GUTTER - HOST_LANE * hosts) / others);
    this.lefts = [GUTTER];
    for (const agent of this.lanes) {
      const lane = agent.kind === "host" ? HOST_LANE : Math.max(least[agent.kind], even);
      this.lefts.push(this.lefts.at(-1) + lane);
    }
    this.width = Math.max(this.lefts.at(-1), width);
  }

  get height() {
    return this.tops[this.places.length];
  }

  rowOf(place) {
    return indexAt(this.places, place);
  }

  // The height of the middle of the row of a step; of a hidden step, of the row before.
  y(place) {
    const row = this.rowOf(place);
    return (this.tops[row] + Math.min(this.tops[row + 1], this.tops[row] + ROW)) / 2;
  }

  laneWidth(lane) {
    return this.lefts[lane + 1] - this.lefts[lane];
  }

  x(lane) {
    return this.lefts[lane] + 16;
  }

  // {left, right} of neighbouring lanes of replicas that take part in a merge.
  spans(merge) {
    const ids = merge ? merge.arrivals.map((place) => this.trace.steps[place].agent) : [];
    const lanes = ids.map((id) => this.laneOf.get(id)).filter((lane) => lane !== undefined);
    if (!lanes.length) return [{ left: GUTTER, right: this.lefts.at(-1) }];
    const spans = [];
    for (const lane of lanes.sort((a, b) => a - b)) {
      if (!lanes.includes(lane - 1)) spans.push({ left: this.lefts[lane] + 4 });
      spans.at(-1).right = this.lefts[lane + 1] - 4;
    }
    return spans;
  }

  // The point of a step.
  point(step) {
    const lane = this.laneOf.get(step.agent);
    const x = lane === undefined ? this.spans(step.merge)[0].left + 12 : this.x(lane);
    return { x, y: this.y(step.place) };
  }
}
