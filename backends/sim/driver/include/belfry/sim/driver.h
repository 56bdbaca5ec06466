// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "belfry/backend/operation.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace belfry::sim {

/// Is told on the calling thread when a call enters the driver and when the call returns. Calls do
/// not nest.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void enter() noexcept = 0;
  virtual void leave() noexcept = 0;
};

/// What machine the simulated CUDA driver pretends to run on.
struct DriverOptions {
  bool installed = true;  ///< False: as on a machine without an NVIDIA driver.
  int gpus = 8;
  std::size_t memory_bytes = std::size_t{1} << 30;  ///< Of each GPU.
  bool peer_access = true;  ///< Whether kernels can use the memory of other GPUs.
  /// Orders the work of streams: 0 runs it as late as possible, first come first; others are seeds
  /// of random orders.
  std::uint64_t seed = 0;
  Chooser* chooser = nullptr;     ///< Orders it instead, if not null.
  OperationSink* sink = nullptr;  ///< Sees every operation; may be null.
  int host_threads =
      1;          ///< Threads that may enqueue parts of one collective, for deadlock reports.
  int polls = 1;  ///< How often NCCL answers "in progress" before it is done.
  /// A copy reads pageable memory of the host when the copy runs, as CUDA's documentation permits;
  /// the memory must live until then. If false, the call itself reads pageable memory, as CUDA
  /// usually does. Pinned memory is read late in any case.
  bool pageable_read_late = false;
  /// Told of every call of CUDA or NCCL; may be null.
  CallObserver* observer = nullptr;
};

/// The machine behind CUDA's and NCCL's functions in this process while the object lives; without
/// one they see the machine of default DriverOptions. Streams, events, memory and communicators of
/// one machine mean nothing on the next.
class SimulatedDriver {
 public:
  /// Throws: InvalidArgumentError.
  explicit SimulatedDriver(DriverOptions options = {});
  SimulatedDriver(const SimulatedDriver&) = delete;
  SimulatedDriver& operator=(const SimulatedDriver&) = delete;
  ~SimulatedDriver();

  /// Goes on with the orders of another seed. No other call may be in progress.
  void reseed(std::uint64_t seed);
  /// Makes the `which`-th call from now of a function, counted from 1, fail with a CUDA or NCCL
  /// code; that of ncclCommGetAsyncError succeeds and reports the code.
  void fail(const std::string& function, std::uint64_t which, int code);
  /// How often a function was called.
  std::uint64_t calls(const std::string& function) const;
  /// What was done wrong so far, one sentence each: what a real driver would answer with a bare
  /// code, with a hang, or not at all.
  std::vector<std::string> reports() const;
  /// What is still alive: streams, events, memory pools, allocations, pinned ones, communicators,
  /// one line each.
  std::vector<std::string> alive() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace belfry::sim
