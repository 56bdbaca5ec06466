// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/process_listeners.h"

#include "belfry/detail/process_exchange.h"

namespace belfry::detail {

bool has_listeners(const StrategyCore& core) {
  return core.processes() != nullptr && core.processes()->has_listeners();
}

void require_no_listener(const StrategyCore& core, const char* what, CallSite site) {
  if (core.processes() != nullptr) core.processes()->require_no_listener(what, site);
}

void require_heard(const StrategyCore& core, const VariableInfo& info, CallSite site) {
  if (info.synchronization == Synchronization::kOnWrite) return;
  require_no_listener(core, "an update of a replica-local variable", site);
}

void exchange_new_value(StrategyCore& core, const Bytes& value, CallSite site) {
  core.processes()->values_of_speakers(kNewValue, site, value);
  core.processes()->values_of_speakers(kPutValue, site, {});
}

void ask_for_components(StrategyCore& core, const VariableInfo& info, CallSite site) {
  ByteWriter out;
  out.put(info.number);
  core.processes()->values_of_speakers(kComponents, site, out.bytes());
}

}  // namespace belfry::detail
