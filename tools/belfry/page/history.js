// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Verbs whose replicas all get the same.
const EQUAL_RESULTS = new Set(["all_reduce", "all_gather", "broadcast"]);

// The index of the last of ascending places that is at most `place`, or -1.
function lastAt(places, place) {
  let low = 0, high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle] <= place) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// What the steps of a trace add up to: merges, copies of variables, waits, differences.
class History {
  constructor(trace) {
    this.trace = trace;
    this.merges = [];
    this.copies = new Map();       // Variable: replica: its writes, in order.
    this.placesOf = new Map();     // Agent: places of its steps.
    this.enqueued = new Map();     // Stream: places of the steps that enqueued its work,
    this.executed = new Map();     // and of those that ran it.
    this.differences = [];
    for (const id of trace.agents.keys()) {
      this.placesOf.set(id, []);
      this.enqueued.set(id, []);
      this.executed.set(id, []);
    }
    this.addSteps();
    this.findDifferences();
    this.differences.sort((a, b) => a.place - b.place);
  }

  addSteps() {
    const byKey = new Map(), current = new Map();
    this.hasRuns = this.trace.steps.some((step) => step.run > 1);
    for (const step of this.trace.steps) {
      const agent = this.trace.agentOf(step);
      this.placesOf.get(step.agent).push(step.place);
      if (["execute", "collective"].includes(step.kind)) {
        this.executed.get(step.agent).push(step.place);
      }
      if (step.kind === "enqueue") this.enqueued.get(step.stream)?.push(step.place);
      if (step.kind === "merge" || (agent.kind === "replica" && step.round !== undefined)) {
        step.merge = this.mergeOf(step, agent, byKey);
        if (step.kind === "merge") current.set(step.agent, step.merge);
      } else if (agent.kind === "merge") {
        step.merge = current.get(step.agent);
      }
      if (step.variable !== undefined) this.addCopies(step, agent);
    }
  }

  mergeOf(step, agent, byKey) {
    const group = step.group ? ` of group {${step.group.join(", ")}}` : "";
    const key = `${agent.host ?? 0}:${step.run}:${step.round}${group}`;
    let merge = byKey.get(key);
    if (!merge) {
      const label = `merge ${step.round}${group}`;
      const title = label + (this.hasRuns ? ` of run ${step.run}` : "");
      merge = { label, title, name: step.name, place: -1, arrivals: [], resumes: [] };
      byKey.set(key, merge);
    }
    if (step.kind === "arrive") merge.arrivals.push(step.place);
    if (step.kind === "resume") merge.resumes.push(step.place);
    if (step.kind === "merge") {
      const lane = (place) => this.trace.agentOf(this.trace.steps[place]).index;
      merge.arrivals.sort((a, b) => lane(a) - lane(b));
      merge.place = step.place;
      merge.name = step.name ?? merge.name;
      this.merges.push(merge);
    }
    return merge;
  }

  // The step by which an agent left a merge, if there is one.
  backOf(merge, agent) {
    const steps = merge.resumes.map((place) => this.trace.steps[place]);
    return steps.find((step) => step.agent === agent);
  }

  replicasOf(host) {
    return [...this.trace.agents.values()].filter(
        (agent) => agent.kind === "replica" && (host === undefined || agent.host === host));
  }

  // A write changes the copies of its agent; a read with values shows what they are.
  addCopies(step, agent) {
    const isRead = step.kind === "variable_read";
    const values = (isRead ? step.reads : step.writes) ?? [];
    if (isRead && !values.length) return;
    let owners = this.replicasOf(agent.host);
    if (step.replica !== undefined) owners = owners.filter((o) => o.index === step.replica);
    else if (agent.kind === "replica") owners = [agent];
    if (!this.copies.has(step.variable)) this.copies.set(step.variable, new Map());
    const copies = this.copies.get(step.variable);
    owners.forEach((owner, i) => {
      if (!copies.has(owner.id)) copies.set(owner.id, []);
      const value = (values.length === owners.length ? values[i] : values[0]) ?? {};
      const list = copies.get(owner.id);
      if (isRead && value.digest === list.at(-1)?.value.digest) return;
      list.push({ place: step.place, version: step.version, value });
    });
  }

  // The last write to a copy at a place, and the write before.
  copyAt(writes, place) {
    const at = lastAt(writes.map((write) => write.place), place);
    return { now: writes[at], before: writes[at - 1] };
  }

