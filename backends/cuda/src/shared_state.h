// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/kernel_failures.h"
#include "belfry/cuda/options.h"
#include "belfry/cuda/statistics.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace belfry::cuda {

/// The counts behind Statistics. Replica threads may add at the same time.
class Counters {
 public:
  using Count = std::atomic<std::uint64_t>;
  static void add(Count& count, std::uint64_t more = 1) {
    count.fetch_add(more, std::memory_order_relaxed);
  }

  /// The calls of one verb.
  struct Verb {
    Count calls{0}, bytes{0}, host_waits{0};

    void call(std::uint64_t moved) {
      add(calls);
      add(bytes, moved);
    }
    VerbCounts snapshot() const { return {calls.load(), bytes.load(), host_waits.load()}; }
  };

  Count kernel_launches{0}, local_collectives{0}, nccl_collectives{0};
  Count allocations{0}, frees{0}, event_records{0}, event_waits{0};
  Verb all_reduce, broadcast, all_gather, reduce_scatter, exchange;
  Verb copy, write, read, synchronize;

  Statistics snapshot() const;
};

class NvtxSink;
class PeerWork;
class Stream;
class WorkTrace;

/// The cliques of a backend that span processes.
class PeerWorks {
 public:
  bool is_empty() const { return count_.load(std::memory_order_acquire) == 0; }
  std::vector<std::shared_ptr<PeerWork>> all() const;
  void add(std::shared_ptr<PeerWork> work);
  void remove(const PeerWork& work) noexcept;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<PeerWork>> works_;  // Each with its clique.
  std::atomic<std::size_t> count_{0};
};

/// The memory of buffers whose last handle has ended in the body of a kernel, where no call of CUDA
/// is permitted. May be used by several threads.
class EndedInBodies {
 public:
  void keep(std::shared_ptr<const void> memory) noexcept;
  /// Releases the memory. Not in the body of a kernel.
  void let_go() noexcept;

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<const void>> memory_;  // Alone, or with work in flight.
  std::atomic<bool> is_empty_{true};
};

/// State that all parts of a backend share, including parts that outlive the Backend. The address
/// identifies the backend of an object.
struct SharedState {
  Options options;
  Counters counters;
  /// Held while a group of collectives is enqueued: communicators that share GPUs must enqueue in
  /// the same order on all of them.
  std::mutex launch_order;
  PeerWorks peer_works;
  EndedInBodies ended_in_bodies;
  std::mutex streams_mutex;  // for `streams`
  /// All streams of the backend. Work on a stream may hold memory of any device.
  std::vector<Stream*> streams;
  // Shared with users' kernels in flight.
  std::shared_ptr<KernelFailures> kernel_failures = std::make_shared<KernelFailures>();
  const WorkTrace* work_trace = nullptr;  // Of the Backend; usually null.
  NvtxSink* nvtx = nullptr;               // The same.
};

}  // namespace belfry::cuda
