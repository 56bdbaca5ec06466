// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

const WINDOW = 100;  // Rows that exist at once.

// The steps as a table, for screen readers: the rows around the selected step.
class StepTable {
  constructor(box, trace, layout, choose) {
    Object.assign(this, { trace, layout, choose });
    this.body = element("tbody");
    const head = element("tr", { "aria-rowindex": 1 });
    for (const title of ["Step", "What happens", "Waited for", "Source"]) {
      head.append(element("th", { scope: "col" }, title));
    }
    this.table = element("table", {}, element("caption", {}, "Steps; the arrow keys select one"),
                         element("thead", {}, head), this.body);
    box.append(this.table);
  }

  show(step) {
    const places = this.layout.places, row = this.layout.rowOf(step.place);
    const first = Math.max(Math.min(row - WINDOW / 2, places.length - WINDOW), 0);
    this.table.setAttribute("aria-rowcount", places.length + 1);
    this.body.replaceChildren(...places.slice(first, first + WINDOW).map(
        (place, i) => this.row(this.trace.steps[place], first + i + 2, place === step.place)));
    const chosen = this.body.querySelector("[aria-current]");
    if (this.table.offsetParent) chosen?.scrollIntoView({ block: "center" });
  }

  row(step, index, isChosen) {
    const waited = step.after.map((place) => this.trace.steps[place].label).join(", ");
    const cells = [step.words, waited, step.line ?? ""];
    return element("tr", { "aria-rowindex": index, "aria-current": isChosen ? "true" : null,
                                 onclick: () => this.choose(step.place) },
                         element("th", { scope: "row" }, step.label),
                         ...cells.map((text) => element("td", {}, text)));
  }
}