  findDifferences() {
    for (const merge of this.merges) {
      if (EQUAL_RESULTS.has(merge.name)) this.compareResults(merge);
    }
    for (const [number, copies] of this.copies) {
      if (this.trace.variables.get(number)?.kind === "mirrored") this.compareCopies(number, copies);
    }
  }

  compareResults(merge) {
    const digests = new Set();
    for (const place of merge.resumes) {
      const gets = this.trace.steps[place].gets ?? [];
      if (gets.length && gets.every((value) => value.digest)) {
        digests.add(gets.map((value) => value.digest).join());
      }
    }
    if (digests.size < 2) return;
    merge.differs = true;
    this.differences.push({ place: merge.place, merge,
      text: `${merge.title} (${merge.name}) gave the replicas different values.` });
  }

  // Copies with equal numbers of writes have equal values.
  compareCopies(number, copies) {
    const versions = new Map();
    for (const writes of copies.values()) {
      writes.forEach((write, i) => {
        const version = write.version ?? i + 1;
        if (!versions.has(version)) versions.set(version, []);
        versions.get(version).push(write);
      });
    }
    for (const writes of versions.values()) {
      const digests = new Set(writes.map((write) => write.value.digest).filter(Boolean));
      if (digests.size < 2) continue;
      const place = Math.max(...writes.map((write) => write.place));
      this.differences.push({ place, variable: number,
        text: `The copies of ${this.trace.variableName(number)}, a mirrored variable, differ.` });
      return;  // Later versions follow from this.
    }
  }

  // The steps that waited for a step.
  waitersOf(step) {
    if (!this.waiters) {
      this.waiters = new Map();
      for (const later of this.trace.steps) {
        for (const place of later.after) {
          if (!this.waiters.has(place)) this.waiters.set(place, []);
          this.waiters.get(place).push(later);
        }
      }
    }
    return this.waiters.get(step.place) ?? [];
  }

  // Whether copies of a mirrored variable differ at a place.
  differsAt(number, place) {
    return this.differences.some((found) => found.variable === number && found.place <= place);
  }

  // The wait that the step at `to` of an agent ended, whose step before is at `from`:
  // {begin, cause}, where `cause` is the step that was waited for, or null.
  waitBefore(from, to) {
    const step = this.trace.steps[to];
    const agent = this.trace.agentOf(step);
    let begin = from, cause = -1;
    for (const place of step.after) {
      const isOwnWork = agent.kind === "stream" && this.trace.steps[place].kind === "enqueue";
      if (isOwnWork) begin = Math.max(begin, place);
      else cause = Math.max(cause, place);
    }
    if (cause > begin) return { begin, cause: this.trace.steps[cause] };
    const before = this.trace.steps[from];  // Of a replica that waits for a merge in vain.
    return before?.kind === "arrive" && agent.kind === "replica" ? { begin, cause: before } : null;
  }

  // What an agent that has no step after `place` waits for, in words, or nothing.
  waitsForever(step) {
    if (step.kind === "arrive") return `waits for ${step.merge.label}`;
    return step.kind === "run_begin" ? "waits for the replicas" : "";
  }

  waitText(step, cause) {
    if (step.kind === "run_end") return "waits for the replicas";
    if (cause.merge) return `waits for ${cause.merge.label}`;
    return `waits for ${this.trace.agentOf(cause).name}`;
  }

  // What an agent does after the step at `place`, in words.
  statusAt(agent, place, words) {
    const places = this.placesOf.get(agent.id);
    const at = lastAt(places, place);
    const next = places[at + 1];
    if (next !== undefined && (at >= 0 || agent.kind === "stream")) {
      const wait = this.waitBefore(at < 0 ? -1 : places[at], next);
      if (wait && wait.begin <= place) {
        return { waits: true, text: this.waitText(this.trace.steps[next], wait.cause) };
      }
    }
    if (agent.kind === "stream") return this.statusOfStream(agent, place, places[at], words);
    if (at < 0) return { text: "has not started" };
    const step = this.trace.steps[places[at]];
    if (step.kind === "end") return { text: "has ended" };
    if (step.kind === "throw") return { bad: true, text: words.brief(step) };
    const stuck = next === undefined ? this.waitsForever(step) : "";
    return stuck ? { waits: true, text: stuck } : { text: words.brief(step) };
  }

  statusOfStream(agent, place, last, words) {
    if (last === place) return { text: words.brief(this.trace.steps[place]) };
    const done = lastAt(this.executed.get(agent.id), place) + 1;
    const queued = lastAt(this.enqueued.get(agent.id), place) + 1 - done;
    return { text: queued > 0 ? `has ${count(queued, "piece")} of work left` : "is idle" };
  }
}
