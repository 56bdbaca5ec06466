// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "runner/entry.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace belfry::testing {

std::vector<const Entry*>& entries() {
  static std::vector<const Entry*> entries;
  return entries;
}

const Entry& entry_of(const std::string& name) {
  const auto found = std::ranges::find(entries(), name, &Entry::name);
  if (found != entries().end()) return **found;
  std::cerr << "no program is named '" << name << "'; the programs are\n";
  for (const Entry* entry : entries()) std::cerr << "  " << entry->name << '\n';
  std::exit(2);
}

}  // namespace belfry::testing
