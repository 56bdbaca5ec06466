// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "threads_table.h"

#include "bug.h"

#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <string>

namespace belfry::bugs {
namespace {

constexpr int kRuns = 8;

// The number of runs that fail.
int failures(const std::string& self, int number, const std::string& which) {
  const std::string command =
      "'" + self + "' run " + std::to_string(number) + " " + which + " > /dev/null 2>&1";
  int failed = 0;
  for (int run = 0; run < kRuns; ++run) failed += std::system(command.c_str()) != 0 ? 1 : 0;
  return failed;
}

}  // namespace

int run_on_threads(int number, const std::string& which) {
  for (const Bug& bug : all_bugs()) {
    if (bug.number != number) continue;
    sim::Backend backend{{.devices = bug.devices, .carrier = sim::Carrier::kConcurrent}};
    try {
      for (const double value : (which == "twin" ? bug.twin : bug.mutant)(backend)) {
        std::cout << value << '\n';
      }
    } catch (const std::exception& exception) {
      std::cout << exception.what() << '\n';
    }
    return EXIT_SUCCESS;
  }
  std::cerr << "no bug " << number << '\n';
  return EXIT_FAILURE;
}

void print_threads_table(const std::string& self) {
  std::cout << "| class | bug | effect | failures of the mutant in " << kRuns
            << " runs | of the twin |\n|---|---|---|---|---|\n";
  std::map<Effect, int> found;
  int noise = 0;
  for (const Bug& bug : all_bugs()) {
    const int mutant = failures(self, bug.number, "mutant");
    const int twin = failures(self, bug.number, "twin");
    std::cout << "| " << bug.number << " | " << bug.name << " | " << to_string(bug.effect) << " | "
              << mutant << " | " << twin << " |\n";
    found[bug.effect] += mutant > 0 ? 1 : 0;
    noise += twin > 0 ? 1 : 0;
  }
  std::cout << '\n';
  for (const auto& [effect, count] : found) {
    std::cout << to_string(effect) << ": " << count << " mutants with a failure\n";
  }
  std::cout << "twins with a failure: " << noise << '\n';
}

}  // namespace belfry::bugs
