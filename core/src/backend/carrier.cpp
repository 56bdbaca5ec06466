// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/carrier.h"

#include "belfry/error.h"

namespace belfry::detail {

Carrier& outer_replica_on(const Executor& executor) {
  Carrier* carrier = carrier_on(executor);
  check(carrier != nullptr && carrier->replica >= 0, "only a replica can wait");
  return *carrier;
}

void open_gate(Gate& gate) {
  const std::span<const Gate::Waiter> waiters = gate.waiters();
  for (std::size_t begin = 0; begin < waiters.size();) {
    std::size_t end = begin + 1;
    while (end < waiters.size() && waiters[end].run == waiters[begin].run) ++end;
    waiters[begin].run->admit(waiters.subspan(begin, end - begin));
    begin = end;
  }
  gate.waiters().clear();
}

}  // namespace belfry::detail
