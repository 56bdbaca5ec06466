// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#include "event.h"

#include "belfry/backend/current_slot.h"
#include "belfry/error.h"
#include "exact_cast.h"

namespace belfry::sim {

SimEvent& event_of(Event& event, const engine::Engine& engine) {
  auto* const own = exact_cast<SimEvent>(&event);
  if (own == nullptr || &own->engine() != &engine) {
    throw InvalidArgumentError(ErrorCode::kForeignObject, "the event belongs to another backend",
                               "use an event of the backend that does the work",
                               detail::submitting_site());
  }
  return *own;
}

}  // namespace belfry::sim
