// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/sim/driver.h"
#include "call_book.h"
#include "clique.h"
#include "default_streams.h"
#include "engine/address_map.h"
#include "engine/device_memory.h"
#include "engine/engine.h"
#include "handle_table.h"
#include "judged_engine.h"
#include "objects.h"
#include "race_book.h"
#include "random_chooser.h"

#include <cuda_runtime.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace belfry::driver {

/// The state behind the functions of CUDA and NCCL: GPUs with their objects.
class Machine {
 public:
  explicit Machine(const sim::DriverOptions& options);

  const sim::DriverOptions& options() const { return options_; }
  engine::Engine& engine() { return engine_; }
  /// The same, for work, records, waits and frees.
  JudgedEngine& judged() { return judged_; }
  RaceBook& races() { return races_; }
  CallBook& book() { return book_; }
  engine::DeviceMemory& memory(int gpu) { return *memories_[static_cast<std::size_t>(gpu)]; }
  engine::DeviceMemory& pinned() { return *pinned_; }
  std::int32_t next_stream_number() { return streams_made_++; }
  int next_thread_number() { return ++threads_seen_; }
  /// Adds to the number of host threads that may enqueue work, unless the options give the number.
  void count_threads(int change) {
    if (counts_threads()) engine_.change_host_threads(change);
  }
  bool counts_threads() const { return options_.host_threads == 0; }
  /// The stream with the handle. A null handle stands for the default stream of `gpu`. Null if no
  /// stream has the handle.
  std::shared_ptr<StreamObject> find_stream(cudaStream_t handle, int gpu) {
    return handle == nullptr ? default_streams.of(gpu) : streams.find(handle);
  }
  /// The same for a call that enqueues: the stream waits for streams as CUDA's default streams ask.
  std::shared_ptr<StreamObject> stream_for_work(cudaStream_t handle, int gpu);
  /// Whether kernels on one of two different GPUs may use memory of the other, if its owner
  /// permits.
  bool are_peers(int one, int other) const {
    const int group = options_.peer_group;
    return options_.peer_access && (group < 1 || one / group == other / group);
  }
  bool has_gpu(int gpu) const { return options_.installed && gpu >= 0 && gpu < options_.gpus; }

  void reseed(std::uint64_t seed);

  /// The live memory of a GPU from `address` on, or nothing: freed, never allocated, too short, or
  /// memory of the host.
  std::optional<engine::Access> find(const void* address, std::size_t bytes) const;
  /// The same for memory that kernels may use: of a GPU, or pinned.
  std::optional<engine::Access> find_mapped(const void* address, std::size_t bytes) const;
  /// The pinned memory with the byte at `address`; null for pageable memory.
  std::shared_ptr<HostMemoryObject> find_pinned(const void* address) const;
  /// Whether kernels on `gpu` may use `access`.
  bool reachable(const engine::Access& access, int gpu) const;
  std::vector<std::string> alive() const;

  HandleTable<StreamObject> streams;
  HandleTable<EventObject> events;
  HandleTable<PoolObject> pools;
  HandleTable<MemoryObject> memory_handles;   ///< By the address of the first byte.
  HandleTable<HostMemoryObject> host_memory;  ///< The same.

 private:
  sim::DriverOptions options_;
  CallBook book_;
  RandomChooser chooser_;
  std::shared_ptr<engine::AddressMap> addresses_;  // with the memories
  std::vector<std::shared_ptr<engine::DeviceMemory>> memories_;
  std::shared_ptr<engine::DeviceMemory> pinned_;
  std::atomic<std::int32_t> streams_made_{0};
  std::atomic<int> threads_seen_{0};
  engine::Engine engine_;
  RaceBook races_{book_};
  JudgedEngine judged_{engine_, races_};

 public:
  CliqueBook cliques{*this};
  DefaultStreams default_streams{engine_, judged_, streams_made_};
};

/// The machine of the present calls.
std::shared_ptr<Machine> machine();
/// Installs a machine; null: a machine with default options.
void replace_machine(std::shared_ptr<Machine> machine);

}  // namespace belfry::driver
