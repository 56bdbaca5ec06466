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

// The lines of a trace, or of the traces of a job, which follow each other. A step has a `place`, its
// index in `steps`, and a `label`: its number, in a job PROCESS:STEP.
class Trace {
  constructor(text) {
    this.files = [];   // {process, header, verdict, end, page} of each trace.
    this.agents = new Map();
    this.variables = new Map();
    this.steps = [];
    this.places = new Map();  // By label.
    for (const line of text.split("\n")) {
      if (line !== "") this.read(line);
    }
    this.isJob = this.files.length > 1;
    if (this.isJob) this.nameProcesses();
    this.agents = new Map([...this.agents].sort(([, a], [, b]) => byLane(a, b)));
    this.steps.forEach((step, place) => this.name(step, place));
    for (const step of this.steps) {
      step.after = (step.after ?? []).map((n) => this.places.get(this.labelOf(step.file, n)))
                       .filter((p) => p !== undefined);
    }
  }

  get header() {
    return this.files[0].header;
  }

  read(line) {
    const read = JSON.parse(line), file = this.files.at(-1);
    if ("step" in read) this.addStep(read, file);
    else if ("value_of" in read) this.addValue(read, file);
    else if ("agent" in read) this.addAgent(read, file);
    else if ("variable" in read) this.addVariable(read, file);
    else if ("belfry_trace" in read) this.addFile(read);
    else if ("process" in read) file.process = read.process;
    else if ("end" in read) file.end = read;
    else if ("words" in read) this.tell(read);
    else if ("verdict" in read) file.verdict = read.verdict;
    else if ("page" in read) file.page = read.page;
  }

  addFile(header) {
    const prefix = this.files.length ? `${this.files.length}:` : "";  // Of ids.
    this.files.push({ header, prefix, process: header.process ?? 0, page: {}, steps: new Map(),
                      variables: new Map() });
  }

  addAgent(read, file) {
    const id = file.prefix + read.agent;
    this.agents.set(id, { ...read, id, file });
  }

  // Processes of a job make the same variables.
  addVariable(read, file) {
    const known = this.variables.get(read.variable);
    const key = known && known.name !== read.name ? file.prefix + read.variable : read.variable;
    file.variables.set(read.variable, key);
    this.variables.set(key, read);
  }

  addStep(step, file) {
    step.file = file;
    for (const member of ["agent", "stream", "for"]) {
      if (step[member] !== undefined) step[member] = file.prefix + step[member];
    }
    if (step.variable !== undefined) {
      step.variable = file.variables.get(step.variable) ?? step.variable;
    }
    if (!this.agents.has(step.agent)) {
      this.addAgent({ agent: step.agent.slice(file.prefix.length), name: step.agent, kind: "host",
                      index: 0, host: 0 }, file);
    }
    file.steps.set(step.step, step);
    this.steps.push(step);
  }

  // A value that became known after the line of its step.
  addValue(line, file) {
    const value = file.steps.get(line.value_of)?.[line.list]?.[line.index];
    if (!value) return;
    Object.assign(value, { first: line.first, digest: line.digest });
    value.known = this.steps.at(-1);
  }

  nameProcesses() {
    for (const agent of this.agents.values()) {
      agent.host = agent.file.process;
      agent.name = agent.kind === "host" ? `process ${agent.host}`
                                         : `${agent.name} of process ${agent.host}`;
    }
  }

  // Failures, and of all files the order of the steps, with their words.
  tell({ order, words, failures }) {
    this.failures = failures;
    const next = this.files.map((file) => file.steps.values());
    this.steps = order.map((file) => next[file].next().value);
    this.steps.forEach((step, place) => { step.words = words[place]; });
  }

  labelOf(file, number) {
    return this.isJob ? `${file.process}:${number}` : String(number);
  }

  name(step, place) {
    step.place = place;
    step.label = this.labelOf(step.file, step.step);
    this.places.set(step.label, place);
  }

  agentOf(step) {
    return this.agents.get(step.agent);
  }

  variableName(number) {
    return this.variables.get(number)?.name || `variable ${number}`;
  }
}
