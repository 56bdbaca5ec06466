// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/sim/observer.h"
#include "races/clock.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace belfry::sim::races {

/// The source of the accesses of an item or a host agent, for reports.
struct AccessOrigin {
  Actor actor{};             ///< The host agent that read or submitted.
  std::int32_t stream = -1;  ///< Of the item; -1: none.
  std::string_view name{};   ///< Of the work.
  CallSite site{};
  const void* code = nullptr;  ///< As of Observation.
};

/// An access to bytes of a buffer, by an item of a stream or by a host agent.
struct BufferAccess {
  enum class Kind : std::uint8_t {
    kItem,  ///< By an item of a stream.
    kHost,  ///< By a host agent.
  };
  Kind kind = Kind::kItem;
  bool writes = false;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Lane lane = 0;             ///< The place in the order: a lane,
  std::uint32_t number = 0;  ///< the number of the item or step there,
  std::uint32_t phase = 0;   ///< and the phase of the host agent.
  std::int32_t slot = 0;     ///< Of the host agent that read or submitted.
  const AccessOrigin* origin = nullptr;
};

/// The accesses to a buffer so far, as far as a later access can be in conflict with them: an
/// access that comes before a write of the same bytes in every schedule is forgotten.
class AccessHistory {
 public:
  /// Called with two accesses in conflict, the earlier first.
  using Report = std::function<void(const BufferAccess&, const BufferAccess&)>;

  /// Adds `access`, with everything before it. Reports every earlier access to the same bytes that
  /// some schedule puts after `access`, unless both only read, or both are of host agents.
  void add(const BufferAccess& access, const Clock& before, const Report& report);
  /// Forgets the accesses before `known`: all later accesses come after them.
  void forget(const Clock& known);

 private:
  void compare_with_writes(const BufferAccess& access, const Clock& before, const Report& report);
  void compare_with_reads(const BufferAccess& access, const Clock& before, const Report& report);

  std::vector<BufferAccess> writes_;
  std::vector<BufferAccess> reads_;  // The last read of a range in a lane, by lane and range.
};

}  // namespace belfry::sim::races
