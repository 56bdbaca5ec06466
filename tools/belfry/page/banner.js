// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Levels that tell of no mistake.
const LEVELS = {
  CERTIFIED: ["good", "Certified: every schedule has the same outcome"],
  SAMPLED: ["doubt", "Sampled: the schedules that ran have one outcome; a condition is not met"],
};

// The verdict or the error, and what the reader of the page must know about the trace.
class Banner {
  constructor(box, trace, history, choose) {
    Object.assign(this, { box, trace, history, choose });
  }

  show() {
    const { header, files } = this.trace;
    const where = header.backend === "sim" ? "the simulator" : header.backend ?? "";
    const replicas = files.reduce((sum, file) => sum + (file.header.replicas ?? 0), 0);
    const parts = [count(replicas, "replica"),
                   this.trace.isJob ? `${files.length} processes` : count(header.hosts ?? 1, "host"),
                   where, count(this.trace.steps.length, "step")];
    const title = element("p", { class: "run" }, element("strong", {}, header.program || "A run"),
                          ` · ${parts.filter(Boolean).join(" · ")}`);
    document.title = `${header.program || "belfry"}: a run, step by step`;
    this.box.replaceChildren(...this.outcome(), ...this.remarks(), title, ...this.again());
  }

  outcome() {
    const { failures, files } = this.trace;
    const verdicts = files.map((file) => file.verdict).filter((verdict) => LEVELS[verdict?.level]);
    if (failures.length + verdicts.length) {
      return [...failures.map((text) => this.failure(text)), ...verdicts.map(this.verdict)];
    }
    if (!files.every((file) => file.end)) {
      return [element("h1", { class: "doubt" }, "The trace stops before its end.")];
    }
    const differs = this.history.differences.length > 0;
    return [element("h1", { class: differs ? "doubt" : "good" },
                    `The program ran without an error${differs ? ", but replicas differ" : ""}.`)];
  }

  failure(text) {
    const [first, ...rest] = text.split("\n");
    return element("div", { class: "bad" }, element("h1", {}, first),
                   rest.length ? element("pre", {}, rest.join("\n")) : null);
  }

  verdict({ level, schedules, conditions }) {
    const [kind, text] = LEVELS[level];
    const broken = (conditions ?? []).filter((condition) => !condition.holds);
    return element("div", { class: kind },
        element("h1", {}, `${text} (${count(schedules ?? 0, "schedule")} ran).`),
        ...broken.map(({ name, evidence }) => element("p", {}, `Not met: ${name}. ${evidence}`)));
  }

  owner(file) {
    return this.trace.isJob ? ` of process ${file.process}` : "";
  }

  // Differences between replicas with links, lines that are left out, an end that is missing.
  remarks() {
    const { files } = this.trace;
    const sum = (member) => files.reduce((all, file) => all + (file.page[member] ?? 0), 0);
    const remarks = this.history.differences.slice(0, 5).map((found) => element(
        "p", { class: "differs" }, `${found.text} `,
        element("button", { type: "button", onclick: () => this.choose(found.place) }, "Show")));
    const add = (text) => remarks.push(element("p", { class: "doubt" }, text));
    if (this.history.differences.length > 5) {
      add(`${count(this.history.differences.length - 5, "more difference")} not listed.`);
    }
    if (sum("left_out")) {
      const total = sum("total").toLocaleString("en"), left = sum("left_out").toLocaleString("en");
      add(`This page shows ${count(this.trace.steps.length, "step")} of ${total}; ${left} are left out. ` +
          "`belfry view --from STEP` shows later ones.");
    }
    for (const file of files) {
      for (const note of file.page.notes ?? []) add(`Note${this.owner(file)}: ${note}.`);
    }
    return remarks;
  }

  again() {
    const rows = this.trace.files.flatMap((file) => [
      ["options", file.header.options], ["replay token", file.end?.token], ["hash", file.end?.hash],
    ].map(([name, text]) => [name + this.owner(file), text]));
    const shown = rows.filter(([, text]) => text);
    if (!shown.length) return [];
    const list = element("dl", {});
    for (const [name, text] of shown) {
      list.append(element("dt", {}, name), element("dd", {}, element("code", {}, text)));
    }
    return [element("details", {}, element("summary", {}, "Run it again"), list)];
  }
}
