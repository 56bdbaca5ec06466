// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/call_site.h"
#include "belfry/detail/participants.h"
#include "belfry/detail/reductions/reduce_op.h"
#include "belfry/detail/shown_values.h"
#include "belfry/detail/variable/aggregation.h"
#include "belfry/device_spec.h"
#include "belfry/error.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belfry {

class ReplicaContext;

namespace detail {

class StrategyCore;
struct ShardPlan;

/// The properties of a variable, apart from its values.
struct VariableInfo {
  StrategyCore* owner = nullptr;
  std::uint64_t number = 0;
  std::string name;
  Aggregation aggregation = Aggregation::kNone;
  Synchronization synchronization = Synchronization::kOnWrite;
  bool trainable = true;
  int first_replica = 0;  ///< The lowest replica of this process.
  CallSite created{};
  CallSite changed{};  ///< The latest change of all components; empty before the first change.
  VariablePlaces places{};
  /// Why the variable has no value, after a failed update in place; null: the variable has a value.
  std::exception_ptr lost{};
  /// The replicas of all processes with a component, if processes listened when the variable was
  /// made (SEM-237); null: all. Shared by copies of the info.
  std::shared_ptr<const Participants> homes{};
  /// The rows of each component of a sharded variable (SEM-280); null for all others.
  std::shared_ptr<const ShardPlan> shards{};
};

class ByteReader;
class ByteWriter;
struct VariableRecord;

/// Reads and writes the components of a variable as bytes, for a listening process, which does not
/// know the type (SEM-212).
struct SentComponents {
  /// Reads a new value for all components. The result puts the components in place and never
  /// throws. Throws: DeviceError (kOutOfMemory), InternalError.
  std::function<void()> (*receive)(StrategyCore&, VariableRecord&, ByteReader&, CallSite);
  /// Appends the components to the message. Order: blocks the host until tensors are computed.
  void (*send)(StrategyCore&, const VariableRecord&, ByteWriter&);
};

/// A variable without its type: for work on all variables of a strategy.
struct VariableRecord : VariableView {
  VariableRecord() = default;
  VariableRecord(const VariableRecord&) = delete;
  VariableRecord& operator=(const VariableRecord&) = delete;

  ShownVariable about() const final;
  /// Copies the components; calling the result, once, puts the copies back and never throws.
  virtual std::function<void()> snapshot() = 0;

  VariableInfo info;
  const SentComponents* sent = nullptr;  ///< Null if the components cannot be sent.
};

template <class T>
class VariableReader;

/// Components of a variable, each on its own cache line: replicas write side by side.
template <class T>
struct VariableState final : VariableRecord {
  struct alignas(64) Padded {
    explicit Padded(T initial) : value(std::move(initial)) {}
    T value;
  };

  std::function<void()> snapshot() override {
    // A copy back could throw, and leave some variables unrestored.
    return [this, values = components, seen = views, changed = info.changed,
            lost = info.lost]() mutable {
      components.swap(values);
      views.swap(seen);
      info.changed = changed;
      info.lost = lost;
    };
  }

  void show(int component, ValueVisitor& visitor) const override {
    show_value(components[component].value, "", visitor);
  }

  // Shared with snapshots of the state; null if the aggregation defines the read.
  std::shared_ptr<const VariableReader<T>> reader{};
  ReplicaArray<Padded> components;
  /// By replica: copies of components that are on another device; empty without such components.
  ReplicaArray<Padded> views{};
};

int replica_id_of(const ReplicaContext& replica);
[[noreturn]] void throw_empty_variable(CallSite site);

/// Checks that `replica` may touch the variable, and tells the scheduler. Returns whether the log
/// records the value.
/// Throws: ContextError (kOtherStrategy, kWrongContext), ReplicaCancelled.
bool touch_variable(const ReplicaContext& replica, const VariableInfo& info, bool write,
                    CallSite site);
/// The component that a replica sees. Throws: InvalidArgumentError (kDestination) when the
/// variable has none there.
int component_of(const VariableInfo& info, int replica, CallSite site);
/// Throws: VariableMismatchError (kVariableMismatch) for a variable of the other kind.
void require_kind(const VariableInfo& info, Synchronization kind, CallSite site);
std::vector<DeviceSpec> devices_of(const VariableInfo& info);

}  // namespace detail
}  // namespace belfry
