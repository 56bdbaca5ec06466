// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// A table of small programs, and the accesses that a watch sees in each. Exits with 1 if a row
// differs.
#include "replicas.h"

#include <cstdio>

int main() {
  if (!belfry::sim::watch::linked()) {
    std::puts("the program has no watch");
    return 1;
  }
  int failed = 0;
  int count = 0;
  for (const auto& cases :
       {memory_cases(), owner_cases(), call_cases(), language_cases(), exception_cases(),
        container_cases(), stream_cases(), tensor_cases(), pointer_cases()}) {
    for (const Case& row : cases) {
      ++count;
      const auto [seen, expected] = row.run();
      if (seen == expected) continue;
      ++failed;
      std::printf("%s:\n  expected '%s'\n  seen     '%s'\n", row.name, expected.c_str(),
                  seen.c_str());
    }
  }
  std::printf("%d rows, %d differ\n", count, failed);
  return failed == 0 ? 0 : 1;
}
