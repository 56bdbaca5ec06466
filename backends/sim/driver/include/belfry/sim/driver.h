// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "belfry/backend/operation.h"
#include "belfry/detail/prints.h"

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
  virtual void enter() noexcept = 0;  ///< A call enters the driver.
  virtual void leave() noexcept = 0;  ///< The call returns.
};

/// The machine that the simulated CUDA driver runs on.
struct DriverOptions {
  bool installed = true;  ///< False: as on a machine without an NVIDIA driver.
  int gpus = 8;           ///< The number of GPUs.
  std::size_t memory_bytes = std::size_t{1} << 30;  ///< Of each GPU.
  bool peer_access = true;  ///< Whether kernels can use the memory of other GPUs.
  /// The number of neighbouring GPUs with peer access to each other; 0: all GPUs.
  int peer_group = 0;
  /// Orders the work of streams: 0 executes work as late as possible, in the order of arrival;
  /// other values are seeds of random orders.
  std::uint64_t seed = 0;
  Chooser* chooser = nullptr;     ///< Orders the work in place of the seed, if not null.
  OperationSink* sink = nullptr;  ///< Sees every operation; may be null.
  /// The number of waiting threads that makes a wait without an end a deadlock. 0: the driver
  /// counts threads. A thread counts while the thread made the last call with a communicator, and
  /// while a call of the thread is in progress. A wait is then a deadlock if all counted threads
  /// wait, no thread waits for ranks to join, and no communicator is left for threads without a
  /// call so far.
  int host_threads = 0;
  int polls = 1;  ///< Number of "in progress" answers of NCCL before a call is done.
  /// A copy reads pageable memory of the host when the copy runs, as CUDA's documentation permits;
  /// the memory must live until then. If false, the call itself reads pageable memory, as CUDA
  /// usually does. Pinned memory is read late in any case.
  bool pageable_read_late = false;
  /// Told of every call of CUDA or NCCL; may be null.
  CallObserver* observer = nullptr;
};

/// The options as an initializer that compiles, without members of their usual value. Objects are
/// the words `"a Chooser"`, `"an OperationSink"` and `"a CallObserver"`.
std::string to_string(const DriverOptions& options);

/// The machine behind the functions of CUDA and NCCL in this process while the object lives.
/// Without an object, the functions use a machine with default DriverOptions. Streams, events,
/// memory and communicators of a machine are invalid on the next.
class SimulatedDriver {
 public:
  /// Throws: InvalidArgumentError.
  explicit SimulatedDriver(DriverOptions options = {});
  SimulatedDriver(const SimulatedDriver&) = delete;
  SimulatedDriver& operator=(const SimulatedDriver&) = delete;
  ~SimulatedDriver();

  /// Goes on with the orders of another seed. No other call may be in progress.
  void reseed(std::uint64_t seed);
  /// Lets call number `which` of a function from now, counted from 1, fail with a CUDA or NCCL
  /// code. A call of ncclCommGetAsyncError succeeds and reports the code.
  void fail(const std::string& function, std::uint64_t which, int code);
  /// How often a function was called.
  std::uint64_t calls(const std::string& function) const;
  /// The misuses so far, a sentence each, and the races of streams, with both calls. A real driver
  /// would return a bare code, hang, or not notice. Races are the same for all seeds.
  std::vector<std::string> reports() const;
  /// The living objects: streams, events, memory pools, allocations, pinned memory, communicators,
  /// a line each.
  std::vector<std::string> alive() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

using belfry::operator<<;

}  // namespace belfry::sim
