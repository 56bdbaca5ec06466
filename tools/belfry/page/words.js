// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

const MOST_ELEMENTS = 4;

// Makes an element. Texts become text nodes, and never HTML.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") made.addEventListener("click", value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// Makes a part of a drawing.
function drawn(tag, attributes) {
  const made = document.createElementNS(document.querySelector("svg").namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

const numberText = (number) => typeof number === "number" && !Number.isInteger(number)
    ? String(Number(number.toPrecision(4))) : String(number);

// `float32`, `float32[2×3]`.
function typeText(value) {
  return (value.type ?? "value") + (value.shape?.length ? `[${value.shape.join("×")}]` : "");
}

// `[1, 2]`, `3`, `[1, 2, 3, ...] of 64`; of a value that is not known its type and shape.
function valueText(value) {
  let text = value.text ?? typeText(value);
  if (value.first) {
    const shown = value.first.slice(0, MOST_ELEMENTS).map(numberText);
    const count = value.count ?? value.first.length;
    if (count > shown.length) shown.push("…");
    text = value.shape?.length || count > 1 ? `[${shown.join(", ")}]` : shown.join("");
    if (count > MOST_ELEMENTS) text += ` of ${count}`;
  }
  return value.leaf ? `${value.leaf}: ${text}` : text;
}

const valuesText = (values) => (values ?? []).map(valueText).join(", ");

const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

// Says what steps do in a few words. The sentences of steps come from `belfry explain`.
class Words {
  constructor(trace) {
    this.trace = trace;
  }

  // A step in a list.
  listed(step) {
    const isNamed = step.kind === "merge" || step.kind.startsWith("run_");
    return `step ${step.label}: ${isNamed ? "" : `${this.who(step)} `}${this.brief(step)}`;
  }

  // What a step is about: the name with the reduction.
  subject(step) {
    const name = step.name || (step.kind === "execute" ? "work" : "");
    return step.op ? `${name} (${step.op})` : name;
  }

  stream(step) {
    return this.trace.agents.get(step.stream)?.name ?? "a stream";
  }

  who(step) {
    const agent = this.trace.agentOf(step);
    if (agent.kind !== "merge") return agent.name;
    return step.merge?.title ?? "the merge";
  }

  writes(step, sign) {
    return step.writes?.length ? ` ${sign} ${valuesText(step.writes)}` : "";
  }

  ending(step) {
    return !step.failed ? "ends" : step.failed.code ? `fails: ${step.failed.code}` : "fails";
  }

  // A few words, beside the lane of the agent.
  brief(step) {
    const name = this.subject(step);
    const owner = step.replica === undefined ? "" : ` of replica ${step.replica}`;
    const variable =
        step.variable === undefined ? name : this.trace.variableName(step.variable) + owner;
    switch (step.kind) {
      case "run_begin": return `run ${step.run} begins`;
      case "run_end": return `run ${step.run} ${this.ending(step)}`;
      case "start": return "starts";
      case "end": return "ends";
      case "throw":
        return step.error === "cancelled" ? "is cancelled" : `throws ${step.error ?? name}`;
      case "arrive": return `brings ${valuesText(step.brings) || "nothing"}`;
      case "merge": return `${step.merge.title}: ${name}`;
      case "resume":
        if (step.gets?.length) return `gets ${valuesText(step.gets)}`;
        return step.merge ? "goes on" : `goes on after ${name}`;
      case "variable_read": return `reads ${variable}${this.writes(step, "=")}`;
      case "variable_write": return `writes ${variable}${this.writes(step, "=")}`;
      case "variable_made": return `makes ${variable}${this.writes(step, "=")}`;
      case "enqueue":
        return `enqueues ${name}` + (step.merge ? ` on ${this.stream(step)}` : "");
      case "execute":
      case "collective": return `runs ${name}${this.writes(step, "→")}`;
      case "record": return "records an event";
      case "wait":
        if (!step.stream) return `waits for ${name || "an event"}`;
        return `lets ${this.stream(step)} wait for ` +
            (this.trace.agents.get(step.for)?.name ?? "an event");
      case "host_read": return `reads ${valuesText(step.reads) || "a value"} from a device`;
      case "host_wait": return "waits for the device";
      case "host_value": return `keeps a value of the host${this.writes(step, "=")}`;
      case "allocate": return "allocates memory";
      case "free": return "frees memory";
      case "call": return `calls ${name}`;
      default: return `${String(step.kind).replaceAll("_", " ")} ${name}`.trim();
    }
  }
}
