// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0

#include "belfry/detail/strategy/completion.h"

#include "belfry/backend/backend.h"
#include "belfry/backend/current_slot.h"
#include "belfry/detail/current_context.h"
#include "belfry/detail/device_work.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace belfry {

void detail::DeviceWork::add(const AnyTensor& tensor) {
  if (tensor.empty()) return;
  devices.insert(tensor.placement().device);
  for (StreamPointPtr& point : tensor.view().buffer->pending_accesses().all()) {
    // The tensors of a reduction share a point.
    if (others.empty() || others.back() != point) others.push_back(std::move(point));
  }
}

Completion::Completion(Backend& backend, detail::DeviceWork work)
    : points_(std::move(work.others)) {
  detail::require_alive();
  for (const int index : work.devices) {
    Device& device = backend.device(index);
    const auto point = std::make_shared<detail::StreamPoint>(device);
    point->set(device.compute_stream());
    points_.push_back(point);
  }
}

bool Completion::done(CallSite site) const {
  detail::require_alive();
  const detail::SiteScope scope(site);
  return std::ranges::all_of(points_, [](const auto& point) { return point->event().query(); });
}

void Completion::wait(CallSite site) const {
  detail::require_alive();
  const detail::SiteScope scope(site);
  for (const auto& point : points_) point->event().synchronize();
}

void Completion::delay(const Placement& later) const {
  for (const auto& point : points_) point->precede(device_of(later).compute_stream());
}

}  // namespace belfry
