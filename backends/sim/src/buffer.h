// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "engine/allocation.h"
#include "engine/engine.h"
#include "engine/foreign_owners.h"
#include "replica_use.h"

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

namespace belfry::sim {

/// A handle of an allocation. Commands in flight hold the allocation, not the handle.
class SimBuffer final : public Buffer {
 public:
  SimBuffer(Device& device, engine::AllocationPtr allocation,
            std::shared_ptr<const engine::Engine> engine)
      : Buffer(device, allocation->data(), allocation->bytes()),
        allocation_(std::move(allocation)),
        engine_(std::move(engine)) {}
  /// Over memory of the program's own. `owner` parts with the memory's owner.
  SimBuffer(Device& device, engine::AllocationPtr allocation,
            std::shared_ptr<const engine::Engine> engine, MemoryOrigin origin,
            std::unique_ptr<engine::ForeignOwner> owner)
      : Buffer(device, allocation->data(), allocation->bytes(), origin),
        owner_(std::move(owner)),
        allocation_(std::move(allocation)),
        engine_(std::move(engine)) {}

  const engine::AllocationPtr& allocation() const { return allocation_; }
  const engine::Engine& engine() const { return *engine_; }
  /// The replicas that submit work on the buffer.
  ReplicaUse& use() const { return use_; }

 private:
  std::unique_ptr<engine::ForeignOwner> owner_;  // Ends after the allocation's reference.
  engine::AllocationPtr allocation_;
  // Shared with the backend: identifies the buffer's backend, also after the backend's end.
  std::shared_ptr<const engine::Engine> engine_;
  mutable ReplicaUse use_;
};

/// The access of a command of `engine` that works on `view`; a use by `user`, the calling replica.
/// `what` names the view in messages. Throws: InvalidArgumentError (kInvalidArgument without a
/// buffer and within an element, kForeignObject, kOutOfBounds).
engine::Access access_of(const BufferView& view, const engine::Engine& engine,
                         std::string_view what, ReplicaUse::Mark user = ReplicaUse::present());

/// The address of the bytes of `access`, while a command that declares the access runs.
inline std::byte* address_of(const engine::Access& access) {
  return access.allocation->data() + access.range.begin;
}

inline std::size_t bytes_of(const engine::Access& access) {
  return access.range.end - access.range.begin;
}

}  // namespace belfry::sim
