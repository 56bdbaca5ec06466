// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "mutants/planted.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace belfry::testing {
namespace {

// From the list of CMake: "a", "b", ...
constexpr std::string_view kFaults[] = {BELFRY_FAULTS};

std::string_view chosen_fault() {
  const char* const name = std::getenv("BELFRY_TESTING_FAULT");
  if (name == nullptr) return {};
  const auto* const found = std::find(std::begin(kFaults), std::end(kFaults), name);
  if (found != std::end(kFaults)) return *found;
  std::fprintf(stderr, "BELFRY_TESTING_FAULT: no planted fault is named '%s'\n", name);
  std::_Exit(2);
}

}  // namespace

bool planted(std::string_view fault) {
  static const std::string_view chosen = chosen_fault();
  return fault == chosen;
}

namespace {

// Reads the variable although no guard is reached.
[[maybe_unused]] const bool kIsRead = planted("");

}  // namespace
}  // namespace belfry::testing
