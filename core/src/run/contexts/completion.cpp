// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/strategy/completion.h"

#include "belfry/backend/backend.h"
#include "belfry/backend/current_slot.h"
#include "belfry/detail/current_context.h"

#include <algorithm>

namespace belfry {

Completion::Completion(Backend& backend, const std::vector<int>& devices) {
  detail::require_alive();
  for (int index : devices) {
    Device& device = backend.device(index);
    events_.push_back(device.create_event());
    device.compute_stream().record(*events_.back());
  }
}

bool Completion::done(CallSite site) const {
  detail::require_alive();
  const detail::SiteScope scope(site);
  return std::ranges::all_of(events_, [](const auto& event) { return event->query(); });
}

void Completion::wait(CallSite site) const {
  detail::require_alive();
  const detail::SiteScope scope(site);
  for (const auto& event : events_) event->synchronize();
}

void Completion::delay(const Placement& later) const {
  for (const auto& event : events_) device_of(later).compute_stream().wait(*event);
}

}  // namespace belfry
