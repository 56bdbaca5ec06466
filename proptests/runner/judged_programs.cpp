// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Runs a watched program, or judges the whole program. The program is its `main`, and the printed
// text is its outcome. A table has the expected verdicts:
//   PROGRAM FILE:LINE COUNT LEVEL | CONDITION at FILE:LINE ...
// with a row for the backends that the program makes at a line and that have equal verdicts, and
// the conditions that are not met. In a row with the name NAME.fixed, std::random_device draws
// 0, 1, 2, ...: the option --wrap of the linker replaces its draws.
//
//     RUNNER PROGRAM [argument ...]
//     RUNNER --judge PROGRAM ROW TABLE
#include "belfry/sim/explore_program.h"
#include "runner/entry.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace belfry::testing {

// The linker's names of the wrapped function and of its replacement.
unsigned draw(void* device) __asm__("__real__ZNSt13random_device9_M_getvalEv");
unsigned draw_or_count(void* device) __asm__("__wrap__ZNSt13random_device9_M_getvalEv");

namespace {

// The draws of a run that are counted; nothing if draws are random.
std::optional<unsigned>& counted_draws() {
  static std::optional<unsigned> draws;
  return draws;
}

// Verdicts are equal if their rows are: `before` and `after` the number of backends.
struct Row {
  std::string before;
  int backends = 0;
  std::string after;

  std::string text() const { return before + ' ' + std::to_string(backends) + ' ' + after; }
};

// The printed text and the exit status. A program may leave a format behind.
std::string run_program(const Entry& program) {
  std::ostringstream output;
  if (counted_draws()) counted_draws() = 0;
  const std::ios format(nullptr);
  std::cout.copyfmt(format);
  std::streambuf* const console = std::cout.rdbuf(output.rdbuf());
  int status = 0;
  try {
    status = program.main(1, nullptr);
  } catch (...) {
    std::cout.rdbuf(console);
    throw;
  }
  std::cout.rdbuf(console);
  return output.str() + "status " + std::to_string(status);
}

// The first line of the program that the evidence against a condition names, ` at FILE:LINE`.
std::string place_of(const sim::VerdictReport& report, const sim::Condition& condition) {
  std::string evidence = condition.evidence;
  if (condition.name.ends_with("have an order") || condition.name.ends_with("writes")) {
    for (const sim::Race& race : report.races) evidence += ' ' + race.first.place;
  }
  static const std::regex place("[a-z0-9_]+\\.(cpp|h):[0-9]+");
  std::smatch found;
  return std::regex_search(evidence, found, place) ? " at " + found.str() : "";
}

std::string judgement(const sim::VerdictReport& report) {
  std::string text = to_string(report.level);
  if (report.level == sim::VerdictLevel::kNone) {
    const bool differs = report.difference.starts_with("two runs of one schedule");
    return text + " | " + (differs ? "the body repeats" : report.difference);
  }
  for (const sim::Condition& condition : report.conditions) {
    if (!condition.holds) text += " | " + condition.name + place_of(report, condition);
  }
  return text;
}

std::vector<Row> rows_of(const std::string& program,
                         const std::vector<sim::JudgedBackend>& judged) {
  std::vector<Row> rows;
  for (const sim::JudgedBackend& backend : judged) {
    const std::string before = program + ' ' + to_string(backend.site);
    const std::string after = judgement(backend.verdict.report());
    const auto equal = [&](const Row& row) { return row.before == before && row.after == after; };
    const auto known = std::ranges::find_if(rows, equal);
    if (known == rows.end()) {
      rows.push_back({before, 1, after});
    } else {
      ++known->backends;
    }
  }
  if (rows.empty()) rows.push_back({program + " -", 0, "no backend of the simulator"});
  return rows;
}

// The lines of the table about `program`.
std::vector<std::string> expected_rows(const std::string& table, const std::string& program) {
  std::ifstream file(table);
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(program + ' ')) rows.push_back(line);
  }
  return rows;
}

// The exit status.
int judge(const Entry& program, const std::string& row, const std::string& table) {
  const std::vector<std::string> expected = expected_rows(table, row);
  if (row.ends_with(".fixed")) counted_draws() = 0;
  const auto judged = sim::explore_program([&] { return run_program(program); });
  std::vector<std::string> found;
  for (const Row& each : rows_of(row, judged)) found.push_back(each.text());
  if (found == expected) return 0;
  for (const sim::JudgedBackend& backend : judged) {
    std::cout << to_string(backend.site) << ": " << explain(backend.verdict) << '\n';
  }
  std::cout << "the table has\n";
  for (const std::string& each : expected) std::cout << each << '\n';
  std::cout << "and the verdicts are\n";
  for (const std::string& each : found) std::cout << each << '\n';
  return 1;
}

}  // namespace

unsigned draw_or_count(void* device) {
  return counted_draws() ? (*counted_draws())++ : draw(device);
}

}  // namespace belfry::testing

using namespace belfry::testing;

int main(int count, char** arguments) {
  const std::string first = count > 1 ? arguments[1] : "";
  if (first != "--judge") return entry_of(first).main(count - 1, arguments + 1);
  if (count != 5) {
    std::cerr << "usage: " << arguments[0] << " --judge PROGRAM ROW TABLE\n";
    return 2;
  }
  return judge(entry_of(arguments[2]), arguments[3], arguments[4]);
}
