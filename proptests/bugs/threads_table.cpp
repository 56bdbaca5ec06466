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

bool fails(const std::string& self, int number, const std::string& which) {
  const std::string command =
      "'" + self + "' run " + std::to_string(number) + " " + which + " > /dev/null 2>&1";
  return std::system(command.c_str()) != 0;
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
  std::cout
      << "| class | bug | effect | mutant reported | twin reported |\n|---|---|---|---|---|\n";
  std::map<Effect, int> found;
  int noise = 0;
  for (const Bug& bug : all_bugs()) {
    const bool mutant = fails(self, bug.number, "mutant");
    const bool twin = fails(self, bug.number, "twin");
    std::cout << "| " << bug.number << " | " << bug.name << " | " << to_string(bug.effect) << " | "
              << (mutant ? "yes" : "no") << " | " << (twin ? "yes" : "no") << " |\n";
    found[bug.effect] += mutant ? 1 : 0;
    noise += twin ? 1 : 0;
  }
  std::cout << '\n';
  for (const auto& [effect, count] : found) {
    std::cout << to_string(effect) << ": " << count << " mutants reported\n";
  }
  std::cout << "twins reported: " << noise << '\n';
}

}  // namespace belfry::bugs
