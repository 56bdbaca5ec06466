// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

const LEVELS = {
  CERTIFIED: ["good", "Certified: every schedule has the same outcome"],
  RACY: ["bad", "Race: two accesses have no order"],
  REFUTED: ["bad", "Refuted: two schedules have two outcomes"],
  SAMPLED: ["doubt", "Sampled: the schedules that ran have one outcome; a condition is not met"],
  NONE: ["bad", "No verdict: the program does not repeat"],
};

// `train.cpp:12` of a place with folders.
const fileOf = (place) => String(place).replace(/^.*\//, "");

// The verdict or the error, and what the reader of the page must know about the trace.
class Banner {
  constructor(box, trace, history, choose) {
    Object.assign(this, { box, trace, history, choose });
  }

  show() {
    const { header } = this.trace;
    const where = header.backend === "sim" ? "the simulator" : header.backend ?? "";
    const parts = [count(header.replicas ?? 0, "replica"), count(header.hosts ?? 1, "host"), where,
                   count(this.trace.steps.length, "step")];
    const title = element("p", { class: "run" }, element("strong", {}, header.program || "A run"),
                          ` · ${parts.filter(Boolean).join(" · ")}`);
    document.title = `${header.program || "belfry"}: a run, step by step`;
    this.box.replaceChildren(...this.outcome(), ...this.remarks(), title, ...this.again());
  }

  outcome() {
    const { failure, verdict, end } = this.trace;
    const shown = [];
    if (failure) shown.push(this.failure(failure));
    if (verdict) shown.push(this.verdict(verdict));
    if (shown.length) return shown;
    if (!end) return [element("h1", { class: "doubt" }, "The trace stops before its end.")];
    const differs = this.history.differences.length > 0;
    return [element("h1", { class: differs ? "doubt" : "good" },
                    `The program ran without an error${differs ? ", but replicas differ" : ""}.`)];
  }

  failure(failure) {
    const [first, ...rest] = String(failure.text ?? "").split("\n");
    const code = failure.code && !first.startsWith(failure.code) ? `${failure.code} ` : "";
    const box = element("div", { class: "bad" }, element("h1", {}, `Error ${code}${first}`));
    if (rest.length) box.append(element("pre", {}, rest.join("\n")));
    const replicas = failure.replicas ?? [], lines = failure.lines ?? [];
    if (!rest.length && (replicas.length || lines.length)) {
      const parts = failure.parts ?? [];
      const both = replicas.map((n, i) => `replica ${n}${lines[i] ? ` at ${fileOf(lines[i])}` : ""}` +
          (parts[i] ? `: ${parts[i]}` : ""));
      for (const text of both.length ? both : lines) box.append(element("p", {}, text));
    }
    if (failure.hint && !rest.some((line) => line.includes(failure.hint))) {
      box.append(element("p", {}, `Hint: ${failure.hint}`));
    }
    return box;
  }

  verdict(verdict) {
    const [kind, text] = LEVELS[verdict.level] ?? ["doubt", String(verdict.level)];
    const box = element("div", { class: kind }, element("h1", {},
        `${text} (${count(verdict.schedules ?? 0, "schedule")} ran).`));
    const add = (line) => box.append(element("p", {}, line));
    if (verdict.difference) add(verdict.difference);
    for (const race of verdict.races ?? []) {
      add(`${race.subject}: ${["first", "second"].map((side) => `${race[side]?.agent} ` +
          `${race[side]?.operation} at ${fileOf(race[side]?.place)}`).join("; ")}. ${race.missing}`);
    }
    if (verdict.level === "CERTIFIED") return box;
    for (const { outcome, token } of verdict.outcomes ?? []) add(`Outcome: ${outcome} (${token})`);
    for (const condition of verdict.conditions ?? []) {
      if (!condition.holds) add(`Not met: ${condition.name}. ${condition.evidence}`);
    }
    return box;
  }

  // Differences between replicas with links, lines that are left out, an end that is missing.
  remarks() {
    const { page } = this.trace;
    const remarks = this.history.differences.slice(0, 5).map((found) => element(
        "p", { class: "differs" }, `${found.text} `,
        element("button", { type: "button", onclick: () => this.choose(found.place) }, "Show")));
    const add = (text) => remarks.push(element("p", { class: "doubt" }, text));
    if (this.history.differences.length > 5) {
      add(`${count(this.history.differences.length - 5, "more difference")} not listed.`);
    }
    if (page.left_out) {
      const total = page.total.toLocaleString("en"), left = page.left_out.toLocaleString("en");
      add(`This page shows ${count(this.trace.steps.length, "step")} of ${total}; ${left} are left out. ` +
          "`belfry view --from STEP` shows later ones.");
    }
    for (const note of page.notes ?? []) add(`Note: ${note}.`);
    return remarks;
  }

  again() {
    const { header, end } = this.trace;
    const rows = [["options", header.options], ["replay token", end?.token], ["hash", end?.hash]];
    const shown = rows.filter(([, text]) => text);
    if (!shown.length) return [];
    const list = element("dl", {});
    for (const [name, text] of shown) {
      list.append(element("dt", {}, name), element("dd", {}, element("code", {}, text)));
    }
    return [element("details", {}, element("summary", {}, "Run it again"), list)];
  }
}
