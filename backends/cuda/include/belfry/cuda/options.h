// SPDX-FileCopyrightText: The belfry authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "belfry/backend/chooser.h"
#include "belfry/backend/operation.h"
#include "belfry/detail/prints.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belfry::cuda {

/// How replicas run. Several user threads may share a backend with kConcurrent only.
enum class Carrier : std::uint8_t {
  kConcurrent,  ///< A thread for each replica, all running at once.
  kFiber,       ///< A single thread; replicas take turns in the order of the Chooser.
  kBaton,       ///< A thread for each replica, with one thread running at a time.
};

/// `concurrent`, `fiber`, `baton`.
std::string to_string(Carrier carrier);

/// The options of a cuda::Backend.
struct Options {
  /// The GPU of each device of the backend, by CUDA number. A GPU may be listed several times:
  /// every entry is a separate device with its own streams and memory counts, for several replicas
  /// on one GPU. Empty: every GPU, `replicas_per_gpu` times each.
  std::vector<int> devices{};
  /// Used if `devices` is empty. 0: no device, for a process without devices (SEM-238).
  int replicas_per_gpu = 1;
  int fitted = 0;  ///< If not 0: this number of devices over all GPUs; see `fit`.

  Carrier carrier = Carrier::kConcurrent;  ///< How replicas run.
  Chooser* chooser = nullptr;              ///< For kFiber and kBaton; null: lowest replica first.
  OperationSink* sink = nullptr;           ///< Receives the operations of replicas; may be null.

  std::size_t memory_limit_bytes = 0;  ///< Of each device; 0: all memory of the GPU.
  /// The time limit of a communicator. The constructor, and calls that hand over work, throw
  /// DeviceError (kDeviceLost) after the limit. If work does not end within the limit, the
  /// communicator is aborted. Over several processes the limit holds for each wait of the host, and
  /// the deadline of the group limits the waits too (SEM-217).
  std::chrono::milliseconds deadline{60'000};
  /// Whether a new communicator runs a small and a large collective. NCCL then makes its
  /// connections and buffers before the first step.
  bool warm_up = true;
  /// Must be true if CUDA_LAUNCH_BLOCKING=1 is set (the library reads no environment variables). A
  /// single launcher for several GPUs would wait for ever in this case: communicators over several
  /// GPUs are refused with UnsupportedError (kUnsupported).
  bool launches_block = false;
  /// Whether values that are promised equal are compared at run time.
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
/// a sink are the words `"a Chooser"` and `"an OperationSink"`.
std::string to_string(const Options& options);

}  // namespace belfry::cuda

namespace belfry {
namespace detail {
template <>
inline constexpr bool kPrints<cuda::Carrier> = true;
template <>
inline constexpr bool kPrints<cuda::Options> = true;
}  // namespace detail
namespace cuda {
using belfry::operator<<;
}  // namespace cuda
}  // namespace belfry
