// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "belfry/backend/operation.h"
#include "belfry/detail/prints.h"
#include "belfry/trace.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belfry::cuda {

/// How replicas run. With kFiber and kBaton one user thread at a time uses a backend.
enum class Carrier : std::uint8_t {
  kConcurrent,  ///< A thread for each replica, all running at once.
  kFiber,       ///< A single thread; replicas take turns in the order of the Chooser.
  kBaton,       ///< A thread for each replica, with one thread running at a time.
};

/// `concurrent`, `fiber`, `baton`.
std::string to_string(Carrier carrier);

/// The options of a cuda::Backend. Without any: a device on every GPU.
struct Options {
  /// The GPU of each device of the backend, by CUDA number: `{0, 1}`. A GPU may be listed several
  /// times: every entry is a separate device with its own streams and memory counts, for several
  /// replicas on one GPU. Empty: every GPU, `replicas_per_gpu` times each.
  std::vector<int> devices{};
  /// Used if `devices` is empty. 0: no device, for a process without devices (SEM-238).
  int replicas_per_gpu = 1;
  int fitted = 0;  ///< The number of devices over all GPUs, as `fit` spreads them; 0: not used.

  /// kConcurrent is the fastest: the replicas' host code runs at once. kFiber and kBaton repeat the
  /// order of replicas, for debugging.
  Carrier carrier = Carrier::kConcurrent;
  Chooser* chooser = nullptr;     ///< For kFiber and kBaton; null: lowest replica first.
  OperationSink* sink = nullptr;  ///< Receives the operations of replicas; may be null.
  /// Gets the steps of replicas, and their values on the host; may be null.
  TraceFile* trace = nullptr;

  std::size_t memory_limit_bytes = 0;  ///< Of each device, in bytes; 0: all memory of the GPU.
  /// How long the host waits for the work of a communicator, and for its making: after the limit,
  /// calls that hand over work throw DeviceError (kDeviceLost), and the communicator is aborted.
  /// Shorter: a GPU or process that hangs is noticed sooner. Longer: other work may hold a GPU for
  /// longer. Over several processes each wait of the host has this limit, and the deadline of the
  /// group (SEM-217).
  std::chrono::milliseconds deadline{60'000};
  /// Whether a new communicator runs a small and a large collective at once. NCCL then makes its
  /// connections and buffers before the first step: the making takes longer, and memory runs out
  /// there and not in a step.
  bool warm_up = true;
  /// Must be true if the environment has CUDA_LAUNCH_BLOCKING=1, which the library does not read: a
  /// launch then waits for its kernel, and one thread that launches a collective on several GPUs
  /// waits for ever. If true, communicators over several GPUs are refused with UnsupportedError
  /// (kUnsupported).
  bool launches_block = false;
  /// Whether values that are promised equal, such as components of mirrored variables, are compared
  /// at each use: each comparison copies them to the host, and blocks the host. For tests.
  bool verify_mirrored = false;

  /// Options for `replicas` devices, spread over all GPUs: one device for each GPU while the GPUs
  /// suffice, else an equal number of neighbours on each GPU.
  static Options fit(int replicas) {
    Options options;
    options.fitted = replicas;
    return options;
  }
};

/// The options as an initializer that compiles, without members of their usual value. A chooser and
/// a sink are the words `"a Chooser"` and `"an OperationSink"`, and a trace `"a TraceFile"`.
std::string to_string(const Options& options);

using belfry::operator<<;

}  // namespace belfry::cuda
