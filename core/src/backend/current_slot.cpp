// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/backend/current_slot.h"

#include "backend/carrier.h"
#include "belfry/backend/unwatched.h"

namespace belfry::detail {

constinit thread_local CurrentSlot current{};

void* current_slot() noexcept {
  const Unwatched unwatched;
  return current.context;
}

void set_current_slot(void* context) noexcept {
  const Unwatched unwatched;
  current.context = context;
}

}  // namespace belfry::detail
