// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/carrier.h"

#include "belfry/error.h"

#include <algorithm>

namespace belfry::detail {

Carrier& outer_replica_on(const Executor& executor) {
  Carrier* carrier = carrier_on(executor);
  check(carrier != nullptr && carrier->replica >= 0, "only a replica can wait");
  return *carrier;
}

void open_gate(Gate& gate) {
  std::span<const Gate::Waiter> waiters = gate.waiters();
  while (!waiters.empty()) {
    Run* const run = waiters.front().run;
    const auto end = std::ranges::find_if(
        waiters, [run](const Gate::Waiter& waiter) { return waiter.run != run; });
    run->admit({waiters.begin(), end});
    waiters = {end, waiters.end()};
  }
  gate.waiters().clear();
}

}  // namespace belfry::detail
