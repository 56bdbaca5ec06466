// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/buffer.h"
#include "belfry/backend/current_slot.h"
#include "engine/allocation.h"
#include "engine/engine.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace belfry::sim {

/// The object as the final class T; null for an object of another class, and for null. Compares
/// one type: a dynamic_cast walks through base classes, and takes several times as long.
template <class T, class Base>
T* exact_cast(Base* object) {
  static_assert(std::is_final_v<std::remove_const_t<T>>);
  return object != nullptr && typeid(*object) == typeid(T) ? static_cast<T*>(object) : nullptr;
}

/// The replicas that have used a buffer in the present phase. A replica that ends a handle between
/// two uses leaves a mark: whether a write of a second replica goes to a copy then depends on no
/// schedule (SEM-194). Each schedule has the same uses in a phase, and the first use of each
/// replica comes before the end of the replica's handle.
class ReplicaUse {
 public:
  /// A replica in a phase; 0: no replica.
  using Mark = std::uint64_t;
  /// The calling replica in the present phase. A command looks once for all its buffers.
  static Mark present() noexcept {
    const detail::ReplicaPhase now = detail::current_phase();
    return now.replica < 0 ? 0 : mark_of(now);
  }
  /// The replica of `mark`, which calls, submits work on the buffer.
  void note(Mark mark) noexcept {
    if (mark == 0) return;
    const std::uint64_t last = last_.load(std::memory_order_relaxed);
    if ((last & ~kSeveral) == mark) return;
    const bool is_second = is_present(last, mark);
    last_.store(is_second ? last | kSeveral : mark, std::memory_order_relaxed);
  }
  /// Whether a replica besides the calling replica has used the buffer in the present phase.
  bool is_of_others() const noexcept {
    const Mark mark = mark_of(detail::current_phase());
    const std::uint64_t last = last_.load(std::memory_order_relaxed);
    return is_present(last, mark) && last != mark;
  }

 private:
  static constexpr std::uint64_t kSeveral = 1;
  static constexpr int kPhaseShift = 24;

  static bool is_present(std::uint64_t last, Mark mark) {
    return last != 0 && last >> kPhaseShift == mark >> kPhaseShift;
  }
  // The phase, the replica from 1, and a bit for several replicas. 0: no use so far.
  static Mark mark_of(const detail::ReplicaPhase& now) {
    const auto replica = static_cast<std::uint64_t>(now.replica + 1);
    return now.phase << kPhaseShift | (replica << 1 & ((std::uint64_t{1} << kPhaseShift) - 1));
  }

  // Atomic for replicas that run at once, and without an order between them.
  std::atomic<std::uint64_t> last_{0};
};

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
