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

// Threads differ from run to run; fibers have the same schedule.
constexpr int kRunsOnThreads = 8;

// The number of runs that fail.
int failures(const std::string& self, int number, const char* which, const char* carrier,
             int runs) {
  const std::string command = "'" + self + "' run " + std::to_string(number) + " " + which + " " +
                              carrier + " > /dev/null 2>&1";
  int failed = 0;
  for (int run = 0; run < runs; ++run) failed += std::system(command.c_str()) != 0 ? 1 : 0;
  return failed;
}

struct Counts {
  int on_threads = 0;
  int on_fibers = 0;
};

Counts counts_of(const std::string& self, const Bug& bug, const char* which) {
  return {failures(self, bug.number, which, "threads", kRunsOnThreads),
          failures(self, bug.number, which, "fibers", 1)};
}

void add(const Counts& counts, Counts& programs) {
  programs.on_threads += counts.on_threads > 0 ? 1 : 0;
  programs.on_fibers += counts.on_fibers;
}

std::string text_of(const Counts& counts) {
  return std::to_string(counts.on_threads) + " on threads, " + std::to_string(counts.on_fibers) +
         " on fibers";
}

}  // namespace

int run_alone(int number, const std::string& which, const std::string& carrier) {
  for (const Bug& bug : all_bugs()) {
    if (bug.number != number) continue;
    sim::Options options{.devices = bug.devices, .seed = 7};
    if (carrier == "threads") options.carrier = sim::Carrier::kConcurrent;
    sim::Backend backend{options};
    try {
      for (const double value : bug.program(backend, which == "twin")) {
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
  std::cout << "| class | bug | effect | failures of the mutant, in " << kRunsOnThreads
            << " runs on threads and 1 on fibers | of the twin |\n|---|---|---|---|---|\n";
  std::map<Effect, Counts> mutants;
  Counts twins;
  for (const Bug& bug : all_bugs()) {
    const Counts mutant = counts_of(self, bug, "mutant");
    const Counts twin = counts_of(self, bug, "twin");
    std::cout << "| " << bug.number << " | " << bug.name << " | " << to_string(bug.effect) << " | "
              << text_of(mutant) << " | " << text_of(twin) << " |" << std::endl;
    add(mutant, mutants[bug.effect]);
    add(twin, twins);
  }
  std::cout << '\n';
  for (const auto& [effect, programs] : mutants) {
    std::cout << to_string(effect) << ", mutants with a failure: " << text_of(programs) << '\n';
  }
  std::cout << "twins with a failure: " << text_of(twins) << '\n';
}

}  // namespace belfry::bugs
