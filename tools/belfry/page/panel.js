// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

const MOST_STATES = 16, MOST_VARIABLES = 40;

// The selected step, and the state after it.
class Panel {
  constructor(box, trace, history, words, sources, choose) {
    Object.assign(this, { box, trace, history, words, sources, choose });
  }

  show(step) {
    const parts = [this.about(step), this.states(step), this.merge(step), this.variables(step),
                   this.source(step), this.order(step)];
    this.box.replaceChildren(...parts.filter(Boolean));
  }

  section(title, ...children) {
    return element("section", {}, element("h2", {}, title), ...children);
  }

  about(step) {
    const about = element("section", {}, element("h2", {}, `Step ${step.label}`),
                          element("p", { class: "sentence" }, step.words));
    for (const name of ["brings", "gets", "reads", "writes"]) {
      for (const value of step[name] ?? []) {
        if (!(value.known?.place > step.place)) continue;
        about.append(element("p", { class: "value" },
                             `${name} ${valueText(value)}, computed by step ${value.known.label}`));
      }
    }
    if (typeof step.failed === "object" && step.failed.text) {
      about.append(element("pre", { class: "bad" }, step.failed.text));
    }
    return about;
  }

  states(step) {
    const rows = [];
    for (const agent of this.trace.agents.values()) {
      if (agent.kind !== "replica" && agent.kind !== "stream") continue;
      const state = this.history.statusAt(agent, step.place, this.words);
      const runs = this.trace.header.backend === "sim" && state.text !== "is idle";
      if (agent.kind === "stream" && !runs) continue;
      const kind = state.waits ? "waits" : state.bad ? "bad" : "";
      rows.push(element("tr", {}, element("th", { scope: "row" }, agent.name),
                        element("td", { class: kind }, state.text)));
    }
    if (!rows.length) return null;
    const left = rows.length - MOST_STATES;
    if (left > 0) rows.splice(MOST_STATES, left, element("tr", {}, element("td", { colspan: 2 },
        `and ${count(left, "more lane")}`)));
    return this.section("What each does now", element("table", {}, ...rows));
  }

  merge(step) {
    const merge = step.merge;
    if (!merge) return null;
    const rows = merge.arrivals.map((place) => {
      const arrival = this.trace.steps[place];
      const back = this.history.backOf(merge, arrival.agent);
      return element("tr", {}, element("th", { scope: "row" }, this.trace.agentOf(arrival).name),
                     element("td", {}, valuesText(arrival.brings) || "—"),
                     element("td", { class: merge.differs ? "bad" : "" },
                             back ? valuesText(back.gets) || "—" : "not yet"));
    });
    const head = element("tr", {}, ...["", "brings", "gets"].map(
        (text) => element("th", { scope: "col" }, text)));
    return this.section(`${merge.title}: ${merge.name ?? ""}`,
                        element("table", {}, head, ...rows));
  }

  variables(step) {
    const blocks = [];
    for (const [number, copies] of this.history.copies) {
      if (blocks.length === MOST_VARIABLES) break;
      const block = this.variable(number, copies, step);
      if (block) blocks.push(block);
    }
    const left = this.history.copies.size - MOST_VARIABLES;
    if (left > 0) blocks.push(element("p", {}, `${count(left, "more variable")} not shown.`));
    return blocks.length ? this.section("Variables after this step", ...blocks) : null;
  }

  variable(number, copies, step) {
    const about = this.trace.variables.get(number) ?? {};
    const rows = this.rowsOf(copies, step);
    if (!rows.length) return null;
    const differs = this.history.differsAt(number, step.place);
    const kind = (about.kind ?? "").replace("_", "-");
    const changed = rows.some((row) => row.changed);
    return element("div", { class: `variable${changed ? " changed" : ""}${differs ? " differs" : ""}` },
                   element("h3", {}, this.trace.variableName(number),
                           element("span", { class: "faint" }, ` ${kind} ${about.type ? typeText(about) : ""}`)),
                   differs ? element("p", { class: "bad" }, "The copies differ.") : null,
                   element("table", {}, ...rows.map((row) => row.made)));
  }

  // A row for each group of replicas with equal copies.
  rowsOf(copies, step) {
    const groups = new Map();
    for (const [replica, writes] of copies) {
      const { now, before } = this.history.copyAt(writes, step.place);
      if (!now) continue;
      const changed = now.place === step.place;
      const pending = now.value.known?.place > step.place;
      const isKnown = now.value.first || now.value.text;
      const text = pending ? "not computed yet"
          : isKnown ? valueText(now.value) : `written ${count(now.version ?? 1, "time")}`;
      const key = `${now.version}|${now.value.digest ?? text}|${changed}|${pending}`;
      if (!groups.has(key)) groups.set(key, { names: [], text, changed, before });
      groups.get(key).names.push(this.trace.agents.get(replica).name);
    }
    return [...groups.values()].map(({ names, text, changed, before }) => {
      const who = names.length > 2 && names.length === copies.size ? `all ${names.length} replicas`
                                                                   : names.join(", ");
      const was = changed && before ? `, was ${valueText(before.value)}` : "";
      return { changed, made: element("tr", {}, element("th", { scope: "row" }, who),
          element("td", {}, changed ? element("mark", {}, text) : text,
                  changed ? element("span", { class: "faint" }, was || ", new") : null)) };
    });
  }

  source(step) {
    if (!step.line) return null;
    const lines = this.sources[step.line];
    const indents = (lines ?? []).filter(([, text]) => text).map(([, text]) => text.search(/\S|$/));
    const code = element("pre", { class: "code" });
    for (const [number, text] of lines ?? []) {
      const isThis = step.line.endsWith(`:${number}`);
      code.append(element("span", isThis ? { class: "here" } : {},
                          `${String(number).padStart(4)}  ${text.slice(Math.min(...indents))}`));
    }
    return this.section("Source", element("p", { class: "place" }, step.line), lines ? code : null);
  }

  order(step) {
    const lists = [["It waited for", step.after.map((place) => this.trace.steps[place])],
                   ["These waited for it", this.history.waitersOf(step)]];
    const children = lists.filter(([, steps]) => steps.length).map(([title, steps]) => element(
        "div", {}, element("h3", {}, title), element("ul", {}, ...steps.slice(0, MOST_STATES).map(
            (other) => element("li", {}, this.link(other))))));
    return children.length ? this.section("Order", ...children) : null;
  }

  link(step) {
    return element("button", { type: "button", class: "link", onclick: () => this.choose(step.place) },
                   this.words.listed(step));
  }
}
