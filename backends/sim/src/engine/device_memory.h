// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/device.h"
#include "engine/address_map.h"
#include "engine/allocation.h"
#include "engine/block_pool.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace belfry::engine {

struct MemoryOptions {
  int device = 0;               ///< Below 0: memory of the host.
  std::size_t limit_bytes = 0;  ///< 0: as much as the machine has.
  /// Fill memory with kFreshPoison at the allocation and with kFreedPoison at the free. Off if
  /// every access is declared: commands then report a read of such bytes before it happens.
  bool poison = false;
  /// Copies of whole allocations share their bytes until a copy is written, and bytes take up
  /// memory from the first write on. Not with `poison` or `addresses`, for both need bytes at a
  /// fixed place.
  bool share_copies = false;
  std::shared_ptr<AddressMap> addresses{};  ///< Where to register allocations; may be null.
};

/// Not a number, in every floating-point type.
inline constexpr unsigned char kFreshPoison = 0xFF;
/// About -1.7e38 as float, -1.2e303 as double.
inline constexpr unsigned char kFreedPoison = 0xFE;

/// An allocation that is still alive.
struct LiveAllocation {
  int device = 0;
  std::uint64_t number = 0;
  std::size_t bytes = 0;

  bool operator==(const LiveAllocation&) const = default;
};

/// The memory of a simulated device. Lives as long as its device or any of its allocations. May be
/// used by several threads.
class DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
 public:
  static std::shared_ptr<DeviceMemory> create(MemoryOptions options);

  /// Memory nobody has written. Zero bytes have an address too.
  /// Throws: DeviceError (kOutOfMemory).
  AllocationPtr allocate(std::size_t bytes, CallSite site = CallSite::here());
  /// An allocation over the program's `bytes` bytes at `foreign`: written, at a fixed place, and in
  /// no count. The end of the last user sets `ended`. Throws: std::bad_alloc.
  AllocationPtr adopt(std::byte* foreign, std::size_t bytes, ForeignOwners::Ended ended);
  int device() const { return options_.device; }
  bool shares() const { return options_.share_copies; }
  MemoryUse use() const;
  /// The live allocations, oldest first.
  std::vector<LiveAllocation> live() const;

 private:
  friend class Allocation;
  friend class Storage;

  explicit DeviceMemory(MemoryOptions options);
  // Begin and end the life of an allocation in the books. A second end has no effect.
  std::uint64_t enter(std::size_t bytes, CallSite site);
  void leave(std::uint64_t number) noexcept;
  void retire(const Allocation& allocation);
  [[noreturn]] void refuse(std::size_t bytes, CallSite site) const;
  // Give out and take back its bytes. Throws: std::bad_alloc.
  Block take(std::size_t bytes);
  void release(const Block& block, std::size_t bytes) noexcept;

  const MemoryOptions options_;
  BlockPool pool_;
  mutable std::mutex mutex_;
  MemoryUse use_{};
  std::uint64_t next_number_ = 0;
  std::map<std::uint64_t, std::size_t> live_;
};

}  // namespace belfry::engine
