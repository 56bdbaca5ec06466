// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/process_listeners.h"

#include "belfry/detail/process_exchange.h"

namespace belfry::detail {

bool has_listeners(const StrategyCore& core) {
  return core.processes() != nullptr && core.processes()->has_listeners();
}

Participants replicas_of_speakers(const StrategyCore& core) {
  if (!has_listeners(core)) return Participants(core.size());
  return {core.size(), core.processes()->replicas_of(false)};
}

void require_no_listener(const StrategyCore& core, const char* what, CallSite site) {
  if (core.processes() != nullptr) core.processes()->require_no_listener(what, site);
}

void send_new_value(StrategyCore& core, const Bytes& value, CallSite site) {
  core.processes()->values_of_speakers(kNewValue, site, value);
}

void put_new_values(StrategyCore& core, CallSite site) {
  core.processes()->values_of_speakers(kPutValue, site, {});
}

void ask_for_components(StrategyCore& core, const VariableInfo& info, CallSite site) {
  ByteWriter out;
  out.put(info.number);
  core.processes()->values_of_speakers(kComponents, site, out.bytes());
}

}  // namespace belfry::detail
