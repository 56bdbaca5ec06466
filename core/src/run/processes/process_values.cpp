// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/process_values.h"

#include "belfry/error.h"

namespace belfry::detail {

void throw_not_sent(const char* what, CallSite site) {
  throw UnsupportedError(ErrorCode::kUnsupported,
                         std::string(what) + " over several processes takes host values only",
                         "copy tensors to the host first: numbers, strings and containers of these "
                         "can be sent",
                         site);
}

void require_own_components(const StrategyCore& core, const char* what, const Participants& present,
                            CallSite site) {
  for (int i = 0; i < core.own().count(); ++i) {
    if (present.has(core.own().id(i))) continue;
    throw UnsupportedError(ErrorCode::kUnsupported,
                           std::string(what) +
                               " over several processes needs a component of every replica, and "
                               "replica " +
                               std::to_string(core.own().id(i)) + " has none",
                           "give every replica a value", site);
  }
}

}  // namespace belfry::detail
