// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "run/inside_update.h"

#include "belfry/detail/current_context.h"
#include "belfry/error.h"

#include <string>

namespace belfry::detail {

// Contexts that were entered inside do not have the mark themselves, as they are no update: nothing
// in them is the device of a component.
bool is_inside_update(const CurrentContext* context) {
  for (; context != nullptr; context = context->outer) {
    if (context->in_update) return true;
  }
  return false;
}

void throw_inside_update(const char* what, CallSite site) {
  throw ContextError(ErrorCode::kWrongContext,
                     std::string(what) +
                         " inside a function that is called for each component, device or element "
                         "would be done once for each call",
                     "change the variables after one another, in a transaction where all or none "
                     "should change; what the function reads of another variable is an argument",
                     site);
}

}  // namespace belfry::detail
