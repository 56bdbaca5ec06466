// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

// Explored bodies with errors inside, where the compiler's own errors come and none of belfry, and
// bodies with wrong parameters. Each section fails; the rest compiles.
#include "belfry/sim/explore.h"
#include "belfry/sim/explore_program.h"

namespace belfry {

void explored(int count) {
  sim::explore({.devices = 2}, [&](sim::Backend&) { return count; });
  sim::explore_program([calls = 0]() mutable { return ++calls; });
#ifdef EXPLORE_WITH_A_TYPO
  // TYPO: 'cuont'
  const auto verdict = sim::explore({.devices = 2}, [&](sim::Backend&) { return cuont; });
  static_cast<void>(explain(verdict));
#endif
#ifdef EXPLORE_OF_A_GENERIC_BODY_WITH_A_WRONG_MEMBER
  // ALL: no member named 'device_cuont'
  sim::explore({.devices = 2}, [&](auto& backend) { return backend.device_cuont(); });
#endif
#ifdef EXPLORE_WITHOUT_A_BACKEND
  // FIRST: write \[&\]\(sim::Backend& backend\) \{...\}
  sim::explore({.devices = 2}, [&] { return count; });
#endif
#ifdef EXPLORE_A_PROGRAM_WITHOUT_A_CAPTURE
  // TYPO: count.*captured
  sim::explore_program([] { return count; });
#endif
#ifdef EXPLORE_A_PROGRAM_WITH_A_PARAMETER
  // FIRST: explore_program calls program\(\): write \[&\] \{...\}
  sim::explore_program([](int) { return 1; });
#endif
}

}  // namespace belfry
