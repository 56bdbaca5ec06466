// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Undoes the packing of packed_text.h: `~`, a digit for the length, three for the distance.
function unpacked(packed) {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const value = new Uint8Array(128);
  for (let i = 0; i < 64; ++i) value[digits.charCodeAt(i)] = i;
  const digit = (i) => value[packed.charCodeAt(i) & 127];
  let size = 0;
  for (let i = 0; i < packed.length; ++i) {
    const refers = packed.charCodeAt(i) === 126;
    size += refers ? digit(i + 1) + 6 : 1;
    if (refers) i += 4;
  }
  const bytes = new Uint8Array(size);
  let end = 0;
  for (let i = 0; i < packed.length; ++i) {
    const code = packed.charCodeAt(i);
    if (code !== 126) {
      bytes[end++] = code;
      continue;
    }
    const distance = (digit(i + 2) << 12) | (digit(i + 3) << 6) | digit(i + 4);
    for (let left = digit(i + 1) + 6; left > 0; --left, ++end) bytes[end] = bytes[end - distance];
    i += 4;
  }
  return new TextDecoder().decode(bytes);
}

const ORDER = ["host", "replica", "merge", "stream"];

// The order of lanes: hosts, and on each the replicas before the streams.
function byLane(a, b) {
  return (a.host ?? 0) - (b.host ?? 0) || ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) ||
      a.index - b.index;
}

// The lines of a trace. A step has a `place`, its index in `steps`; its number is `step`.
class Trace {
  constructor(text) {
    this.header = {};
    this.agents = new Map();
    this.variables = new Map();
    this.steps = [];
    this.failure = null;
    this.verdict = null;
    this.end = null;
    this.page = {};    // What `belfry view` says about the lines that it left out.
    this.places = new Map();
    for (const line of text.split("\n")) {
      if (line !== "") this.read(line);
    }
    this.agents = new Map([...this.agents].sort(([, a], [, b]) => byLane(a, b)));
    for (const step of this.steps) {
      step.after = (step.after ?? []).map((n) => this.places.get(n)).filter((p) => p !== undefined);
    }
    if (!this.failure) this.failure = this.failureOfRun();
  }

  read(line) {
    const read = JSON.parse(line);
    if ("step" in read) this.addStep(read);
    else if ("value_of" in read) this.addValue(read);
    else if ("agent" in read) this.agents.set(read.agent, { ...read, id: read.agent });
    else if ("variable" in read) this.variables.set(read.variable, read);
    else if ("belfry_trace" in read) this.header = read;
    else if ("failure" in read) this.failure = read.failure;
    else if ("verdict" in read) this.verdict = read.verdict;
    else if ("page" in read) this.page = read.page;
    else if ("end" in read) this.end = read;
  }

  addStep(step) {
    step.place = this.steps.length;
    if (!this.agents.has(step.agent)) {
      const unknown = { id: step.agent, name: String(step.agent), kind: "host", index: 0, host: 0 };
      this.agents.set(step.agent, unknown);
    }
    this.places.set(step.step, step.place);
    this.steps.push(step);
  }

  // A value that became known after the line of its step.
  addValue(line) {
    const step = this.steps[this.places.get(line.value_of)];
    const value = step?.[line.list]?.[line.index];
    if (!value) return;
    Object.assign(value, { first: line.first, digest: line.digest });
    value.known = this.steps.length - 1;
  }

  failureOfRun() {
    const failed = this.steps.find((step) => step.kind === "run_end" && step.failed);
    if (!failed) return null;
    return typeof failed.failed === "object" ? failed.failed : { text: "a run failed" };
  }

  agentOf(step) {
    return this.agents.get(step.agent);
  }

  variableName(number) {
    return this.variables.get(number)?.name || `variable ${number}`;
  }
}
