// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/observer.h"
#include "log/actor_numbers.h"

#include <cstdint>
#include <vector>

namespace belfry::sim::races {

/// Values by event. A reference to a value lives until the next value is made.
template <class Value>
class EventValues {
 public:
  /// The value of `event`, which is made at the first look. Throws: std::bad_alloc.
  Value& operator[](const EventName& event) {
    const std::uint32_t maker = makers_.of(event.maker);
    if (maker >= values_.size()) values_.resize(maker + 1);
    std::vector<Value>& own = values_[maker];
    if (event.number >= own.size()) own.resize(event.number + 1);
    return own[event.number];
  }

 private:
  ActorNumbers makers_;
  std::vector<std::vector<Value>> values_;  // By maker, and by the maker's count of events.
};

}  // namespace belfry::sim::races
