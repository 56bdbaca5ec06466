// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/backend.h"
#include "belfry/detail/current_context.h"
#include "belfry/error.h"
#include "belfry/tensor.h"

namespace belfry {

Placement current_placement(CallSite site) {
  const detail::CurrentContext* context = detail::current_context();
  if (context == nullptr || context->backend == nullptr) {
    throw ContextError(
        ErrorCode::kWrongContext, "no device is current here",
        "make tensors inside a replica function, a merge, Strategy::scope or a variable's "
        "initialiser, or pass a placement",
        site);
  }
  return {context->backend, context->device};
}

// All work of tensors on a device calls this function.
Device& device_of(const Placement& placement) {
  detail::require_alive();
  if (placement.backend == nullptr) {
    throw InvalidArgumentError(ErrorCode::kUnknownDevice, "a placement without a backend");
  }
  return placement.backend->device(placement.device);
}

}  // namespace belfry
