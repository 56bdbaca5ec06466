// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/observer.h"

#include <algorithm>
#include <string>
#include <vector>

namespace belfry::sim::testing {

/// An observation whose views are copied.
struct SeenOnce {
  Observation::Kind kind{};
  Actor actor{};
  std::uint32_t run = 0;
  bool failed = false;
  bool done = false;
  std::vector<StreamItem> items{};
  EventName event{};
  std::uint64_t record = 0;
  std::vector<Footprint> footprints{};
  std::string name{};
  CallSite site{};
  OperationKind operation{};
};

/// Keeps everything that is observed.
class Seen final : public Observer {
 public:
  void observe(const Observation& now) override {
    all.push_back({now.kind,
                   now.actor,
                   now.run,
                   now.failed,
                   now.done,
                   {now.items.begin(), now.items.end()},
                   now.event,
                   now.record,
                   {now.footprints.begin(), now.footprints.end()},
                   std::string(now.name),
                   now.site,
                   now.operation == nullptr ? OperationKind{} : now.operation->kind});
  }

  std::vector<SeenOnce> of(Observation::Kind kind) const {
    std::vector<SeenOnce> some;
    std::ranges::copy_if(all, std::back_inserter(some),
                         [kind](const SeenOnce& one) { return one.kind == kind; });
    return some;
  }
  /// The actors of `kind`, as text, in order.
  std::vector<std::string> actors(Observation::Kind kind) const {
    std::vector<std::string> texts;
    for (const SeenOnce& one : of(kind)) texts.push_back(to_string(one.actor));
    return texts;
  }

  std::vector<SeenOnce> all;
};

}  // namespace belfry::sim::testing
